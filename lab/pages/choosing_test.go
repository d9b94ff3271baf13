package pages_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
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

var orders = backoff.Retrier{
	AttemptTimeout: time.Second,
	Slots:          backoff.NewSlots(15),
	Budget:         new(backoff.Budget),
}

func (s *Server) order(ctx context.Context, id int64) (*Order, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	return backoff.DoWithData(ctx, &orders, func(ctx context.Context) (*Order, error) {
		order, err := s.store.Order(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, backoff.Permanent(err)
		}
		return order, err
	})
}

var deliveries = backoff.Retrier{
	AttemptTimeout: time.Second,
	Slots:          backoff.NewSlots(20),
	MaxRetries:     10,
	Policy:         patient,
}

// patient has no limit of time.
func patient() backoff.BackOff {
	return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
}

func (w *Worker) handle(ctx context.Context, msg *Message) error {
	err := deliveries.Do(ctx, func(ctx context.Context) error {
		return w.deliver(ctx, msg) // a bad message: backoff.Permanent(err)
	})
	if err != nil && ctx.Err() == nil { // not because the program stops
		return w.deadLetter(ctx, msg, err)
	}
	return err
}

var uploads = backoff.Retrier{
	AttemptTimeout: 30 * time.Second,
	Slots:          backoff.NewSlots(20),
	MaxRetries:     20,
	Policy:         patient,
}

func uploadAll(ctx context.Context, files []string) error {
	group, ctx := errgroup.WithContext(ctx) // of golang.org/x/sync/errgroup
	group.SetLimit(20)
	errs := make([]error, len(files))
	var failed atomic.Int64 // in a row

	for i, file := range files {
		group.Go(func() error {
			err := uploads.Do(ctx, func(ctx context.Context) error {
				return upload(ctx, file) // a bad file: backoff.Permanent(err)
			})
			if err == nil {
				failed.Store(0)
				return nil
			}
			errs[i] = fmt.Errorf("%s: %w", file, err)
			if failed.Add(1) == 20 {
				return errTooManyFailures // ends ctx, and with it all that are left
			}
			return nil
		})
	}

	return errors.Join(group.Wait(), errors.Join(errs...))
}

var limited = &http.Client{
	Timeout: 10 * time.Minute, // attempts and waits together

	Transport: &httpretry.Transport{
		Slots:         backoff.NewSlots(10),
		MaxRetryAfter: 2 * time.Minute, // zero means one minute
	},
}

var model = &http.Client{
	Transport: &httpretry.Transport{
		AttemptTimeout: -1, // an answer may take minutes
		Slots:          backoff.NewSlots(10),
		Idempotent:     func(*http.Request) bool { return true },
		Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
			return httpretry.Retryable(resp, err) || resp != nil && resp.StatusCode == http.StatusConflict
		},
	},
}

var startup = backoff.Retrier{
	AttemptTimeout: 2 * time.Second,
	Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithMaxInterval(5*time.Second),
			backoff.WithMaxElapsedTime(2*time.Minute),
		)
	},
	Notify: func(ctx context.Context, attempt int, err error, wait time.Duration) {
		slog.WarnContext(ctx, "waiting for the database", "attempt", attempt, "err", err, "retry_in", wait)
	},
}

func waitForDB(ctx context.Context, db *sql.DB) error {
	return startup.Do(ctx, db.PingContext)
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
	errDisconnected    = errors.New("disconnected")
	errDown            = errors.New("down")
	errTooManyFailures = errors.New("too many failures in a row")

	upload  func(ctx context.Context, file string) error
	connect func(ctx context.Context) (*Conn, error)
	listen  func(ctx context.Context, conn *Conn) error
)

// hang is a call to a service that does not answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The times that all retries take together, as the page says.
func TestChoosingWaits(t *testing.T) {
	for _, test := range []struct {
		retries       int
		mean, longest time.Duration
	}{
		{10, time.Minute, 85 * time.Second},
		{20, 10 * time.Minute, 15 * time.Minute},
	} {
		policy := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithJitter(backoff.NoJitter))
		policy.Reset()
		total := time.Duration(0)
		for range test.retries {
			total += policy.NextBackOff()
		}
		require.InEpsilon(t, test.mean, total, 0.06, test.retries)
		require.InEpsilon(t, test.longest, total*3/2, 0.06, test.retries)
	}
}

