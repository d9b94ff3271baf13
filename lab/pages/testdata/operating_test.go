package page

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"expvar"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
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
	do(t.Context(), "orders", 2, backoff.Retrier{MaxRetries: 1})

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

// count returns how many calls have ended so.
func count(outcome string) int64 {
	n, ok := operations.Get(outcome).(*expvar.Int)
	if !ok {
		return 0
	}
	return n.Value()
}

// Each way in which a call ends has its outcome.
func TestOutcomes(t *testing.T) {
	outcomes := []string{
		"succeeded", "succeeded_after_retry", "no_slot", "retries_exhausted", "budget_exhausted", "canceled",
		"deadline_exceeded", "refused",
	}
	before := map[string]int64{}
	for _, outcome := range outcomes {
		before[outcome] = count(outcome)
	}
	retriesBefore := retries.Value()

	synctest.Test(t, func(t *testing.T) {
		calls(t, func(_ string, r *backoff.Retrier) { counted(&r.Notify, &r.Done) })
		r := backoff.Retrier{MaxRetries: -1}
		counted(&r.Notify, &r.Done)
		require.NoError(t, r.Do(t.Context(), failing(0)))
		require.Error(t, r.Do(t.Context(), failing(1)))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, r.Do(ended, failing(0)))
	})

	for _, outcome := range outcomes {
		require.Equal(t, before[outcome]+1, count(outcome), outcome)
	}
	require.Equal(t, retriesBefore+2+1, retries.Value())
}

// A client makes a call that succeeds after a retry. Both functions of the page have changed its hooks, of which own
// were there before.
type client struct {
	name string
	call func(t *testing.T, own *own, logFirst bool)
}

// own counts the calls of hooks that a program has set by itself.
type own struct{ notified, done int }

func noWaits() backoff.BackOff { return &backoff.ZeroBackOff{} }

// both changes hooks by both functions of the page.
func both[C any](logFirst bool, notify *func(C, int, error, time.Duration), done *func(C, int, error)) {
	if logFirst {
		logged("it", notify, done)
		counted(notify, done)
		return
	}
	counted(notify, done)
	logged("it", notify, done)
}

var clients = []client{
	{"Retrier", func(t *testing.T, own *own, logFirst bool) {
		r := backoff.Retrier{
			Policy: noWaits,
			Notify: func(context.Context, int, error, time.Duration) { own.notified++ },
			Done:   func(context.Context, int, error) { own.done++ },
		}
		both(logFirst, &r.Notify, &r.Done)
		require.NoError(t, r.Do(t.Context(), failing(1)))
	}},
	{"sqlretry", func(t *testing.T, own *own, logFirst bool) {
		o := sqlretry.Options{
			Policy: noWaits,
			Notify: func(context.Context, int, error, time.Duration) { own.notified++ },
			Done:   func(context.Context, int, error) { own.done++ },
		}
		both(logFirst, &o.Notify, &o.Done)
		db := sql.OpenDB(emptyDB{})
		defer db.Close()
		attempts := 0
		require.NoError(t, sqlretry.Do(t.Context(), db, o, func(context.Context, *sql.Tx) error {
			attempts++
			if attempts == 1 {
				return conflict{}
			}
			return nil
		}))
	}},
	{"httpretry", func(t *testing.T, own *own, logFirst bool) {
		transport := &httpretry.Transport{
			Base:   new(busyOnce),
			Policy: noWaits,
			Notify: func(*http.Request, int, error, time.Duration) { own.notified++ },
			Done:   func(*http.Request, int, error) { own.done++ },
		}
		both(logFirst, &transport.Notify, &transport.Done)
		resp, err := (&http.Client{Transport: transport}).Get("http://localhost")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}},
	{"grpcretry", func(t *testing.T, own *own, logFirst bool) {
		o := grpcretry.Options{
			Idempotent: func(string) bool { return true },
			Policy:     noWaits,
			Notify:     func(context.Context, string, int, error, time.Duration) { own.notified++ },
			Done:       func(context.Context, string, int, error) { own.done++ },
		}
		var logs, counts backoff.Retrier
		logged("it", &logs.Notify, &logs.Done)
		counted(&counts.Notify, &counts.Done)
		if logFirst {
			addGRPC(&o, logs)
			addGRPC(&o, counts)
		} else {
			addGRPC(&o, counts)
			addGRPC(&o, logs)
		}
		invoke := new(busyOnce).invoke
		require.NoError(t, grpcretry.UnaryClientInterceptor(o)(t.Context(), "/service/method", nil, nil, nil, invoke))
	}},
}

// busyOnce is a service that is busy at its first call.
type busyOnce struct{ calls int }

func (b *busyOnce) RoundTrip(*http.Request) (*http.Response, error) {
	b.calls++
	if b.calls == 1 {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func (b *busyOnce) invoke(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	b.calls++
	if b.calls == 1 {
		return status.Error(codes.Unavailable, "busy")
	}
	return nil
}

// conflict is a database's error after which a transaction is repeated.
type conflict struct{}

func (conflict) Error() string    { return "conflict" }
func (conflict) SQLState() string { return "40001" }

// emptyDB is a database with transactions and nothing in them.
type emptyDB struct{ driver.Conn }

func (db emptyDB) Connect(context.Context) (driver.Conn, error) { return db, nil }
func (db emptyDB) Driver() driver.Driver                        { return nil }
func (db emptyDB) Begin() (driver.Tx, error)                    { return db, nil }
func (db emptyDB) Commit() error                                { return nil }
func (db emptyDB) Rollback() error                              { return nil }
func (db emptyDB) Close() error                                 { return nil }

// With both functions in either order, each client logs and counts, and calls the hooks that it had.
func TestBoth(t *testing.T) {
	for _, c := range clients {
		for _, logFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, ", log first: ", logFirst), func(t *testing.T) {
				var output bytes.Buffer
				logTo(&output)
				ended, retried := count("succeeded_after_retry"), retries.Value()
				var own own
				c.call(t, &own, logFirst)

				require.Equal(t, 1, own.notified)
				require.Equal(t, 1, own.done)
				require.Equal(t, retried+1, retries.Value())
				require.Equal(t, ended+1, count("succeeded_after_retry"))
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

// The switch ends calls that are running already.
func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := reports.Do(t.Context(), func(context.Context) error {
			attempts++
			retriesOff.Store(attempts == 2)
			return errors.New("busy")
		})
		require.EqualError(t, err, "busy")
		require.Equal(t, 2, attempts)
	})
}
