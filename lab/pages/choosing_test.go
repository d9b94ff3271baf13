package pages_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// What follows, up to TestChoosingFunctions, stands in docs/choosing.md.

var places = make(chan struct{}, 15) // for all calls of this process to one service

var errNoPlace = errors.New("too many calls in progress")

// take waits for a place, for a second at most.
func take(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil { // select would choose at random
		return nil, ctx.Err()
	}

	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-time.After(time.Second):
		return nil, errNoPlace
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Server) order(ctx context.Context, id int64) (*Order, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)

	return backoff.RetryWithData(func() (*Order, error) {
		release, err := take(ctx)
		if err != nil {
			return nil, err
		}
		defer release()

		attempt, cancel := context.WithTimeout(ctx, time.Second) // starts here, with the place
		defer cancel()

		order, err := s.store.Order(attempt, id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, backoff.Permanent(err)
		}
		return order, err
	}, backoff.WithContext(policy, ctx))
}

var errGaveUp = errors.New("out of retries")

func (w *Worker) handle(ctx context.Context, msg *Message) error {
	forever := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	policy := backoff.WithStopCause(backoff.WithMaxRetries(forever, 10), errGaveUp)

	err := backoff.Retry(func() error {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()

		return w.deliver(attempt, msg) // a bad message: backoff.Permanent(errMalformed)
	}, backoff.WithContext(policy, ctx))

	if errors.Is(err, errGaveUp) || errors.Is(err, errMalformed) {
		return w.deadLetter(ctx, msg, err)
	}
	return err // nil: acknowledge msg; otherwise time is up: hand msg back
}

var inProgress = make(chan struct{}, 20) // in this process, waits included

func (w *Worker) handleEvent(ctx context.Context, event *Message) error {
	if ctx.Err() != nil { // select would choose at random
		return ctx.Err()
	}

	select {
	case inProgress <- struct{}{}:
		defer func() { <-inProgress }()
	case <-ctx.Done():
		return ctx.Err()
	}

	return w.handle(ctx, event)
}

func uploadAll(ctx context.Context, files []string) error {
	var group errgroup.Group // of golang.org/x/sync/errgroup
	group.SetLimit(20)
	errs := make([]error, len(files))

	for i, file := range files {
		group.Go(func() error {
			err := ctx.Err() // Retry alone would make one call even now
			if err == nil {
				err = backoff.Retry(func() error { return upload(ctx, file) }, uploadPolicy(ctx))
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", file, err)
			}
			return nil
		})
	}

	group.Wait()
	return errors.Join(errs...)
}

func uploadPolicy(ctx context.Context) backoff.BackOff {
	forever := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	return backoff.WithContext(backoff.WithMaxRetries(forever, 20), ctx)
}

func stayConnected(ctx context.Context) error {
	forever := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	policy := backoff.WithContext(forever, ctx)

	return backoff.RetryNotify(func() error {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		conn, err := connect(attempt)
		cancel()
		if err != nil {
			return err
		}

		start := time.Now()     // once it is connected: a dial may hang for long
		err = listen(ctx, conn) // until the connection is lost; then closes it

		if time.Since(start) > time.Minute {
			policy.Reset()
		}
		if err == nil {
			err = errDisconnected // nil would end the loop
		}
		return err
	}, policy, func(err error, wait time.Duration) {
		slog.WarnContext(ctx, "disconnected", "err", err, "retry_in", wait)
	})
}

// 20,000 devices, and a server that can take 400 connections a second besides its usual work.
const firstWait = 100 * time.Second

func reconnectPolicy(ctx context.Context) backoff.BackOffContext {
	return backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstWait),
		backoff.WithMaxInterval(4*firstWait),
		backoff.WithMaxElapsedTime(0),
	), ctx)
}

var api = &http.Client{
	Timeout: 10 * time.Minute, // attempts and waits together

	Transport: &httpretry.Transport{
		MaxRetryAfter: 2 * time.Minute, // zero means one minute

		// A 429 is no overload, so let no budget refuse these retries: the default one allows five for
		// each host, whoever makes them. Bound what is in flight instead.
		Budget: &backoff.Budget{RetryCost: -1},
	},
}