// If attempts hang, five seconds are enough for two retries, and now and then for the beginning of a third. An
// order that does not exist is looked for once. A request that finds no slot waits for four seconds.
func TestChoosingOrder(t *testing.T) {
	calls := 0
	var outcome func(context.Context) error
	server := Server{store: func(ctx context.Context, id int64) (*Order, error) {
		calls++
		return &Order{id}, outcome(ctx)
	}}

	synctest.Test(t, func(t *testing.T) {
		outcome = hang
		full := 0
		for range 1000 {
			calls = 0
			orders.Budget = new(backoff.Budget)
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

		for range 15 {
			require.NoError(t, orders.Slots.Acquire(t.Context(), 0))
			defer orders.Slots.Release()
		}
		begun := time.Now()
		_, err = server.order(t.Context(), 1)
		require.ErrorIs(t, err, backoff.ErrNoSlot)
		require.Equal(t, 4*time.Second, time.Since(begun))
		require.Equal(t, 1, calls)
	})
}

// A message is set aside after all its retries, or if it is malformed, but not because the program stops.
func TestChoosingQueue(t *testing.T) {
	errMalformed := errors.New("malformed")
	for _, test := range []struct {
		name  string
		err   error
		stop  time.Duration
		calls int // 0: not the same each time
		aside error
	}{
		{"success", nil, time.Hour, 1, nil},
		{"out of retries", errDown, time.Hour, 11, errDown},
		{"malformed", backoff.Permanent(errMalformed), time.Hour, 1, errMalformed},
		{"the program stops", errDown, 20 * time.Second, 0, nil},
		{"the program has stopped", errDown, 0, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				worker := Worker{deliver: func(context.Context, *Message) error {
					calls++
					return test.err
				}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.stop == 0 {
					cancel()
				}
				stop := time.AfterFunc(test.stop, cancel)
				defer stop.Stop()

				begun := time.Now()
				err := worker.handle(ctx, &Message{})
				require.LessOrEqual(t, time.Since(begun), 96*time.Second)
				if test.calls > 0 {
					require.Equal(t, test.calls, calls)
				}
				if test.aside == nil {
					require.Equal(t, test.err == nil, err == nil)
					require.Empty(t, worker.aside)
					return
				}
				require.NoError(t, err)
				require.Equal(t, []error{test.aside}, worker.aside)
			})
		})
	}
}

// One file that fails does not stop the others, and the error names it. After twenty failures in a row, or
// after the context has ended, no upload starts, and the error names all files that are left.
func TestChoosingBatch(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("file %d.", i))
	}
	var mu sync.Mutex
	calls := map[string]int{}

	synctest.Test(t, func(t *testing.T) {
		upload = func(_ context.Context, file string) error {
			mu.Lock()
			defer mu.Unlock()
			calls[file]++
			if file == names[7] {
				return backoff.Permanent(errors.New("empty"))
			}
			if calls[file] == 1 {
				return errDown
			}
			return nil
		}
		require.EqualError(t, uploadAll(t.Context(), names), "file 7.: empty")
		require.Len(t, calls, 100)
	})

	synctest.Test(t, func(t *testing.T) {
		clear(calls)
		upload = func(_ context.Context, file string) error {
			mu.Lock()
			defer mu.Unlock()
			calls[file]++
			return errors.New("expired")
		}
		begun := time.Now()
		err := uploadAll(t.Context(), names)
		require.ErrorIs(t, err, errTooManyFailures)
		require.Less(t, time.Since(begun), 15*time.Minute)
		require.Less(t, len(calls), 40)
		for _, name := range names {
			require.ErrorContains(t, err, name)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancels := 0
		upload = func(ctx context.Context, _ string) error {
			mu.Lock()
			cancels++
			mu.Unlock()
			cancel()
			return ctx.Err()
		}
		err := uploadAll(ctx, names)
		require.ErrorIs(t, err, context.Canceled)
		require.LessOrEqual(t, cancels, 20)
		for _, name := range names {
			require.ErrorContains(t, err, name)
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

// waitForDB gives up after two minutes at most, and logs each attempt but the last.
func TestChoosingStartup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		begun := time.Now()
		attempts := 0
		db := sql.OpenDB(connectorFunc(func(context.Context) (driver.Conn, error) {
			attempts++
			return nil, errDown
		}))
		defer func() { require.NoError(t, db.Close()) }()

		require.Equal(t, errDown, waitForDB(t.Context(), db))
		require.Greater(t, attempts, 15)
		require.LessOrEqual(t, time.Since(begun), 2*time.Minute)
		require.Greater(t, time.Since(begun), time.Minute)
	})
}

type connectorFunc func(ctx context.Context) (driver.Conn, error)

func (f connectorFunc) Connect(ctx context.Context) (driver.Conn, error) { return f(ctx) }

func (connectorFunc) Driver() driver.Driver { return nil }

type baseFunc func(req *http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func status(code int, retryAfter string) *http.Response {
	header := http.Header{}
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: header, Body: http.NoBody}
}

// Thirty requests at once to an API that accepts ten a second all succeed. One that is refused each time comes
// back as it is, without an error.
func TestChoosingRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := limited.Transport.(*httpretry.Transport)
		transport.Base = tenASecond(0)
		var good atomic.Int64
		var group sync.WaitGroup
		for range 30 {
			group.Go(func() {
				resp, err := limited.Post("http://localhost", "", strings.NewReader("body"))
				if err != nil {
					return
				}
				resp.Body.Close()
				if resp.StatusCode == 200 {
					good.Add(1)
				}
			})
		}
		group.Wait()
		require.EqualValues(t, 30, good.Load())

		total := time.Duration(0)
		for range 1000 {
			attempts := 0
			transport.Base = baseFunc(func(*http.Request) (*http.Response, error) {
				attempts++
				return status(429, ""), nil
			})
			begun := time.Now()
			resp, err := limited.Post("http://localhost", "", strings.NewReader("body"))
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, 429, resp.StatusCode)
			require.Equal(t, 5, attempts)
			total += time.Since(begun)
		}
		require.InDelta(t, 2*time.Second, total/1000, float64(200*time.Millisecond))
	})
}

