package page

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var errDown = errors.New("down")

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

// under puts a server below a page's client.
func under(client *http.Client, b roundTrip) { client.Transport.(*httpretry.Transport).Base = b }

// later returns a 503 that asks for a wait.
func later(wait time.Duration) *http.Response {
	resp := answer(503, "")
	resp.Header.Set("Retry-After", fmt.Sprint(int(wait.Seconds())))
	return resp
}

// An order that does not exist is looked for once. Other failures are retried, until the deadline.
func TestHandler(t *testing.T) {
	hang := errors.New("hang")
	for err, want := range map[error]int{sql.ErrNoRows: 1, errDown: 4, hang: 4} {
		synctest.Test(t, func(t *testing.T) {
			orders.Budget = new(backoff.Budget)
			calls := 0
			server := Server{store: func(ctx context.Context, _ int64) (*Order, error) {
				calls++
				if err == hang {
					<-ctx.Done()
				}
				return nil, err
			}}
			_, got := server.order(t.Context(), 1)
			require.ErrorIs(t, got, err)
			require.LessOrEqual(t, calls, want)
			require.Equal(t, err == sql.ErrNoRows, calls == 1)
			require.Equal(t, err == hang, errors.Is(got, context.DeadlineExceeded))
		})
	}
}

// A message that fails is put back, after a pause if nobody gets through. One that is bad, or fails five times while others
// get through, is set aside.
func TestConsumer(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		others bool // get through
		tries  int
		aside  int // after so many failures
		took   time.Duration
	}{
		"good":         {nil, false, 1, 0, 0},
		"bad":          {backoff.Permanent(fmt.Errorf("%w: no address", errBad)), false, 1, 1, 0},
		"down":         {errDown, false, 4, 0, 31 * time.Second},
		"7 s":          {backoff.RetryAfter(errDown, 7*time.Second), false, 4, 0, 53 * time.Second},
		"20 min":       {backoff.RetryAfter(errDown, 20*time.Minute), false, 1, 0, 31 * time.Second},
		"always fails": {errDown, true, 4, 5, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			deliveries.Slots = new(backoff.Slots)
			tries, aside := 0, 0
			worker := &Worker{deadLetter: func(context.Context, *Message, error) error { aside++; return nil }}
			worker.deliver = func(context.Context, *Message) error {
				tries++
				if test.others {
					worker.delivered.Add(1)
				}
				return test.err
			}
			msg := new(Message)
			rounds := cmp.Or(test.aside, 10) // however often it is tried
			for range rounds {
				require.Zero(t, aside, name)
				tries = 0
				start := time.Now()
				err := worker.handle(t.Context(), msg)
				require.Equal(t, err == nil, test.err == nil || aside == 1, name)
				if err != nil {
					require.ErrorIs(t, err, test.err, name)
				}
				require.Equal(t, test.tries, tries, name)
				require.InDelta(t, test.took, time.Since(start), float64(test.took)+1, name)
			}
			require.Equal(t, test.aside > 0, aside == 1, name)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, worker.handle(ctx, msg), context.Canceled)
		})
	}
}

// Twenty workers take five messages a second. Of these, one in 100 or in 20 always fails, after all attempts or at the
// first. With and without an outage of 20 minutes, every good message is delivered, and every bad one is set aside. After
// the outage they are at most a minute behind, and after a hang no longer than the slots need to grow.
func TestConsumerOutage(t *testing.T) {
	for _, bad := range []int{100, 20} {
		for _, outage := range []string{"none", "refuses", "hangs"} {
			for _, quickly := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { testConsumerOutage(t, bad, outage, quickly) })
			}
		}
	}
}

// A letter is a message of the test.
type letter struct {
	Message
	sent time.Time
	bad  bool
}

func testConsumerOutage(t *testing.T, bad int, outage string, quickly bool) {
	deliveries.Slots = new(backoff.Slots)
	start := time.Now()
	from, to := start.Add(5*time.Minute), start.Add(25*time.Minute)
	if outage == "none" {
		to = from
	}
	letters := map[*Message]*letter{}
	queue := make(chan *Message, 30*60*5)
	var mu sync.Mutex
	var left atomic.Int64
	var late time.Duration // after the outage
	good, aside := 0, 0

	worker := new(Worker)
	worker.deliver = func(ctx context.Context, msg *Message) error {
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		now, letter := time.Now(), letters[msg]
		switch {
		case now.Before(to) && now.After(from) && outage == "hangs":
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			return ctx.Err()
		case now.Before(to) && now.After(from):
			return errDown
		case letter.bad && quickly:
			return backoff.Permanent(errDown)
		case letter.bad:
			return errDown
		}
		good++
		if letter.sent.After(from) && letter.sent.Before(to) {
			letter.sent = to
		}
		late = max(late, now.Sub(letter.sent))
		return nil
	}
	worker.deadLetter = func(_ context.Context, msg *Message, _ error) error {
		mu.Lock()
		defer mu.Unlock()
		assert.True(t, letters[msg].bad, "a good message is set aside")
		aside++
		return nil
	}
	for range 20 {
		go func() {
			for msg := range queue {
				err := worker.handle(t.Context(), msg)
				switch {
				case err == nil:
					left.Add(-1)
				case msg.Failures == 0:
					queue <- msg
				default:
					time.AfterFunc(rand.N(30*time.Second), func() { queue <- msg })
				}
			}
		}()
	}

	// Half an hour, and as long as bad ones come back. Others must get through then.
	sent, bads := 0, 0
	for time.Since(start) < 30*time.Minute || left.Load() > 0 && time.Since(start) < time.Hour {
		letter := &letter{sent: time.Now(), bad: sent%bad == 0 && time.Since(start) < 28*time.Minute}
		if letter.bad {
			bads++
		}
		sent++
		left.Add(1)
		mu.Lock()
		letters[&letter.Message] = letter
		mu.Unlock()
		queue <- &letter.Message
		time.Sleep(time.Second / 5)
	}
	close(queue)
	name := fmt.Sprintf("1 in %d is bad, quickly %t, outage: %s", bad, quickly, outage)
	t.Logf("%s: at most %s late", name, late.Round(time.Second/10))
	require.Zero(t, left.Load(), name)
	require.Equal(t, bads, aside, name)
	require.Equal(t, sent-bads, good, name)
	if outage == "hangs" {
		require.Less(t, late, 5*time.Minute, name)
	} else {
		require.Less(t, late, time.Minute, name)
	}
}

