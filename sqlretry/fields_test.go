//go:build go1.25

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// An attempt that takes too long before its COMMIT is repeated. Retryable is not asked.
func TestAttemptTimeout(t *testing.T) {
	hang := func(ctx context.Context, tx *sql.Tx) error {
		require.NoError(t, enter(ctx, tx))
		<-ctx.Done()
		return fmt.Errorf("statement: %w", ctx.Err())
	}
	late := func(ctx context.Context, tx *sql.Tx) error {
		require.NoError(t, enter(ctx, tx))
		<-ctx.Done()
		return nil // there is no time left for the COMMIT
	}
	permanent := func(ctx context.Context, tx *sql.Tx) error { return backoff.Permanent(hang(ctx, tx)) }
	rows := func(ctx context.Context, _ *sql.Tx) error { // which end with the transaction's own context
		<-ctx.Done()
		return fmt.Errorf("rows: %w", context.Canceled)
	}
	bare := func(ctx context.Context, _ *sql.Tx) error {
		<-ctx.Done()
		return context.Canceled
	}
	permanentRows := func(ctx context.Context, tx *sql.Tx) error { return backoff.Permanent(rows(ctx, tx)) }
	for _, test := range []struct {
		name    string
		timeout time.Duration
		f       func(ctx context.Context, tx *sql.Tx) error
		calls   int
		took    time.Duration
		says    error
	}{
		{"statement", 2 * time.Second, hang, 4, 8 * time.Second, context.DeadlineExceeded},
		{"rows", 2 * time.Second, rows, 4, 8 * time.Second, context.DeadlineExceeded},
		{"the transaction's context", 2 * time.Second, bare, 4, 8 * time.Second, context.DeadlineExceeded},
		{"before COMMIT", 2 * time.Second, late, 4, 8 * time.Second, context.DeadlineExceeded},
		{"zero", 0, hang, 4, 2 * time.Minute, context.DeadlineExceeded},
		{"none", -1, hang, 1, time.Hour, context.DeadlineExceeded},
		{"permanent", 2 * time.Second, permanent, 1, 2 * time.Second, context.DeadlineExceeded},
		{"permanent, rows", 2 * time.Second, permanentRows, 1, 2 * time.Second, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := new(database)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				calls := 0
				begun := time.Now()
				err := sqlretry.Do(ctx, open(t, d), sqlretry.Options{
					AttemptTimeout: test.timeout,
					Policy:         threeRetries,
					Retryable:      func(error) bool { panic("asked") },
				}, func(ctx context.Context, tx *sql.Tx) error {
					calls++
					return test.f(ctx, tx)
				})
				require.ErrorIs(t, err, test.says)
				require.Equal(t, test.says == context.Canceled, errors.Is(err, context.Canceled))
				require.Equal(t, strings.HasSuffix(test.name, "rows"), strings.Contains(err.Error(), "canceled"))
				require.Equal(t, strings.HasSuffix(test.name, "rows"), strings.Contains(err.Error(), "rows: "))
				require.Equal(t, test.calls, calls)
				require.Equal(t, test.took, time.Since(begun))
				synctest.Wait()
				require.Empty(t, d.committed())
			})
		})
	}
}

// When the time of an attempt is over, its transaction is rolled back although f goes on.
func TestAttemptTimeoutRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(database)
		o := sqlretry.Options{AttemptTimeout: time.Second, MaxAttempts: 1}
		err := sqlretry.Do(t.Context(), open(t, d), o, func(ctx context.Context, tx *sql.Tx) error {
			require.NoError(t, enter(ctx, tx))
			_, undone := d.ended()
			require.Zero(t, undone)
			time.Sleep(time.Minute)
			_, undone = d.ended()
			require.Equal(t, 1, undone)
			return nil
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, d.committed())
	})
}

// An attempt that took too long is repeated, whichever of the transaction's own context and f hears of its end first. Many
// functions that wait for the same end put a moment between the two.
func TestAttemptTimeoutRace(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			o := sqlretry.Options{AttemptTimeout: time.Second, Policy: threeRetries}
			err := sqlretry.Do(t.Context(), open(t, new(database)), o, func(ctx context.Context, tx *sql.Tx) error {
				for range 100 {
					context.AfterFunc(ctx, func() {})
				}
				<-ctx.Done()
				return fmt.Errorf("statement: %w", context.DeadlineExceeded)
			})
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
		})
	}
}

// firstLast is a context that ends the contexts made from it one by one, the last made first.
type firstLast struct {
	context.Context
	done     chan struct{}
	children []func()
}

func (c *firstLast) Done() <-chan struct{} { return c.done }

func (c *firstLast) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

func (c *firstLast) Value(any) any { return nil }

func (c *firstLast) AfterFunc(child func()) (stop func() bool) {
	c.children = append(c.children, child)
	return func() bool { return true }
}

// If the caller cancels, the transaction may end before the context that f received. The error says why it ended.
func TestCancelRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := &firstLast{Context: t.Context(), done: make(chan struct{})}
		err := sqlretry.Do(caller, open(t, new(database)), sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
			close(caller.done)
			caller.children[len(caller.children)-1]()
			synctest.Wait()
			require.NoError(t, ctx.Err())
			return enter(ctx, tx)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, sql.ErrTxDone)
	})
}