func create(ctx context.Context, order *Order) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 4)

	return backoff.Retry(func() error {
		attempt, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()

		resp, err := post(attempt, order) // with a new body for each attempt
		if err != nil {
			return backoff.Permanent(err) // it may have arrived; for a GET: return err
		}
		defer resp.Body.Close()

		return checkStatus(resp)
	}, backoff.WithContext(policy, ctx))
}

func checkStatus(resp *http.Response) error {
	if resp.StatusCode < 300 {
		return nil
	}

	err := fmt.Errorf("unexpected status %s", resp.Status)
	if resp.StatusCode != http.StatusTooManyRequests { // for a GET: !backoff.RetryableStatus(resp.StatusCode)
		return backoff.Permanent(err)
	}

	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	if wait > time.Minute {
		return backoff.Permanent(err) // longer than we want to wait
	}
	return backoff.RetryAfter(err, wait)
}

// The page has all that stands above.
func TestChoosingFunctions(t *testing.T) {
	page := read(t, "docs/choosing.md")
	here := read(t, "lab/pages/choosing_test.go")
	file, err := parser.ParseFile(token.NewFileSet(), "", here, 0)
	require.NoError(t, err)

	for _, decl := range file.Decls[1:] { // the first has the imports
		text := here[decl.Pos()-1 : decl.End()-1]
		if strings.HasPrefix(text, "func Test") {
			return
		}
		require.True(t, strings.Contains(page, text), "docs/choosing.md has another\n%s", text)
	}
}

type Order struct{ ID int64 }

type Message struct{}

type Conn struct{}

type Server struct{ store orderStore }

type orderStore func(ctx context.Context, id int64) (*Order, error)

func (f orderStore) Order(ctx context.Context, id int64) (*Order, error) { return f(ctx, id) }

type Worker struct {
	deliver func(ctx context.Context, msg *Message) error
	aside   []error // of the messages that were set aside
}

func (w *Worker) deadLetter(_ context.Context, _ *Message, err error) error {
	w.aside = append(w.aside, err)
	return nil
}

var (
	errDisconnected = errors.New("disconnected")
	errMalformed    = errors.New("malformed")

	upload  func(ctx context.Context, file string) error
	connect func(ctx context.Context) (*Conn, error)
	listen  func(ctx context.Context, conn *Conn) error
	client  *http.Client
)

func post(ctx context.Context, order *Order) (*http.Response, error) {
	body, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/orders", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// hang is a call to a service that does not answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// The average times that all retries take, as the page says.
func TestChoosingWaits(t *testing.T) {
	policy := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(backoff.NoJitter))
	policy.Reset()
	after := []time.Duration{0}
	for i := range 20 {
		after = append(after, after[i]+policy.NextBackOff())
	}
	for retries, want := range map[int]time.Duration{
		3:  2400 * time.Millisecond,
		5:  6600 * time.Millisecond,
		7:  16 * time.Second,
		10: time.Minute,
		20: 10 * time.Minute,
	} {
		require.InEpsilon(t, want, after[retries], 0.06, "%d retries: %v", retries, after[retries])
	}
}