func files() []string {
	all := make([]string, 5000)
	for i := range all {
		all[i] = fmt.Sprint("file-", i)
	}
	return all
}

// A batch over httpretry, whose 503s come with a nil error, or over a Retrier outlasts an outage of ten seconds, leaves
// out bad files, and ends if the outage does not. Over httpretry, files that are not sent again end it immediately.
func TestBatch(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"Retrier":             func(*http.Request) {},
		"PUT":                 func(*http.Request) {},
		"POST with a key":     func(req *http.Request) { req.Method = "POST"; req.Header.Set("Idempotency-Key", req.URL.Path) },
		"POST without a key":  func(req *http.Request) { req.Method = "POST" },
		"PUT without GetBody": func(req *http.Request) { req.GetBody = nil },
	} {
		for _, wait := range []time.Duration{0, 7 * time.Second, 61 * time.Second, 20 * time.Minute} {
			for _, outage := range []time.Duration{10 * time.Second, time.Hour * 24} {
				synctest.Test(t, func(t *testing.T) { testBatch(t, name, change, wait, outage) })
			}
		}
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, uploadAll(ended, files()), context.Canceled)
}

func testBatch(t *testing.T, name string, change func(*http.Request), wait, outage time.Duration) {
	start := time.Now()
	var requests atomic.Int64
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		time.Sleep(time.Second)
		content, err := io.ReadAll(req.Body)
		switch {
		case err != nil || "/"+string(content) != req.URL.Path:
			return answer(400, ""), nil
		case time.Since(start) < outage:
			return later(wait), nil
		case strings.HasPrefix(req.URL.Path, "/file-7"):
			return answer(422, ""), nil
		}
		return answer(200, ""), nil
	})}
	if name != "Retrier" {
		defer func(r backoff.Retrier) { uploads = r }(uploads)
		client.Transport = &httpretry.Transport{
			Base:           client.Transport,
			AttemptTimeout: uploads.AttemptTimeout,
			Slots:          uploads.Slots,
			MaxAttempts:    uploads.MaxAttempts,
			MaxRetryAfter:  uploads.MaxRetryAfter,
		}
		uploads = backoff.Retrier{AttemptTimeout: -1, MaxAttempts: 1}
	}
	upload = func(ctx context.Context, with ...any) error {
		file := with[0].(string) // its name is what is in it
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://localhost/"+file, strings.NewReader(file))
		require.NoError(t, err)
		change(req)
		resp, err := client.Do(req)
		switch {
		case err != nil:
			return err
		case resp.StatusCode == 422:
			return backoff.Permanent(fmt.Errorf("%w: %s", errBad, resp.Status))
		case resp.StatusCode >= 400:
			asked, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
			return backoff.RetryAfter(errors.New(resp.Status), asked)
		}
		return nil
	}

	err := uploadAll(t.Context(), files())
	name = fmt.Sprint(name, wait, outage)
	switch {
	case strings.Contains(name, "without"):
		require.ErrorContains(t, err, "twenty failures in a row", name)
		require.Less(t, time.Since(start), 10*time.Second, name)
	case outage == 10*time.Second && wait < 20*time.Minute:
		require.EqualError(t, err, "111 files are not uploaded", name)
	default:
		require.ErrorContains(t, err, "5000 files are not uploaded\ntwenty failures in a row", name)
		require.LessOrEqual(t, requests.Load(), int64(100*21+100), name)
		require.Less(t, time.Since(start), 2*time.Hour, name)
	}
}

// A program's call is tried three times, a library's as its program says.
func TestFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		call := func(context.Context) error { calls++; return errDown }
		start := time.Now()
		require.ErrorIs(t, remote.Do(t.Context(), call), errDown)
		require.Equal(t, 3, calls)
		require.Greater(t, time.Since(start), 6*time.Second)
		require.Less(t, time.Since(start), 19*time.Second)

		client := Client{Retrier: backoff.Retrier{MaxAttempts: 1}}
		require.Equal(t, errDown, client.Retrier.Do(t.Context(), call))
		require.Equal(t, 4, calls)
	})
}

// A transaction that conflicts is repeated, as often as it must.
func TestTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memory{commits: slices.Repeat([]error{conflict}, 15)}
		db = sql.OpenDB(s)
		defer db.Close()
		require.NoError(t, rename(t.Context(), 1, "Ada"))
		require.Equal(t, 16, s.begins)
	})
}

// An order whose COMMIT gets no answer is placed again, and is there once. So is one whose BEGIN hangs for a while. An
// order that is refused, though not for its key, is not there.
func TestPlace(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}
	for name, test := range map[string]struct {
		hangs   time.Duration
		commits []error
		unique  any
		begins  int
		err     error
	}{
		"COMMIT":   {commits: []error{lost}, begins: 2},
		"conflict": {commits: []error{conflict, lost}, begins: 3},
		"hang":     {hangs: 12 * time.Second, begins: 3},
		"again":    {unique: "key", begins: 1},
		"refused":  {unique: int64(1), begins: 1, err: duplicate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &memory{hangs: time.Now().Add(test.hangs), commits: test.commits, unique: map[any]bool{test.unique: true}}
				db = sql.OpenDB(s)
				defer db.Close()
				require.ErrorIs(t, place(t.Context(), "key", 1), test.err)
				require.Equal(t, test.begins, s.begins)
				require.Equal(t, test.err == nil, s.unique["key"])
			})
		})
	}
}

