package page

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

// failing returns an operation that fails so many times.
func failing(times int) func(context.Context) error {
	return func(context.Context) error {
		times--
		if times < 0 {
			return nil
		}
		return errors.New("connection refused")
	}
}

// calls makes a call for each way in which one can end.
func calls(t *testing.T, with func(service string, r *backoff.Retrier)) {
	random := rand.New(rand.NewPCG(1, 4)) // so that the output is the same each time
	do := func(ctx context.Context, service string, failures int, r backoff.Retrier) {
		r.AttemptTimeout = 2 * time.Second
		r.Policy = func() backoff.BackOff { return backoff.NewExponentialBackOff(backoff.WithRand(random)) }
		with(service, &r)
		_ = r.Do(ctx, failing(failures))
	}
	do(t.Context(), "users", 2, backoff.Retrier{})
	do(t.Context(), "orders", 2, backoff.Retrier{MaxAttempts: 2})

	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	do(soon, "mail", 4, backoff.Retrier{})
	do(t.Context(), "payments", 4, backoff.Retrier{Budget: &backoff.Budget{Capacity: -1}})

	taken := backoff.NewSlots(1)
	require.NoError(t, taken.Acquire(t.Context(), 0))
	later, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	do(later, "search", 0, backoff.Retrier{Slots: taken})
}

// logTo lets the program's log go to output.
func logTo(output *bytes.Buffer) {
	slog.SetDefault(slog.New(slog.NewTextHandler(output, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.StringValue(a.Value.Time().UTC().Format("15:04:05.000"))
			}
			return a
		},
	})))
}