// A place is taken at once if one is free, or when another attempt has ended, but not after a second, nor after
// the context has ended.
func TestChoosingTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places = make(chan struct{}, 1)
		for range 100 {
			_, err := take(canceled(t))
			require.ErrorIs(t, err, context.Canceled)
		}
		release, err := take(t.Context())
		require.NoError(t, err)

		start := time.Now()
		_, err = take(t.Context())
		require.ErrorIs(t, err, errNoPlace)
		require.Equal(t, time.Second, time.Since(start))

		time.AfterFunc(time.Second/2, release)
		release, err = take(t.Context())
		require.NoError(t, err)
		defer release()

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		_, err = take(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// If attempts hang, five seconds are enough for two retries, and now and then for the beginning of a third. An
// order that does not exist is looked for once, and none without a place.
func TestChoosingOrder(t *testing.T) {
	calls := 0
	var outcome func(context.Context) error
	server := Server{store: func(ctx context.Context, id int64) (*Order, error) {
		calls++
		return &Order{id}, outcome(ctx)
	}}

	synctest.Test(t, func(t *testing.T) {
		places = make(chan struct{}, 1)
		outcome = hang
		full := 0
		for range 1000 {
			calls = 0
			begun := time.Now()
			_, err := server.order(t.Context(), 1)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(begun), 5*time.Second)
			require.GreaterOrEqual(t, calls, 3)
			if calls > 3 {
				full++
			}
		}
		require.Less(t, full, 300)

		calls = 0
		outcome = func(context.Context) error { return sql.ErrNoRows }
		_, err := server.order(t.Context(), 1)
		require.Equal(t, sql.ErrNoRows, err)
		require.Equal(t, 1, calls)

		places <- struct{}{}
		_, err = server.order(t.Context(), 1)
		require.Error(t, err)
		require.Equal(t, 1, calls)
	})
}

// A message is set aside after all its retries, or if it is malformed, but not because time was up.
func TestChoosingQueue(t *testing.T) {
	errDown := errors.New("down")
	for _, test := range []struct {
		name     string
		err      error
		deadline time.Duration
		calls    int // 0: not the same each time
		aside    error
	}{
		{"success", nil, time.Hour, 1, nil},
		{"out of retries", errDown, time.Hour, 11, errGaveUp},
		{"malformed", backoff.Permanent(fmt.Errorf("no ID: %w", errMalformed)), time.Hour, 1, errMalformed},
		{"time is up", errDown, 20 * time.Second, 0, nil},
		{"time was up", errDown, 0, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				worker := Worker{deliver: func(context.Context, *Message) error {
					calls++
					return test.err
				}}
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()

				err := worker.handle(ctx, &Message{})
				if test.calls > 0 {
					require.Equal(t, test.calls, calls)
				}
				if test.aside == nil {
					require.ErrorIs(t, err, test.err)
					require.Empty(t, worker.aside)
					return
				}
				require.NoError(t, err)
				require.Len(t, worker.aside, 1)
				require.ErrorIs(t, worker.aside[0], test.aside)
			})
		})
	}
}

// No event is handled after the context has ended, and never more than there are places, waits included.
func TestChoosingEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		worker := Worker{deliver: func(context.Context, *Message) error {
			calls.Add(1)
			return errors.New("down")
		}}
		for range 100 {
			require.ErrorIs(t, worker.handleEvent(canceled(t), &Message{}), context.Canceled)
		}
		require.Zero(t, calls.Load())

		inProgress = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		go func() { _ = worker.handleEvent(ctx, &Message{}) }()
		synctest.Wait() // now it waits for its first retry
		before := calls.Load()

		require.ErrorIs(t, worker.handleEvent(ctx, &Message{}), context.Canceled)
		synctest.Wait()
		require.EqualValues(t, 1, before)
		require.Greater(t, calls.Load(), before)
		require.Empty(t, worker.aside)
	})
}

// One file that fails does not stop the others, and the error names it. After the context has ended, no upload
// starts, and the error names all files that are left.
func TestChoosingBatch(t *testing.T) {
	var files []string
	for i := range 100 {
		files = append(files, fmt.Sprintf("file %d.", i))
	}

	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := map[string]int{}
		upload = func(_ context.Context, file string) error {
			mu.Lock()
			defer mu.Unlock()
			calls[file]++
			if file == files[7] {
				return backoff.Permanent(errors.New("empty"))
			}
			if calls[file] == 1 {
				return errors.New("down")
			}
			return nil
		}
		require.EqualError(t, uploadAll(t.Context(), files), "file 7.: empty")
		require.Len(t, calls, 100)

		ctx, cancel := context.WithCancel(t.Context())
		cancels := 0
		upload = func(ctx context.Context, _ string) error {
			mu.Lock()
			cancels++
			mu.Unlock()
			cancel()
			return ctx.Err()
		}
		err := uploadAll(ctx, files)
		require.ErrorIs(t, err, context.Canceled)
		require.LessOrEqual(t, cancels, 20)
		for _, file := range files {
			require.ErrorContains(t, err, file)
		}
	})
}