// api10 is an API that allows ten requests a second, and hangs for ten seconds, after half a minute.
type api10 struct {
	takes   time.Duration
	hangs   bool
	mu      sync.Mutex
	allowed []time.Time
	refused int
}

func (a *api10) serve(ctx context.Context) error {
	a.mu.Lock()
	now := time.Now()
	if n := len(a.allowed); n >= 10 && now.Sub(a.allowed[n-10]) < time.Second {
		a.refused++
		a.mu.Unlock()
		return backoff.RetryAfter(errDown, time.Second)
	}
	a.allowed = append(a.allowed, now)
	since := now.Sub(a.allowed[0])
	a.mu.Unlock()

	if a.hangs && since > 30*time.Second && since < 40*time.Second {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(a.takes)
	return nil
}

func (a *api10) RoundTrip(req *http.Request) (*http.Response, error) {
	err := a.serve(req.Context())
	switch {
	case errors.Is(err, errDown):
		resp := later(time.Second)
		resp.StatusCode = 429
		return resp, nil
	case err != nil:
		return nil, err
	}
	return answer(200, ""), nil
}

// freshLimiters replaces the pages' limiters by some like them, whose time has not begun.
func freshLimiters() {
	pace = rate.NewLimiter(pace.Limit(), pace.Burst())
	client := limited.Transport.(*httpretry.Transport)
	limiter := client.Base.(paced)
	client.Base = paced{rate.NewLimiter(limiter.Limit(), limiter.Burst())}
}

// Two thousand requests of two hundred workers, over httpretry and over a Retrier: with ten seconds of hang they take
// at most a quarter longer than nine a second do, all succeed, and none gets a 429.
func TestPool(t *testing.T) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	clients := map[string]func(ctx context.Context) error{
		"httpretry": func(context.Context) error {
			resp, err := limited.Get("http://localhost")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != 200 {
				return errors.New(resp.Status)
			}
			return nil
		},
		"Retrier": func(ctx context.Context) error { return lookUpPaced(ctx, "") },
	}
	for name, call := range clients {
		for _, takes := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
			var took [2]time.Duration
			for i, hangs := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					freshLimiters()
					server := &api10{takes: takes, hangs: hangs}
					http.DefaultTransport = server
					lookUp = func(ctx context.Context, _ ...any) error { return server.serve(ctx) }
					start := time.Now()
					group, ctx := errgroup.WithContext(t.Context())
					group.SetLimit(200)
					for range 2000 {
						group.Go(func() error { return call(ctx) })
					}
					require.NoError(t, group.Wait(), "%s %s", name, takes)
					require.Zero(t, server.refused, "%s %s", name, takes)
					took[i] = time.Since(start)
					require.LessOrEqual(t, took[i], 2000/9*time.Second*5/4, "%s %s", name, takes)
				})
			}
			t.Logf("%s, answers of %s: %s, with ten seconds of hang %s", name, takes, took[0].Round(time.Second), took[1].Round(time.Second))
		}
	}
}

// Of two hundred POSTs at once none is lost, though another process sends two requests a second to the same API.
func TestRateLimit(t *testing.T) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	synctest.Test(t, func(t *testing.T) {
		freshLimiters()
		server := new(api10)
		http.DefaultTransport = server
		other := time.NewTicker(500 * time.Millisecond)
		defer other.Stop()
		go func() {
			for range 100 {
				<-other.C
				_ = server.serve(t.Context())
			}
		}()

		good := make(chan bool)
		for range 200 {
			go func() {
				resp, err := limited.Post("http://localhost", "", strings.NewReader("body"))
				good <- err == nil && resp.Body.Close() == nil && resp.StatusCode == 200
			}()
		}
		for range 200 {
			require.True(t, <-good)
		}
		require.NotZero(t, server.refused)
		time.Sleep(time.Minute)
	})
}

// A POST whose turn does not come in time has not been sent, and says so.
func TestPaced(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost", strings.NewReader("body"))
	_, err := paced{rate.NewLimiter(9, 1)}.RoundTrip(req)
	require.ErrorIs(t, err, context.Canceled)
	refused, ok := errors.AsType[*net.OpError](err)
	require.True(t, ok)
	require.Equal(t, "dial", refused.Op)
}

// A countingBody counts what is read, and is closed.
type countingBody struct {
	io.Reader
	read   int
	closed bool
}

func (b *countingBody) Read(data []byte) (int, error) {
	n, err := b.Reader.Read(data)
	b.read += n
	return n, err
}

func (b *countingBody) Close() error { b.closed = true; return nil }

// The body of an answer is read before it is closed, as far as that is sensible.
func TestGetDrains(t *testing.T) {
	defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
	for size, want := range map[int]int{1000: 1000, 1 << 20: 64 << 10} {
		resp := answer(404, "")
		body := &countingBody{Reader: strings.NewReader(strings.Repeat("x", size))}
		resp.Body = body
		http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })}
		_, err := get(t.Context(), "1")
		require.EqualError(t, err, "404 Not Found")
		require.Equal(t, want, body.read)
		require.True(t, body.closed)
	}
}

// One request serves all callers, also those that are left when the first one leaves.
func TestSharedUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
		usersURL = "http://localhost/"
		sent := 0
		http.DefaultClient = &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			sent++
			select {
			case <-time.After(time.Second):
				return answer(200, `{"Name": "Ada"}`), nil
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		})}
		first, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		errs := make(chan error)
		go func() { _, err := sharedUser(first, "1"); errs <- err }()
		synctest.Wait()
		for range 10 {
			go func() {
				user, err := sharedUser(t.Context(), "1")
				assert.Equal(t, "Ada", user.Name)
				errs <- err
			}()
		}
		require.Equal(t, context.DeadlineExceeded, <-errs)
		for range 10 {
			require.NoError(t, <-errs)
		}
		require.Equal(t, 1, sent)
	})
}