// An error of f that came when the time was over is there, but for a cancellation, which was this package's own.
func TestAttemptTimeoutError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := sqlretry.Options{AttemptTimeout: time.Second, MaxAttempts: 1}
		err := sqlretry.Do(t.Context(), open(t, new(database)), o, func(ctx context.Context, _ *sql.Tx) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w: %w", errRefused, stateError("57014"), context.Canceled)
		})
		require.EqualError(t, err, "context deadline exceeded: not enough money: SQLSTATE 57014: context canceled")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errRefused)
		var state stateError
		require.ErrorAs(t, err, &state)
		require.Equal(t, stateError("57014"), state)
		require.NotErrorIs(t, err, context.Canceled)
	})
}

// A call without a slot does not begin.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := backoff.NewSlots(1)
		db := open(t, new(database))
		done := make(chan struct{})
		o := sqlretry.Options{Slots: slots, AttemptTimeout: -1}
		go sqlretry.Do(t.Context(), db, o, func(context.Context, *sql.Tx) error {
			<-done
			return nil
		})
		synctest.Wait()
		require.Equal(t, 1, slots.InUse())

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		attempts := -1
		err := sqlretry.Do(ctx, db, sqlretry.Options{
			Slots: slots,
			Done:  func(_ context.Context, n int, _ error) { attempts = n },
		}, func(context.Context, *sql.Tx) error { panic("called") })
		require.ErrorIs(t, err, backoff.ErrNoSlot)
		require.Zero(t, attempts)
		require.Equal(t, 30*time.Second, time.Since(begun), "30 s are left for an attempt")

		close(done)
		synctest.Wait()
		require.Zero(t, slots.InUse())
	})
}

// The other fields have the meaning of a Retrier's.
func TestFields(t *testing.T) {
	for _, test := range []struct {
		name     string
		options  sqlretry.Options
		attempts int
		matches  error
	}{
		{"none", sqlretry.Options{}, 20, backoff.ErrRetriesExhausted},
		{"Policy", sqlretry.Options{Policy: threeRetries}, 4, nil},
		{"MaxAttempts", sqlretry.Options{MaxAttempts: 3}, 3, nil},
		{"no retries", sqlretry.Options{MaxAttempts: 1}, 1, nil},
		{"nil policy", sqlretry.Options{MaxAttempts: 8, Policy: func() backoff.BackOff { return nil }}, 8, nil},
		{"Budget", sqlretry.Options{MaxAttempts: 10, Budget: new(backoff.Budget)}, 6, backoff.ErrBudgetExhausted},
		{"Retryable", sqlretry.Options{Retryable: func(error) bool { return false }}, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notified []int
				attempts := 0
				test.options.Notify = func(_ context.Context, attempt int, err error, _ time.Duration) {
					require.Equal(t, stateError("40001"), err)
					notified = append(notified, attempt)
				}
				var ended error
				test.options.Done = func(_ context.Context, n int, err error) {
					attempts = n
					ended = err
				}
				err := sqlretry.Do(t.Context(), open(t, new(database)), test.options, func(context.Context, *sql.Tx) error {
					return stateError("40001")
				})
				require.ErrorIs(t, err, stateError("40001"))
				require.Equal(t, ended, err)
				if test.matches != nil {
					require.ErrorIs(t, err, test.matches)
				}
				require.Equal(t, test.attempts, attempts)
				require.Len(t, notified, attempts-1)
				for i, attempt := range notified {
					require.Equal(t, i+1, attempt)
				}
			})
		})
	}

	require.PanicsWithValue(t, "sqlretry: Do called with a nil db", func() {
		_ = sqlretry.Do(t.Context(), nil, sqlretry.Options{}, enter)
	})
	require.PanicsWithValue(t, "sqlretry: Do called with a nil f", func() {
		_ = sqlretry.Do(t.Context(), new(sql.DB), sqlretry.Options{}, nil)
	})
}

func TestMaxRetryAfter(t *testing.T) {
	for limit, matches := range map[time.Duration]error{0: backoff.ErrRetriesExhausted, time.Hour: nil, -1: nil} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := sqlretry.Do(t.Context(), open(t, new(database)), sqlretry.Options{MaxRetryAfter: limit}, func(context.Context, *sql.Tx) error {
				calls++
				if calls > 1 {
					return nil
				}
				return backoff.RetryAfter(stateError("40001"), time.Hour)
			})
			require.ErrorIs(t, err, matches)
		})
	}
}

// Without a Policy, the n-th wait is anything up to 10 ms × 2ⁿ⁻¹, or a second.
func TestDefaultPolicy(t *testing.T) {
	for name, policy := range map[string]func() backoff.BackOff{
		"nil":         nil,
		"returns nil": func() backoff.BackOff { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := open(t, new(database))
				waits := make([][]time.Duration, 19)
				for range 200 {
					err := sqlretry.Do(t.Context(), db, sqlretry.Options{
						Policy: policy,
						Notify: func(_ context.Context, attempt int, _ error, wait time.Duration) {
							waits[attempt-1] = append(waits[attempt-1], wait)
						},
					}, func(context.Context, *sql.Tx) error { return stateError("40001") })
					require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
				}
				for i, drawn := range waits {
					longest := min(10*time.Millisecond<<i, time.Second)
					require.Len(t, drawn, 200)
					require.Less(t, slices.Min(drawn), longest/5)
					require.Greater(t, slices.Max(drawn), longest*4/5)
					require.LessOrEqual(t, slices.Max(drawn), longest)
				}
			})
		})
	}
}
