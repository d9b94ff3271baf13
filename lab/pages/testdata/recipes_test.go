package page

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// Of the messages only the bad one is set aside, however long the service is down, and whatever it asks for. The others
// are acknowledged only if they are delivered.
func TestConsumer(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		tries int
		took  time.Duration
	}{
		"good":   {nil, 1, 0},
		"bad":    {backoff.Permanent(fmt.Errorf("%w: no address", errBad)), 1, 0},
		"down":   {errDown, 11, time.Minute},
		"7 s":    {backoff.RetryAfter(errDown, 7*time.Second), 11, 100 * time.Second},
		"61 s":   {backoff.RetryAfter(errDown, 61*time.Second), 11, 11 * time.Minute},
		"20 min": {backoff.RetryAfter(errDown, 20*time.Minute), 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries, aside, paused := 0, 0, 0
			worker := Worker{
				deliver:    func(context.Context, *Message) error { tries++; return test.err },
				deadLetter: func(context.Context, *Message, error) error { aside++; return nil },
				pause:      func(context.Context) error { paused++; return nil },
			}
			start := time.Now()
			err := worker.handle(t.Context(), nil)
			require.Equal(t, name == "good" || name == "bad", err == nil, name)
			if err != nil {
				require.ErrorIs(t, err, test.err, name)
			}
			require.Equal(t, test.tries, tries, name)
			require.InDelta(t, test.took, time.Since(start), 0.5*float64(test.took)+1, name)
			require.Equal(t, name == "bad", aside == 1, name)
			require.Equal(t, err != nil, paused == 1, name)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, worker.handle(ctx, nil), context.Canceled)
			require.Equal(t, err != nil, paused == 1, name)
		})
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

// Of two hundred POSTs at once to an API of ten a second none is lost.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var second, inSecond atomic.Int64
		under(limited, func(*http.Request) (*http.Response, error) {
			now := time.Now().Unix()
			if second.Swap(now) != now {
				inSecond.Store(0)
			}
			resp := answer(200, "")
			if inSecond.Add(1) > 10 {
				resp = later(time.Second)
				resp.StatusCode = 429
			}
			return resp, nil
		})

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

// A POST is sent again with a new token, and the next one has it. Without a new token, nothing is sent. A request ends
// with its context, though another one waits for a token. A wait for a token that does not come ends.
func TestToken(t *testing.T) {
	defer func(tr http.RoundTripper) { http.DefaultTransport = tr }(http.DefaultTransport)
	var tokens, requests atomic.Int64
	http.DefaultTransport = roundTrip(func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		if req.Header.Get("Authorization") != "Bearer token 2" {
			return answer(401, ""), nil
		}
		return answer(200, ""), nil
	})
	synctest.Test(t, func(t *testing.T) {
		newToken = func(context.Context) (string, error) { return fmt.Sprint("token ", tokens.Add(1)), nil }
		for range 2 {
			resp, err := account.Post("http://localhost", "", strings.NewReader("body"))
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode)
		}
		require.EqualValues(t, 2, tokens.Load())
		require.EqualValues(t, 3, requests.Load())

		newToken = func(context.Context) (string, error) { tokens.Add(1); return "", errDown }
		signer := account.Transport.(*httpretry.Transport).Base.(*signer)
		signer.token.Store(nil)
		_, err := account.Get("http://localhost")
		require.ErrorIs(t, err, errDown)
		require.EqualValues(t, 3, tokens.Load())
		require.EqualValues(t, 3, requests.Load())

		start := time.Now()
		newToken = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		_, err = account.Get("http://localhost")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, time.Since(start))

		newToken = func(context.Context) (string, error) { time.Sleep(time.Hour); return "", errDown }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = signer.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(time.Hour)
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

// Waiting for a database ends after its time and not after three retries.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.ErrorIs(t, startup.Do(t.Context(), func(context.Context) error { return errDown }), errDown)
		require.InDelta(t, 2*time.Minute, time.Since(start), float64(8*time.Second))
	})
	db := sql.OpenDB(new(memory))
	defer db.Close()
	require.NoError(t, waitForDB(t.Context(), db))
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