// An answer that breaks off, a 503 and a lost connection are followed by another attempt, a 404 is not.
func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(c *http.Client) { http.DefaultClient = c }(http.DefaultClient)
		usersURL = "http://localhost/"
		answers := []func() (*http.Response, error){
			func() (*http.Response, error) { return answer(200, `{"Name": "Ad`), nil },
			func() (*http.Response, error) { return later(7 * time.Second), nil },
			func() (*http.Response, error) { return nil, errDown },
			func() (*http.Response, error) { return answer(200, `{"Name": "Ada"}`), nil },
			func() (*http.Response, error) { return answer(404, ""), nil },
		}
		sent := 0
		http.DefaultClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			return answers[sent-1]()
		})}
		start := time.Now()
		user, err := get(t.Context(), "1/2")
		require.NoError(t, err)
		require.Equal(t, "Ada", user.Name)
		require.Greater(t, time.Since(start), 7*time.Second)
		_, err = get(t.Context(), "2")
		require.EqualError(t, err, "404 Not Found")
		require.Equal(t, 5, sent)
	})
}

// A payment that may have been carried out is sent again, always with the same key.
func TestPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paymentsURL = "http://localhost/"
		paid := map[string]int{}
		under(catalog, func(req *http.Request) (*http.Response, error) {
			paid[req.Header.Get("Idempotency-Key")]++
			if len(paid) == 1 && paid["pay-1"] < 3 {
				<-req.Context().Done() // it is carried out, but nobody hears of it
				return nil, req.Context().Err()
			}
			return answer(200, ""), nil
		})
		require.NoError(t, pay(t.Context(), "1", []byte("10")))
		require.NoError(t, pay(t.Context(), "2", nil))
		require.Equal(t, map[string]int{"pay-1": 3, "pay-2": 1}, paid)
	})
}

// For every client that writes, a redirect is an error, and is not followed.
func TestRedirects(t *testing.T) {
	paymentsURL, uploadURL, modelURL = "http://localhost/", "http://localhost/", "http://localhost/"
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("content"), 0o666))
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		sent := 0
		for _, client := range []*http.Client{catalog, hooks, forms, model} {
			under(client, func(*http.Request) (*http.Response, error) {
				sent++
				resp := answer(status, "")
				resp.Header.Set("Location", "http://localhost/new")
				return resp, nil
			})
		}
		require.Error(t, pay(t.Context(), "1", []byte("10")), status)
		_, err := deliver(t.Context(), &Webhook{URL: "http://localhost/"})
		require.Error(t, err, status)
		require.Error(t, uploadForm(t.Context(), path, "key"), status)
		require.Error(t, ask(t.Context(), []byte("question"), func(string) {}), status)
		require.Equal(t, 4, sent, status)
	}
	for _, client := range []*http.Client{limited, account} {
		require.Equal(t, http.ErrUseLastResponse, client.CheckRedirect(nil, nil))
	}
}

// A form comes whole, and the same in each attempt, after a 503 and after a connection that broke in the middle.
func TestForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		uploadURL = "http://localhost/"
		path := filepath.Join(t.TempDir(), "file")
		content := strings.Repeat("content.", 10<<10)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		sent := 0
		under(forms, func(req *http.Request) (*http.Response, error) {
			defer req.Body.Close()
			sent++
			require.Equal(t, "key", req.Header.Get("Idempotency-Key"))
			switch sent {
			case 1:
				_, err := io.Copy(io.Discard, req.Body)
				require.NoError(t, err)
				return answer(503, ""), nil
			case 2:
				_, err := io.CopyN(io.Discard, req.Body, 4<<10)
				require.NoError(t, err)
				return nil, errDown
			}
			body, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			require.Len(t, body, int(req.ContentLength))
			req.Body = io.NopCloser(bytes.NewReader(body))
			file, header, err := req.FormFile("file")
			require.NoError(t, err)
			require.Equal(t, "file", header.Filename)
			got, err := io.ReadAll(file)
			require.NoError(t, err)
			require.True(t, content == string(got))
			return answer(200, ""), nil
		})
		require.NoError(t, uploadForm(t.Context(), path, "key"))
		require.Equal(t, 3, sent)
	})
}

// An overloaded API is asked again. A stream that stalls ends with an error, and so does one that ends too early.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, stream := 0, ""
		under(model, func(req *http.Request) (*http.Response, error) {
			requests++
			if requests < 3 {
				return answer(529, ""), nil
			}
			resp := answer(200, stream)
			if stream == "" {
				read, write := io.Pipe()
				go fmt.Fprintln(write, "Hello")
				context.AfterFunc(req.Context(), func() { write.CloseWithError(req.Context().Err()) })
				resp.Body = read
			}
			return resp, nil
		})
		modelURL = "http://localhost"

		var lines []string
		err := ask(t.Context(), []byte("question"), func(line string) { lines = append(lines, line) })
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, []string{"Hello"}, lines)
		require.Equal(t, 3, requests)

		stream = "Hello\n"
		require.Equal(t, io.ErrUnexpectedEOF, ask(t.Context(), nil, func(string) {}))
		stream = "Hello\ndata: [DONE]\n"
		require.NoError(t, ask(t.Context(), nil, func(string) {}))
	})
}

// An eventServer sends events 1 to 100, a few in each stream, which ends in one of four ways. In between it is down for a
// minute, and busy for two.
type eventServer struct {
	start    time.Time
	requests int
	down     time.Duration
}

func (s *eventServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests++
	last, _ := strconv.Atoi(req.Header.Get("Last-Event-ID"))
	switch {
	case last == 100:
		return answer(204, ""), nil
	case last >= 50 && s.down == 0:
		s.down = time.Since(s.start) + time.Minute
	}
	switch {
	case s.requests == 5:
		return later(2 * time.Minute), nil
	case time.Since(s.start) < s.down:
		return nil, &net.OpError{Op: "dial", Err: errDown}
	}

	read, write := io.Pipe()
	context.AfterFunc(req.Context(), func() { write.CloseWithError(req.Context().Err()) })
	way := s.requests % 4
	go func() {
		fmt.Fprint(write, ": hello\n\nretry: 1\n\n")
		for i := last + 1; i <= last+3 && i <= 100 && way > 0; i++ {
			fmt.Fprintf(write, "id: %d\nevent: number\ndata:%d\ndata: more\n\n", i, i)
		}
		switch way {
		case 1:
			fmt.Fprintf(write, "id: %d\ndata: half", last+4)
			write.CloseWithError(io.ErrUnexpectedEOF)
		case 2:
			fmt.Fprintf(write, "id: %d\n", last+4)
			return // silence
		}
		write.Close()
	}()
	resp := answer(200, "")
	resp.Body = read
	return resp, nil
}