// stayConnected starts over after a healthy connection, not after a short one or a dial that hangs, and goes on
// for as long as its context, even if a connection ends without an error.
func TestChoosingReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		ctx, shutDown := context.WithCancel(t.Context())
		attempts := 0
		var ended time.Time
		var waits []time.Duration
		connect = func(ctx context.Context) (*Conn, error) {
			if attempts > 0 {
				waits = append(waits, time.Since(ended))
			}
			attempts++
			if attempts%2 == 0 {
				time.Sleep(5 * time.Second) // which is no part of a healthy minute
				return &Conn{}, nil
			}
			begun := time.Now()
			err := hang(ctx)
			require.Equal(t, 10*time.Second, time.Since(begun))
			ended = time.Now()
			return nil, err
		}
		listen = func(context.Context, *Conn) error {
			switch attempts {
			case 100: // each of the last 80 waits is half a minute at least
				time.Sleep(time.Hour)
			case 102:
				shutDown()
			default:
				time.Sleep(time.Minute) // just not healthy
			}
			ended = time.Now()
			return nil
		}

		err := stayConnected(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errDisconnected)
		require.Equal(t, 102, attempts)
		first := func(wait time.Duration) bool { return wait >= 250*time.Millisecond && wait <= 750*time.Millisecond }
		require.True(t, first(waits[0]), waits[0])
		require.GreaterOrEqual(t, waits[98], 30*time.Second)
		require.True(t, first(waits[99]), waits[99])
	})
}

// The waits of the devices are those that the page says.
func TestChoosingDevices(t *testing.T) {
	policy := reconnectPolicy(t.Context())
	policy.Reset()
	first := policy.NextBackOff()
	require.GreaterOrEqual(t, first, 50*time.Second)
	require.LessOrEqual(t, first, 150*time.Second)

	longest := time.Duration(0)
	for range 1000 {
		longest = max(longest, policy.NextBackOff())
	}
	require.LessOrEqual(t, longest, 600*time.Second)
	require.Greater(t, longest, 590*time.Second)
}

type baseFunc func(req *http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func status(code int, retryAfter string) *http.Response {
	header := http.Header{}
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: header, Body: http.NoBody}
}

// Twenty requests at once that are refused for three seconds all succeed, which they do not with the default
// budget. One that is refused each time comes back as it is, without an error.
func TestChoosingRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := api.Transport.(*httpretry.Transport)
		send := func(transport *httpretry.Transport) (good, requests int) {
			var mu sync.Mutex
			begun := time.Now()
			transport.Base = baseFunc(func(*http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				requests++
				if time.Since(begun) < 3*time.Second {
					return status(429, "1"), nil
				}
				return status(200, ""), nil
			})
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					resp, err := (&http.Client{Transport: transport}).Post("http://localhost", "", strings.NewReader("body"))
					if err != nil || resp.StatusCode != 200 {
						return
					}
					mu.Lock()
					defer mu.Unlock()
					good++
				})
			}
			group.Wait()
			return good, requests
		}
		good, _ := send(transport)
		require.Equal(t, 20, good)
		good, requests := send(&httpretry.Transport{})
		require.Zero(t, good)
		require.Equal(t, 25, requests)

		longest := time.Duration(0)
		total := time.Duration(0)
		for range 1000 {
			attempts := 0
			transport.Base = baseFunc(func(*http.Request) (*http.Response, error) {
				attempts++
				return status(429, ""), nil
			})
			begun := time.Now()
			resp, err := api.Post("http://localhost", "", strings.NewReader("body"))
			require.NoError(t, err)
			require.Equal(t, 429, resp.StatusCode)
			require.Equal(t, 5, attempts)
			longest = max(longest, time.Since(begun))
			total += time.Since(begun)
		}
		require.LessOrEqual(t, longest, 4100*time.Millisecond)
		require.InDelta(t, 2*time.Second, total/1000, float64(200*time.Millisecond))

		transport.Base = baseFunc(func(req *http.Request) (*http.Response, error) {
			return nil, hang(req.Context())
		})
		begun := time.Now()
		_, err := api.Post("http://localhost", "", strings.NewReader("body"))
		require.Error(t, err)
		require.Equal(t, 10*time.Minute, time.Since(begun))
	})
}

