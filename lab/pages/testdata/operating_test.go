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
func calls(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4)) // so that the output is the same each time
	do := func(ctx context.Context, service string, failures int, r backoff.Retrier) {
		r.AttemptTimeout = 2 * time.Second
		r.Policy = func() backoff.BackOff { return backoff.NewExponentialBackOff(backoff.WithRand(random)) }
		observe(service, &r.Notify, &r.Done)
		_ = r.Do(ctx, failing(failures))
	}
	do(t.Context(), "users", 2, backoff.Retrier{})
	do(t.Context(), "orders", 2, backoff.Retrier{MaxAttempts: 2})

	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	do(soon, "mail", 4, backoff.Retrier{})
	do(t.Context(), "payments", 4, backoff.Retrier{Budget: &backoff.Budget{Capacity: -1}})
	do(t.Context(), "search", 0, backoff.Retrier{})
	do(t.Context(), "search", 4, backoff.Retrier{MaxAttempts: 1})

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	do(ended, "search", 0, backoff.Retrier{})

	full := backoff.NewSlots(1)
	taken := make(chan struct{})
	holder := backoff.Retrier{Slots: full}
	go holder.Do(t.Context(), func(context.Context) error { <-taken; return nil })
	synctest.Wait()
	later, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	do(later, "search", 0, backoff.Retrier{Slots: full})
	close(taken)
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

// The page shows lines that observe logs.
func TestLog(t *testing.T) {
	var output bytes.Buffer
	logTo(&output)
	synctest.Test(t, calls)

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
	retries.Init()
	synctest.Test(t, calls)

	require.JSONEq(t, `{"users": 2, "orders": 1}`, retries.String())
	require.JSONEq(t, `{
		"users succeeded_after_retry": 1, "orders retries_exhausted": 1, "mail deadline_exceeded": 1,
		"payments budget_exhausted": 1, "search succeeded": 1, "search refused": 1, "search canceled": 1, "search no_slot": 1
	}`, operations.String())
}

// A service asks for a wait: for one that is too long, for one that would end too late, and without an attempt left. None
// is taken for retries that did not help. A call that is cancelled in the wait is taken for nothing else.
func TestServerWait(t *testing.T) {
	ask := func(wait time.Duration) func(context.Context) error {
		return func(context.Context) error { return backoff.RetryAfter(errors.New("429 Too Many Requests"), wait) }
	}
	operations.Init()
	synctest.Test(t, func(t *testing.T) {
		var r backoff.Retrier
		observe("limited", &r.Notify, &r.Done)
		require.ErrorIs(t, r.Do(t.Context(), ask(time.Hour)), backoff.ErrRetriesExhausted)

		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.ErrorIs(t, r.Do(soon, ask(30*time.Second)), context.DeadlineExceeded)

		require.ErrorIs(t, r.Do(t.Context(), ask(time.Second)), backoff.ErrRetriesExhausted)
		require.JSONEq(t, `{"limited server_wait": 3}`, operations.String())

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, r.Do(ctx, ask(30*time.Second)), context.Canceled)
		require.JSONEq(t, `{"limited server_wait": 3, "limited canceled": 1}`, operations.String())
	})
}

func noWaits() backoff.BackOff { return &backoff.ZeroBackOff{} }