// Each event comes once, whole, and in order, however the streams end.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &eventServer{start: time.Now()}
		under(events, s.RoundTrip)
		var got []string
		require.NoError(t, follow(t.Context(), "http://localhost", func(data string) { got = append(got, data) }))
		require.Len(t, got, 100)
		for i, data := range got {
			require.Equal(t, fmt.Sprintf("%d\nmore", i+1), data)
		}
		require.Greater(t, time.Since(s.start), 3*time.Minute)
	})
}

// A server that ends each stream at once is asked once in some 45 s in the end. A status that is final ends the loop, and so
// does the context.
func TestEventsNone(t *testing.T) {
	for code, want := range map[int]string{200: "deadline exceeded", 404: "404", 401: "401", 503: "503"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			requests := 0
			under(events, func(*http.Request) (*http.Response, error) {
				requests++
				return answer(code, ""), nil
			})
			start := time.Now()
			err := follow(ctx, "http://localhost", func(string) {})
			require.ErrorContains(t, err, want)
			if code == 401 || code == 404 {
				require.Equal(t, 1, requests)
				return
			}
			require.Greater(t, time.Since(start), 58*time.Minute)
			require.Less(t, requests, 100)
			require.Greater(t, requests, 50)
		})
	}
}

// A tokenServer is a server that accepts one token. It notes the requests, and who has seen a token.
type tokenServer struct {
	valid    string
	requests []string
}

func (s *tokenServer) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Header.Get("Authorization")
	s.requests = append(s.requests, strings.TrimSpace(req.Method+" "+req.URL.String()+" "+sent))
	switch {
	case req.URL.Path == "/away":
		resp := answer(302, "")
		resp.Header.Set("Location", "https://other.example.com/")
		return resp, nil
	case req.URL.Host == "api.example.com" && (sent != "Bearer "+s.valid || req.URL.Path == "/secret"):
		return answer(401, ""), nil
	}
	return answer(200, ""), nil
}

// testToken runs a test with a new signer, and a token server that gives token 1, token 2 and so on.
func testToken(t *testing.T, f func(t *testing.T, server *tokenServer, s *signer, fetched *atomic.Int64)) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	synctest.Test(t, func(t *testing.T) {
		server := &tokenServer{valid: "token 1"}
		http.DefaultTransport = server
		fetched := new(atomic.Int64)
		newToken = func(context.Context) (string, error) { return fmt.Sprint("token ", fetched.Add(1)), nil }
		s := &signer{host: "api.example.com"}
		under(account, s.RoundTrip)
		f(t, server, s, fetched)
	})
}

// A POST is sent again with a new token if the old one has expired, and the next one has that token.
func TestToken(t *testing.T) {
	testToken(t, func(t *testing.T, server *tokenServer, _ *signer, _ *atomic.Int64) {
		post := func() {
			resp, err := account.Post("https://api.example.com/", "", strings.NewReader("body"))
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode)
		}
		post()
		time.Sleep(time.Hour)
		server.valid = "token 2"
		post()
		post()
		require.Equal(t, []string{
			"POST https://api.example.com/ Bearer token 1",
			"POST https://api.example.com/ Bearer token 1",
			"POST https://api.example.com/ Bearer token 2",
			"POST https://api.example.com/ Bearer token 2",
		}, server.requests)
	})
}

// A page that is forbidden to all tokens costs one of them in ten seconds, and one request for each call with a fresh one.
func TestTokenRefused(t *testing.T) {
	testToken(t, func(t *testing.T, server *tokenServer, _ *signer, fetched *atomic.Int64) {
		for range 3 {
			resp, err := account.Get("https://api.example.com/secret")
			require.NoError(t, err)
			require.Equal(t, 401, resp.StatusCode)
		}
		require.Len(t, server.requests, 3)
		require.EqualValues(t, 1, fetched.Load())

		time.Sleep(time.Hour)
		for range 3 {
			_, err := account.Get("https://api.example.com/secret")
			require.NoError(t, err)
		}
		require.Len(t, server.requests, 7)
		require.EqualValues(t, 2, fetched.Load())
	})
}

// No other host sees a token, nor does a connection without TLS.
func TestTokenHost(t *testing.T) {
	testToken(t, func(t *testing.T, server *tokenServer, _ *signer, _ *atomic.Int64) {
		follows := *account
		follows.CheckRedirect = nil
		for _, url := range []string{"https://api.example.com/away", "http://api.example.com/", "https://api.example.com.other/"} {
			resp, err := follows.Get(url)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, []string{
			"GET https://api.example.com/away Bearer token 1",
			"GET https://other.example.com/",
			"GET http://api.example.com/",
			"GET https://api.example.com.other/",
		}, server.requests)
	})
}

// A token server that refuses is left alone for ten seconds, or as long as it says, and so is one that hangs. Meanwhile
// nothing is sent. A request ends with its context, though another one waits for a token.
func TestTokenServer(t *testing.T) {
	testToken(t, func(t *testing.T, server *tokenServer, s *signer, fetched *atomic.Int64) {
		wait := time.Duration(0)
		newToken = func(context.Context) (string, error) {
			fetched.Add(1)
			return "", backoff.RetryAfter(errDown, wait)
		}
		ask := func(seconds int) {
			fetched.Store(0)
			for range seconds {
				_, err := account.Get("https://api.example.com/")
				require.ErrorIs(t, err, errDown)
				time.Sleep(time.Second)
			}
		}
		ask(30)
		require.EqualValues(t, 3, fetched.Load())
		wait = time.Minute
		ask(60)
		require.EqualValues(t, 1, fetched.Load())
		require.Empty(t, server.requests)

		newToken = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		start := time.Now()
		_, err := account.Get("https://api.example.com/")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(start))

		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/", nil))
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(time.Minute)
	})
}