// A POST is sent again after a 429 that asks for a wait of up to a minute, and after nothing else.
func TestChoosingPost(t *testing.T) {
	for name, test := range map[string]struct {
		resp  *http.Response
		err   error
		calls int
		took  time.Duration // at least
	}{
		"created":         {status(201, ""), nil, 1, 0},
		"limited":         {status(429, "7"), nil, 5, 28 * time.Second},
		"limited, long":   {status(429, "61"), nil, 1, 0},
		"limited, silent": {status(429, ""), nil, 5, 2 * time.Second},
		"bad gateway":     {status(502, "1"), nil, 1, 0},
		"not found":       {status(404, ""), nil, 1, 0},
		"network":         {nil, io.ErrUnexpectedEOF, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				client = &http.Client{Transport: baseFunc(func(req *http.Request) (*http.Response, error) {
					calls++
					body, err := io.ReadAll(req.Body)
					require.NoError(t, err)
					require.JSONEq(t, `{"ID":3}`, string(body))
					return test.resp, test.err
				})}
				begun := time.Now()
				err := create(t.Context(), &Order{3})
				require.Equal(t, name != "created", err != nil)
				require.Equal(t, test.calls, calls)
				require.GreaterOrEqual(t, time.Since(begun), test.took)
			})
		})
	}
}

// A semaphore inside the Base of httpretry is no bound: with it as without, nothing succeeds any more after an
// outage. Around the Transport it is one: everything is done.
func TestChoosingSemaphore(t *testing.T) {
	const begun = 2000
	none := func(next http.RoundTripper) http.RoundTripper { return next }
	for _, test := range []struct {
		name           string
		inside, around func(http.RoundTripper) http.RoundTripper
		least, most    int // of the requests that succeed
	}{
		{"none", none, none, 1, begun / 8},
		{"inside", semaphore, none, 1, begun / 8},
		{"around", none, semaphore, begun, begun},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				transport := test.around(&httpretry.Transport{
					Base:           test.inside(queueing(ctx)),
					AttemptTimeout: time.Second,
					Policy:         func() backoff.BackOff { return backoff.NewExponentialBackOff() },
					Budget:         &backoff.Budget{RetryCost: -1},
				})
				var done atomic.Int64
				for range begun { // 18 a second
					time.Sleep(time.Second / 18)
					go func() {
						req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
						_, err := transport.RoundTrip(req)
						if err == nil {
							done.Add(1)
						}
					}()
				}
				time.Sleep(time.Minute)
				cancel()
				time.Sleep(time.Second) // for the service
				require.GreaterOrEqual(t, int(done.Load()), test.least)
				require.LessOrEqual(t, int(done.Load()), test.most)
			})
		})
	}
}

// queueing returns a service that answers 30 requests a second in their order, also those that nobody waits for
// any more. It is down from second 10 to second 20.
func queueing(ctx context.Context) http.RoundTripper {
	begun := time.Now()
	queue := make(chan chan struct{}, 1e6)
	go func() {
		for ctx.Err() == nil {
			select {
			case answered := <-queue:
				if now := time.Since(begun); now > 10*time.Second && now < 20*time.Second {
					time.Sleep(20*time.Second - now)
				}
				time.Sleep(time.Second / 30)
				close(answered)
			case <-ctx.Done():
			}
		}
	}()
	return baseFunc(func(req *http.Request) (*http.Response, error) {
		answered := make(chan struct{})
		queue <- answered
		select {
		case <-answered:
			return status(200, ""), nil
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	})
}

// semaphore lets 15 requests be in progress in next.
func semaphore(next http.RoundTripper) http.RoundTripper {
	semaphore := make(chan struct{}, 15)
	return baseFunc(func(req *http.Request) (*http.Response, error) {
		select {
		case semaphore <- struct{}{}:
			defer func() { <-semaphore }()
			return next.RoundTrip(req)
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	})
}