// Of 200 requests at once to an API of ten a second, the default retries lose few with ten slots and most with
// 150, and ten retries lose hardly any.
func TestChoosingRateLimitSlots(t *testing.T) {
	tests := []struct {
		slots, retries int     // zero retries: the default
		least, most    float64 // share lost, in 20 runs
	}{
		{10, 0, 0, 0.1},
		{150, 0, 0.5, 0.7},
		{10, 10, 0, 0.01},
		{150, 10, 0, 0.01},
	}
	const runs = 20
	for _, test := range tests {
		for _, takes := range []time.Duration{20 * time.Millisecond, time.Second} {
			var lost int64
			for range runs {
				synctest.Test(t, func(t *testing.T) {
					lost += lostGets(&http.Client{Transport: &httpretry.Transport{
						Base:       tenASecond(takes),
						Slots:      backoff.NewSlots(test.slots),
						MaxRetries: test.retries,
					}}, 200)
				})
			}
			share := float64(lost) / runs / 200
			t.Logf("%d slots, MaxRetries %d, %v: %.2f %% lost", test.slots, test.retries, takes, 100*share)
			require.GreaterOrEqual(t, share, test.least)
			require.LessOrEqual(t, share, test.most)
		}
	}
}

// lostGets makes n requests at once, and returns how many ended with an error or another status than 200.
func lostGets(client *http.Client, n int) int64 {
	var lost atomic.Int64
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			resp, err := client.Get("http://localhost")
			if err != nil {
				lost.Add(1)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				lost.Add(1)
			}
		})
	}
	group.Wait()
	return lost.Load()
}

// tenASecond is an API that answers ten requests in each second after takes, and others immediately with a 429.
func tenASecond(takes time.Duration) baseFunc {
	var mu sync.Mutex
	var second time.Time
	inSecond := 0
	return func(*http.Request) (*http.Response, error) {
		mu.Lock()
		if time.Since(second) >= time.Second {
			second, inSecond = time.Now(), 0
		}
		inSecond++
		refused := inSecond > 10
		mu.Unlock()

		if refused {
			return status(429, "1"), nil
		}
		time.Sleep(takes)
		return status(200, ""), nil
	}
}

// A POST is repeated after what the page says, and no attempt is cut off.
func TestChoosingModel(t *testing.T) {
	transport := model.Transport.(*httpretry.Transport)
	for code, attempts := range map[int]int{
		200: 1, 400: 1, 404: 1, 501: 1,
		408: 5, 409: 5, 429: 5, 500: 5, 502: 5, 503: 5, 504: 5, 529: 5,
	} {
		synctest.Test(t, func(t *testing.T) {
			made := 0
			transport.Base = baseFunc(func(req *http.Request) (*http.Response, error) {
				made++
				time.Sleep(2 * time.Minute)
				return status(code, ""), req.Context().Err()
			})
			resp, err := model.Post("http://localhost", "", strings.NewReader("body"))
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, code, resp.StatusCode)
			require.Equal(t, attempts, made, code)
		})
	}
}