// A file of 20 KB comes through a connection that breaks after each four, also if it changes meanwhile, if the server
// asks for waits, and if the last part breaks at its very end. What makes no progress is given up after ten minutes;
// a file that is gone, or cannot be written, immediately, and what was there before stays.
func TestDownload(t *testing.T) {
	content, old := strings.Repeat("content.", 20<<10/8), strings.Repeat("old", 1<<20)
	for name, test := range map[string]struct {
		etag     string
		requests int // if it does not take all of ten minutes
		wait     time.Duration
		err      string
	}{
		"ranges":     {etag: `"a"`, requests: 5},
		"changes":    {etag: `"a"`, requests: 8},
		"at the end": {etag: `"a"`, requests: 6},
		"busy":       {etag: `"a"`, requests: 9, wait: 5 * time.Minute},
		"too busy":   {etag: `"a"`, requests: 2, wait: 20 * time.Minute, err: "503"},
		"no ranges":  {err: "unexpected EOF"},
		"weak":       {etag: `W/"a"`, err: "unexpected EOF"},
		"gone":       {requests: 1, err: "404"},
		"disk":       {requests: 1, err: "write"},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests, served := 0, content
			under(mirror, func(req *http.Request) (*http.Response, error) {
				requests++
				etag := test.etag
				switch {
				case name == "gone":
					return answer(404, ""), nil
				case name == "changes" && requests > 2:
					served, etag = "changed"+content, `"b"`
				case test.wait > 0 && requests%2 == 0:
					return later(test.wait), nil
				}
				recorder := httptest.NewRecorder()
				recorder.Header().Set("ETag", etag)
				http.ServeContent(recorder, req, "", time.Time{}, strings.NewReader(served))
				resp := recorder.Result()
				resp.Body = breaking(resp.Body, name == "at the end")
				return resp, nil
			})
			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, []byte(old), 0o666))
			flag := os.O_WRONLY
			if name == "disk" {
				flag = os.O_RDONLY // it refuses, as a full one does
			}
			file, err := os.OpenFile(path, flag, 0)
			require.NoError(t, err)
			defer file.Close()

			start := time.Now()
			err = (&download{file: file, url: "http://localhost"}).get(t.Context())
			got, errRead := os.ReadFile(path)
			require.NoError(t, errRead)
			switch {
			case test.err == "":
				require.NoError(t, err, name)
				require.True(t, string(got) == served, name)
				require.GreaterOrEqual(t, time.Since(start), test.wait, name)
			case test.requests == 0:
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
				require.InDelta(t, 9*time.Minute, time.Since(start), float64(2*time.Minute), name)
				return
			default:
				require.ErrorContains(t, err, test.err, name)
				require.Less(t, time.Since(start), time.Minute, name)
			}
			require.Equal(t, test.requests, requests, name)
			require.Equal(t, test.requests == 1, string(got) == old, name)
		})
	}
}

// Of a file of 1,000 bytes the server sends 450 at most in each answer. These are an error, and then come the others, if
// the server has told the whole length. A length that shrinks is an error.
func TestDownloadLength(t *testing.T) {
	content := strings.Repeat("0123456789", 100)
	for name, test := range map[string]struct {
		total    int64
		requests int
		err      string
	}{
		"known":   {1000, 3, ""},
		"unknown": {-1, 1, ""}, // so 450 bytes are a success
		"shrinks": {1000, 2, "416"},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			under(mirror, func(req *http.Request) (*http.Response, error) {
				requests++
				from := 0
				_, err := fmt.Sscanf(req.Header.Get("Range"), "bytes=%d-", &from)
				require.Equal(t, requests > 1, err == nil)
				resp := answer(206, content[from:min(from+450, 1000)])
				switch {
				case from == 0:
					resp.StatusCode = 200
					resp.ContentLength = test.total
				case name == "shrinks":
					resp = answer(416, "")
					resp.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", from))
				default:
					resp.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/1000", from, min(from+450, 1000)-1))
				}
				resp.Header.Set("ETag", `"a"`)
				return resp, nil
			})
			file, err := os.Create(filepath.Join(t.TempDir(), "file"))
			require.NoError(t, err)
			defer file.Close()

			d := &download{file: file, url: "http://localhost"}
			if name == "known" {
				require.Equal(t, io.ErrUnexpectedEOF, d.getRest(t.Context()))
				require.EqualValues(t, 450, d.size)
			}
			err = d.get(t.Context())
			require.Equal(t, test.requests, requests, name)
			require.Equal(t, test.total, d.total, name)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err, name)
			got, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			require.Equal(t, content[:min(1000, max(450, d.total))], string(got), name)
		})
	}
}

// A download goes on when its token has expired, and ends when a fresh one is refused.
func TestDownloadToken(t *testing.T) {
	testToken(t, func(t *testing.T, server *tokenServer, s *signer, fetched *atomic.Int64) {
		under(mirror, s.RoundTrip)
		for _, path := range []string{"/", "/secret"} {
			s.token.Store(&token{text: "old"})
			server.valid = fmt.Sprint("token ", fetched.Load()+1)
			file, err := os.Create(filepath.Join(t.TempDir(), "file"))
			require.NoError(t, err)
			defer file.Close()
			start := time.Now()
			err = (&download{file: file, url: "https://api.example.com" + path}).get(t.Context())
			require.Equal(t, path == "/", err == nil)
			require.Less(t, time.Since(start), 2*time.Second)
		}
		require.Len(t, server.requests, 4)
	})
}