// clients make a call that succeeds after a retry, with hooks of the page.
var clients = map[string]func(t *testing.T) error{
	"Retrier": func(t *testing.T) error {
		r := backoff.Retrier{Policy: noWaits}
		observe("it", &r.Notify, &r.Done)
		return r.Do(t.Context(), failing(1))
	},
	"sqlretry": func(t *testing.T) error {
		o := sqlretry.Options{Policy: noWaits}
		observe("it", &o.Notify, &o.Done)
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
	"httpretry": func(t *testing.T) error {
		attempt := failing(1)
		transport := &httpretry.Transport{Policy: noWaits, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			if attempt(req.Context()) != nil {
				return answer(503, ""), nil
			}
			return answer(200, ""), nil
		})}
		observe("it", &transport.Notify, &transport.Done)
		_, err := (&http.Client{Transport: transport}).Get("http://localhost")
		return err
	},
	"grpcretry": func(t *testing.T) error {
		o := grpcretry.Options{Idempotent: func(string) bool { return true }, Policy: noWaits}
		observeGRPC("it", &o)
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

// Each client logs and counts.
func TestClients(t *testing.T) {
	for name, call := range clients {
		t.Run(name, func(t *testing.T) {
			var output bytes.Buffer
			logTo(&output)
			operations.Init()
			retries.Init()
			require.NoError(t, call(t))

			require.JSONEq(t, `{"it": 1}`, retries.String())
			require.JSONEq(t, `{"it succeeded_after_retry": 1}`, operations.String())
			require.Equal(t, 1, strings.Count(output.String(), "msg=retrying"), output.String())
			require.Equal(t, 1, strings.Count(output.String(), `msg="succeeded after retries"`), output.String())
		})
	}
}

// The switch ends calls that are running already, each client heeds it, and a failure stays one.
func TestSwitch(t *testing.T) {
	defer retriesOff.Store(false)
	request := func(method, query string) int {
		answer := httptest.NewRecorder()
		setRetries(answer, httptest.NewRequest(method, "/retries"+query, nil))
		return answer.Code
	}
	turn := func(off bool) { require.Equal(t, 200, request("POST", fmt.Sprint("?off=", off))) }
	attempts := 0
	fail := func(context.Context) error {
		attempts++
		if attempts == 2 {
			turn(true)
		}
		return errors.New("busy")
	}
	var failure error
	web := &httpretry.Transport{
		Policy: switchable,
		Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			_ = fail(req.Context())
			return answer(503, ""), nil
		}),
		Done: func(_ *http.Request, _ int, err error) { failure = err },
	}
	db := sql.OpenDB(new(memory))
	defer db.Close()

	turn(true)
	for _, query := range []string{"", "?off=", "?off=maybe"} {
		require.Equal(t, 400, request("POST", query))
	}
	require.Equal(t, 400, request("GET", "?off=false"))
	require.True(t, retriesOff.Load())
	turn(false)

	ways := map[string]func(ctx context.Context) error{
		"Retrier": func(ctx context.Context) error { return reports.Do(ctx, fail) },
		"httpretry": func(context.Context) error {
			resp, err := (&http.Client{Transport: web}).Get("http://localhost")
			require.NoError(t, err)
			require.Equal(t, 503, resp.StatusCode)
			return failure
		},
		"sqlretry, after a timeout": func(ctx context.Context) error {
			o := sqlretry.Options{AttemptTimeout: 2 * time.Second, Policy: switchableSQL}
			return sqlretry.Do(ctx, db, o, func(ctx context.Context, _ *sql.Tx) error {
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

// A status that httpretry takes for a success is counted where the body is read, and so is a body that breaks.
func TestResponses(t *testing.T) {
	operations.Init()
	for _, status := range []int{200, 401, 404, 501} {
		transport := &httpretry.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(status, "hello"), nil
		})}
		observe("web", &transport.Notify, &transport.Done)
		resp, err := (&http.Client{Transport: transport}).Get("http://localhost")
		require.NoError(t, err)
		body, err := readBody(resp)
		require.NoError(t, err)
		require.Equal(t, "hello", string(body))
	}
	require.JSONEq(t, `{"web succeeded": 4}`, operations.String())
	require.JSONEq(t, `{"200": 1, "401": 1, "404": 1, "501": 1}`, responses.String())
	require.Zero(t, brokenBodies.Value())

	resp := answer(200, "")
	resp.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err := readBody(resp)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualValues(t, 1, brokenBodies.Value())
}

// A response that asks for an hour is no retry that did not help, though httpretry returns it after one attempt.
func TestServerWaitHTTP(t *testing.T) {
	operations.Init()
	transport := &httpretry.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
		resp := answer(429, "")
		resp.Header.Set("Retry-After", "3600")
		return resp, nil
	})}
	observe("web", &transport.Notify, &transport.Done)
	resp, err := (&http.Client{Transport: transport}).Get("http://localhost")
	require.NoError(t, err)
	require.Equal(t, 429, resp.StatusCode)
	require.JSONEq(t, `{"web server_wait": 1}`, operations.String())
}

// The log of a client that is observed must not go through that client.
func TestLogLoop(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	lines := 0
	var logs backoff.Retrier
	logs.Policy = noWaits
	observe("logs", &logs.Notify, &logs.Done)
	slog.SetDefault(slog.New(sending(func() error {
		lines++
		if lines == 1000 {
			panic("no end")
		}
		return logs.Do(t.Context(), failing(4))
	})))
	require.PanicsWithValue(t, "no end", func() { _ = logs.Do(t.Context(), failing(4)) })
}

// sending is a log handler that sends each line.
type sending func() error

func (s sending) Enabled(context.Context, slog.Level) bool  { return true }
func (s sending) Handle(context.Context, slog.Record) error { return s() }
func (s sending) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s sending) WithGroup(string) slog.Handler             { return s }