// The page shows lines that logged logs.
func TestLog(t *testing.T) {
	var output bytes.Buffer
	logTo(&output)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(9 * time.Hour)
		calls(t, func(service string, r *backoff.Retrier) { logged(service, &r.Notify, &r.Done) })
	})

	page, err := os.ReadFile("page.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "```text\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	for line := range strings.Lines(shown) {
		require.Contains(t, output.String(), line)
	}
}

// Each way in which a call ends has its outcome.
func TestOutcomes(t *testing.T) {
	operations.Init()
	retries.Set(0)
	synctest.Test(t, func(t *testing.T) {
		calls(t, func(_ string, r *backoff.Retrier) { counted(&r.Notify, &r.Done) })
		r := backoff.Retrier{MaxAttempts: 1}
		counted(&r.Notify, &r.Done)
		require.NoError(t, r.Do(t.Context(), failing(0)))
		require.Error(t, r.Do(t.Context(), failing(1)))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, r.Do(ended, failing(0)))
		throttled(t)
	})

	require.EqualValues(t, 2+1+3+1, retries.Value())
	require.JSONEq(t, `{
		"succeeded": 1, "succeeded_after_retry": 1, "no_slot": 1, "retries_exhausted": 1, "budget_exhausted": 1,
		"canceled": 2, "deadline_exceeded": 1, "refused": 1, "server_wait": 3
	}`, operations.String())
}

// throttled makes calls to a service that asks for a wait: one for which the wait is too long, one for which it would
// end too late, one that has no more attempts, and one that is cancelled in the wait.
func throttled(t *testing.T) {
	ask := func(wait time.Duration) func(context.Context) error {
		return func(context.Context) error { return backoff.RetryAfter(errors.New("429 Too Many Requests"), wait) }
	}
	var r backoff.Retrier
	counted(&r.Notify, &r.Done)
	require.ErrorIs(t, r.Do(t.Context(), ask(time.Hour)), backoff.ErrRetriesExhausted)

	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.ErrorIs(t, r.Do(soon, ask(30*time.Second)), context.DeadlineExceeded)

	require.ErrorIs(t, r.Do(t.Context(), ask(time.Second)), backoff.ErrRetriesExhausted)

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	require.ErrorIs(t, r.Do(ctx, ask(30*time.Second)), context.Canceled)
}

func noWaits() backoff.BackOff { return &backoff.ZeroBackOff{} }

// own counts the calls of hooks that a program has set by itself.
type own struct{ notified, done int }

// change has both functions of the page change hooks, of which own were there before.
func change[C any](own *own, logFirst bool, notify *func(C, int, error, time.Duration), done *func(C, int, error)) {
	*notify = func(C, int, error, time.Duration) { own.notified++ }
	*done = func(C, int, error) { own.done++ }
	if logFirst {
		logged("it", notify, done)
	}
	counted(notify, done)
	if !logFirst {
		logged("it", notify, done)
	}
}

// clients make a call that succeeds after a retry, with hooks that change has made.
var clients = map[string]func(t *testing.T, own *own, logFirst bool) error{
	"Retrier": func(t *testing.T, own *own, logFirst bool) error {
		r := backoff.Retrier{Policy: noWaits}
		change(own, logFirst, &r.Notify, &r.Done)
		return r.Do(t.Context(), failing(1))
	},
	"sqlretry": func(t *testing.T, own *own, logFirst bool) error {
		o := sqlretry.Options{Policy: noWaits}
		change(own, logFirst, &o.Notify, &o.Done)
		db := sql.OpenDB(new(memory))
		defer db.Close()
		attempt := failing(1)
		return sqlretry.Do(t.Context(), db, o, func(ctx context.Context, _ *sql.Tx) error {
			if attempt(ctx) != nil {
				return conflict
			}
			return nil
		})
	},
	"httpretry": func(t *testing.T, own *own, logFirst bool) error {
		attempt := failing(1)
		transport := &httpretry.Transport{Policy: noWaits, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			if attempt(req.Context()) != nil {
				return answer(503, ""), nil
			}
			return answer(200, ""), nil
		})}
		change(own, logFirst, &transport.Notify, &transport.Done)
		_, err := (&http.Client{Transport: transport}).Get("http://localhost")
		return err
	},
	"grpcretry": func(t *testing.T, own *own, logFirst bool) error {
		var first, second backoff.Retrier
		counted(&first.Notify, &first.Done)
		logged("it", &second.Notify, &second.Done)
		if logFirst {
			first, second = second, first
		}
		o := grpcretry.Options{
			Idempotent: func(string) bool { return true },
			Policy:     noWaits,
			Notify:     func(context.Context, string, int, error, time.Duration) { own.notified++ },
			Done:       func(context.Context, string, int, error) { own.done++ },
		}
		addGRPC(&o, first)
		addGRPC(&o, second)
		attempt := failing(1)
		invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			if attempt(ctx) != nil {
				return status.Error(codes.Unavailable, "busy")
			}
			return nil
		}
		return grpcretry.UnaryClientInterceptor(o)(t.Context(), "/service/method", nil, nil, nil, invoke)
	},
}

// With both functions in either order, each client logs and counts, and calls the hooks that it had.
func TestBoth(t *testing.T) {
	for name, call := range clients {
		for _, logFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", log first: ", logFirst), func(t *testing.T) {
				var output bytes.Buffer
				logTo(&output)
				operations.Init()
				retries.Set(0)
				var own own
				require.NoError(t, call(t, &own, logFirst))

				require.Equal(t, 1, own.notified)
				require.Equal(t, 1, own.done)
				require.EqualValues(t, 1, retries.Value())
				require.JSONEq(t, `{"succeeded_after_retry": 1}`, operations.String())
				require.Equal(t, 1, strings.Count(output.String(), "msg=retrying"), output.String())
				require.Equal(t, 1, strings.Count(output.String(), `msg="succeeded after retries"`), output.String())
			})
		}
	}
}

// The functions work without hooks that were there before, too.
func TestNoHooks(t *testing.T) {
	var users backoff.Retrier
	var orders sqlretry.Options
	var web httpretry.Transport
	observe(&users, &orders, &web)
	var rpc grpcretry.Options
	addGRPC(&rpc, users)
	rpc.Done(t.Context(), "/service/method", 1, nil)
	rpc.Notify(t.Context(), "/service/method", 1, errors.New("busy"), 0)

	users.Policy = noWaits
	require.NoError(t, users.Do(t.Context(), failing(1)))
	require.NotNil(t, web.Done)
	require.NotNil(t, orders.Done)
}

// The switch ends calls that are running already, each client heeds it, and a failure stays one.
func TestSwitch(t *testing.T) {
	defer retriesOff.Store(false)
	turn := func(off bool) { setRetries(nil, httptest.NewRequest("POST", fmt.Sprint("/retries?off=", off), nil)) }
	attempts := 0
	fail := func(context.Context) error {
		attempts++
		if attempts == 2 {
			turn(true)
		}
		return errors.New("busy")
	}
	web.Base = roundTrip(func(req *http.Request) (*http.Response, error) {
		_ = fail(req.Context())
		return answer(503, ""), nil
	})
	var failure error
	web.Done = func(_ *http.Request, _ int, err error) { failure = err }
	db := sql.OpenDB(new(memory))
	defer db.Close()

	ways := map[string]func(ctx context.Context) error{
		"Retrier": func(ctx context.Context) error { return reports.Do(ctx, fail) },
		"httpretry": func(context.Context) error {
			resp, err := (&http.Client{Transport: web}).Get("http://localhost")
			require.NoError(t, err)
			require.Equal(t, 503, resp.StatusCode)
			return failure
		},
		"sqlretry, after a timeout": func(ctx context.Context) error {
			return sqlretry.Do(ctx, db, renames, func(ctx context.Context, _ *sql.Tx) error {
				<-ctx.Done()
				return fail(ctx)
			})
		},
		"grpcretry": func(ctx context.Context) error {
			o := grpcretry.Options{Idempotent: func(string) bool { return true }, Policy: switchable}
			invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				return status.Error(codes.Unavailable, fail(ctx).Error())
			}
			return grpcretry.UnaryClientInterceptor(o)(ctx, "/service/method", nil, nil, nil, invoke)
		},
	}
	for name, way := range ways {
		synctest.Test(t, func(t *testing.T) {
			turn(false)
			attempts = 0
			require.ErrorIs(t, way(t.Context()), backoff.ErrRetriesExhausted, name)
			require.Equal(t, 2, attempts, "%s: the call that was running", name)
			require.ErrorIs(t, way(t.Context()), backoff.ErrRetriesExhausted, name)
			require.Equal(t, 2+1, attempts, "%s: the next call", name)
			turn(false)
			require.ErrorIs(t, way(t.Context()), backoff.ErrRetriesExhausted, name)
			require.Greater(t, attempts, 2+1+1, "%s: on again", name)
		})
	}

	turn(false)
	attempts = 0
	err := backoff.Retry(func() error { return fail(t.Context()) }, switched{&backoff.ZeroBackOff{}})
	require.EqualError(t, err, "busy")
	require.Equal(t, 2, attempts)
}

// A call that waits when the switch is turned makes one more attempt.
func TestSwitchInWait(t *testing.T) {
	defer retriesOff.Store(false)
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		time.AfterFunc(time.Second/10, func() { retriesOff.Store(true) })
		err := reports.Do(t.Context(), func(context.Context) error {
			attempts++
			return errors.New("busy")
		})
		require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
		require.Equal(t, 2, attempts)
		require.Equal(t, "retries_exhausted", outcome(attempts, err))
	})
}

// A body that breaks is counted where it is read.
func TestBrokenBody(t *testing.T) {
	resp := answer(200, "hello")
	body, err := readBody(resp)
	require.NoError(t, err)
	require.Equal(t, "hello", string(body))
	require.Zero(t, brokenBodies.Value())

	resp.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err = readBody(resp)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualValues(t, 1, brokenBodies.Value())
}