// breaking returns a body that breaks after 4 KB, if it is longer or atEnd.
func breaking(body io.ReadCloser, atEnd bool) io.ReadCloser {
	content, _ := io.ReadAll(body)
	if len(content) < 4<<10 || len(content) == 4<<10 && !atEnd {
		return io.NopCloser(bytes.NewReader(content))
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(content[:4<<10]), iotest.ErrReader(io.ErrUnexpectedEOF)))
}

// A queue of webhooks, in memory.
type queue struct {
	due  chan *Webhook
	done func(hook *Webhook)
	lost atomic.Int64
}

func (q *queue) Next(ctx context.Context) (*Webhook, error) {
	select {
	case hook := <-q.due:
		return hook, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queue) PutOff(hook *Webhook, wait time.Duration) error {
	hook.Failures++
	time.AfterFunc(wait, func() { q.due <- hook })
	return nil
}

func (q *queue) Done(hook *Webhook) error     { q.done(hook); return nil }
func (q *queue) GiveUp(*Webhook, error) error { q.lost.Add(1); return nil }

// Of ten hosts one hangs for an hour, one asks for twenty minutes, and one is gone. The others' webhooks come at once,
// those of the first two when their hosts are back, and those of the last are given up after days.
func TestWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var requests [10]atomic.Int64
		under(hooks, func(req *http.Request) (*http.Response, error) {
			requests[req.URL.Host[4]-'0'].Add(1)
			switch age := time.Since(start); {
			case req.URL.Host == "host0" && age < time.Hour:
				<-req.Context().Done()
				return nil, req.Context().Err()
			case req.URL.Host == "host1" && age < time.Minute:
				return later(20 * time.Minute), nil
			case req.URL.Host == "host2":
				return nil, &net.OpError{Op: "dial", Err: errDown}
			}
			return answer(200, ""), nil
		})
		var group sync.WaitGroup
		group.Add(900)
		latest := []time.Duration{0: 4 * time.Hour, 1: 21 * time.Minute, 9: 0}
		q := &queue{due: make(chan *Webhook, 1000), done: func(hook *Webhook) {
			defer group.Done()
			host := hook.URL[len("http://host")] - '0'
			assert.LessOrEqual(t, time.Since(start), latest[host]+100*time.Second)
			if host == 1 && hook.Failures > 0 {
				assert.GreaterOrEqual(t, time.Since(start), 20*time.Minute)
			}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error)
		go func() { ended <- deliverAll(ctx, q) }()
		for i := range 1000 {
			q.due <- &Webhook{URL: fmt.Sprintf("http://host%d", i%10)}
			time.Sleep(100 * time.Millisecond)
		}
		group.Wait()
		time.Sleep(6 * 24 * time.Hour)
		require.EqualValues(t, 100, q.lost.Load())
		require.EqualValues(t, 100*16, requests[2].Load())
		require.EqualValues(t, 100, requests[9].Load())
		require.Less(t, requests[1].Load(), int64(200))
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// A plain loop makes four attempts.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		load = func(context.Context) error { calls++; return errDown }
		require.Equal(t, errDown, refresh(t.Context()))
		require.Equal(t, 4, calls)
	})
}

// Waiting for a database ends after two minutes, even if it hangs.
func TestReady(t *testing.T) {
	for _, hangs := range []time.Duration{time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			db := sql.OpenDB(&hanging{until: start.Add(hangs)})
			defer db.Close()
			err := waitForDB(t.Context(), db)
			if hangs == time.Minute {
				require.NoError(t, err)
				require.Less(t, time.Since(start), 70*time.Second)
				return
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.InDelta(t, 2*time.Minute, time.Since(start), float64(12*time.Second))
		})
	}
}

// A hanging database connects to nobody before a time.
type hanging struct {
	memory
	until time.Time
}

func (h *hanging) Connect(ctx context.Context) (driver.Conn, error) {
	select {
	case <-time.After(time.Until(h.until)):
		return h, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Waiting for somebody else goes on when the server asks for more than a minute, and ends with the deadline.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		calls := 0
		lookForReport = func(context.Context) error {
			calls++
			switch {
			case calls == 1:
				return backoff.RetryAfter(errDown, 61*time.Second)
			case time.Since(start) < 4*time.Minute:
				return errDown
			}
			return nil
		}
		require.NoError(t, waitForReport(t.Context()))
		require.Greater(t, calls, 10)

		start = time.Now().Add(time.Hour)
		err := waitForReport(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errDown)
	})
}

// The loop of a connection goes on until its context ends. A peer that keeps it for a minute is there nearly all the
// time, and a connection lives on after the time in which it must be made.
func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		dials, up := 0, time.Duration(0)
		connect = func(ctx context.Context) (*Conn, error) {
			dials++
			switch {
			case dials <= 10:
				return nil, errDown
			case dials == 20:
				<-ctx.Done() // it hangs
				return nil, ctx.Err()
			}
			return &Conn{}, nil
		}
		listen = func(ctx context.Context, _ *Conn) error {
			start := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(59 * time.Second):
			}
			up += time.Since(start)
			return nil
		}
		err := stayConnected(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errDisconnected)
		require.Greater(t, up, 55*time.Minute)
	})
}

// A peer that accepts connections and says nothing gets long waits if listen soon gives up, and short ones if it takes
// longer than a connection must hold.
func TestConnectionSilent(t *testing.T) {
	for deadline, long := range map[time.Duration]bool{5 * time.Second: true, 9 * time.Second: true, 30 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Hour)
			defer stop()
			dials := 0
			connect = func(context.Context) (*Conn, error) {
				dials++
				return &Conn{}, nil
			}
			listen = func(ctx context.Context, _ *Conn) error {
				time.Sleep(deadline)
				return os.ErrDeadlineExceeded
			}
			require.Error(t, stayConnected(ctx))
			wait := (10*time.Hour - time.Duration(dials)*deadline) / time.Duration(dials)
			require.Equal(t, long, wait > 40*time.Second, wait)
			require.Equal(t, !long, wait < time.Second, wait)
		})
	}
}

// A connection whose login fails or hangs is closed. One whose login succeeds stays open.
func TestSession(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	sessionAddr = listener.Addr().String()
	accepted := make(chan net.Conn, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()

	sessions = backoff.Retrier{
		AttemptTimeout: 300 * time.Millisecond,
		MaxAttempts:    -1,
		Policy:         func() backoff.BackOff { return new(backoff.ZeroBackOff) },
	}
	logins := 0
	logIn = func(conn net.Conn) error {
		logins++
		switch logins {
		case 1:
			return errDown
		case 2:
			_, err := conn.Read(make([]byte, 1)) // hangs
			return err
		case 3:
			conn.Read(make([]byte, 1)) // and does not see that
		}
		return nil
	}
	conn, err := openSession(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for range 3 {
		_, err = (<-accepted).Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
	}

	server := <-accepted
	for server.RemoteAddr().String() != conn.LocalAddr().String() { // an attempt may have been too slow
		server = <-accepted
	}
	_, err = server.Write([]byte("x"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
}

// Of two keys one fails for hours. The other one is done, and begins with a short wait when it fails.
func TestReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy := false
		reconcile = func(_ context.Context, key string) error {
			if key == "good" && healthy {
				return nil
			}
			return errDown
		}
		r := reconciler{waits: map[string]backoff.BackOff{}}
		for range 6 {
			require.Positive(t, r.run(t.Context(), "good"))
		}
		healthy = true
		tries := 0
		var longest time.Duration
		for start := time.Now(); time.Since(start) < 3*time.Hour; tries++ {
			wait := r.run(t.Context(), "bad")
			require.Positive(t, wait)
			longest = max(longest, wait)
			require.Zero(t, r.run(t.Context(), "good"))
			time.Sleep(wait)
		}
		require.Less(t, tries, 120)
		require.LessOrEqual(t, longest, 450*time.Second)

		healthy = false
		require.LessOrEqual(t, r.run(t.Context(), "good"), 750*time.Millisecond)
		reconcile = func(context.Context, string) error { return backoff.RetryAfter(errDown, time.Hour) }
		require.Equal(t, time.Hour, r.run(t.Context(), "good"))
	})
}

// lease is a lease of 30 s, renewed by a function.
type lease func(ctx context.Context) error

func (l lease) Renew(ctx context.Context) error { return l(ctx) }

// Work goes on through ten seconds of outage. It ends before its lease when that cannot be renewed, or somebody else has it.
func TestLease(t *testing.T) {
	taken := errors.New("taken")
	for name, test := range map[string]struct {
		outage time.Duration // after a minute
		err    error
		ends   bool
	}{
		"short":   {10 * time.Second, errDown, false},
		"refuses": {time.Hour, errDown, true},
		"hangs":   {time.Hour, nil, true},
		"taken":   {time.Hour, backoff.Permanent(taken), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var expires time.Time
			renewals := lease(func(ctx context.Context) error {
				age := time.Since(start)
				switch {
				case age < time.Minute || age > time.Minute+test.outage:
					expires = time.Now().Add(30 * time.Second)
					time.Sleep(time.Second)
					return nil
				case test.err == nil:
					<-ctx.Done()
					return ctx.Err()
				}
				return test.err
			})
			ended := errors.New("done")
			err := withLease(t.Context(), renewals, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					require.True(t, time.Now().Before(expires.Add(-5*time.Second+1)), name)
					if name != "taken" {
						require.Greater(t, time.Until(expires), 5*time.Second-1)
						require.Less(t, time.Until(expires), 8*time.Second, name)
					}
					return fmt.Errorf("interrupted: %w", ctx.Err())
				case <-time.After(10 * time.Minute):
					return ended
				}
			})
			require.Equal(t, test.ends, err != ended, name)
			if test.ends {
				require.ErrorIs(t, err, errLost)
				require.ErrorContains(t, err, "interrupted")
				require.NotErrorIs(t, err, context.Canceled, "the caller has not gone")
			}
			require.Equal(t, name == "taken", errors.Is(err, taken))
		})
	}
}

// A caller that goes is the reason for the end, though a renewal fails then.
func TestLeaseCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
		defer cancel()
		renewed := false
		err := withLease(ctx, lease(func(ctx context.Context) error {
			if !renewed {
				renewed = true
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.Equal(t, context.DeadlineExceeded, err)
	})
}

// After withLease there is no renewal, also if the work panics while one is under way.
func TestLeaseRelease(t *testing.T) {
	for _, work := range []func(context.Context) error{
		func(context.Context) error { time.Sleep(10500 * time.Millisecond); return nil },
		func(context.Context) error { time.Sleep(10500 * time.Millisecond); panic("bug") },
	} {
		synctest.Test(t, func(t *testing.T) {
			running, renewed := 0, 0
			func() {
				defer func() { _ = recover() }()
				_ = withLease(t.Context(), lease(func(context.Context) error {
					running++
					time.Sleep(time.Second)
					running--
					renewed++
					return nil
				}), work)
			}()
			require.Zero(t, running)
			require.Equal(t, 2, renewed)
			time.Sleep(time.Minute)
			require.Equal(t, 2, renewed)
		})
	}
}

// A method that is named is repeated, another one is not. (Orders/Get is answered by nobody: the handler sees all.)
func TestGRPC(t *testing.T) {
	calls := map[string]int{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		calls[method]++
		if calls[method] < 3 {
			return status.Error(codes.Unavailable, "down")
		}
		return stream.SendMsg(new(emptypb.Empty))
	}))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	go server.Serve(listener)
	defer server.Stop()

	conn, err := dialOrders("passthrough:///"+listener.Addr().String(), insecure.NewCredentials())
	require.NoError(t, err)
	defer conn.Close()
	const read, write = "/orders.v1.Orders/Get", "/orders.v1.Orders/Create"
	require.NoError(t, conn.Invoke(t.Context(), read, new(emptypb.Empty), new(emptypb.Empty)))
	err = conn.Invoke(t.Context(), write, new(emptypb.Empty), new(emptypb.Empty))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, map[string]int{read: 3, write: 1}, calls)
}
