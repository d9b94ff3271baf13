//go:build go1.25

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

var errRefused = errors.New("not enough money")

func refuse(ctx context.Context, tx *sql.Tx) error { return errors.Join(errRefused, enter(ctx, tx)) }

func conflicts(ctx context.Context, tx *sql.Tx) error {
	return errors.Join(stateError("40001"), refuse(ctx, tx))
}

// A driver that hangs in a step for a minute does not keep Do, and what is left ends when it returns. The attempt's time
// does not end a COMMIT.
func TestHang(t *testing.T) {
	const hangs = time.Minute
	hang := func() { time.Sleep(hangs) }
	for _, test := range []struct {
		name      string
		database  *database
		f         func(ctx context.Context, tx *sql.Tx) error
		attempts  int
		unknown   bool
		committed int // in the end
	}{
		{"BEGIN", &database{beginning: hang}, enter, 4, false, 0},
		{"COMMIT", &database{during: hang}, enter, 1, true, 1},
		{"COMMIT, refused", &database{during: hang, rollback: true, commit: stateError("40001")}, enter, 1, true, 0},
		{"ROLLBACK", &database{undoing: hang}, refuse, 1, false, 0},
	} {
		for _, end := range []string{"AttemptTimeout", "deadline", "cancel"} {
			if test.unknown && end == "AttemptTimeout" {
				continue
			}
			t.Run(test.name+" "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := test.database
					d.done = nil
					d.begun = 0
					d.undone = 0
					db := open(t, d)
					ctx, cancel := context.WithCancelCause(t.Context())
					o := sqlretry.Options{
						AttemptTimeout: -1,
						Slots:          backoff.NewSlots(1),
						Policy:         threeRetries,
						Retryable:      func(err error) bool { return !errors.Is(err, errRefused) },
					}
					attempts, want := 1, error(nil)
					switch end {
					case "AttemptTimeout":
						o.AttemptTimeout = time.Second
						attempts = test.attempts
						want = context.DeadlineExceeded
					case "deadline":
						var stop context.CancelFunc
						ctx, stop = context.WithTimeout(ctx, time.Second)
						defer stop()
						want = context.DeadlineExceeded
					case "cancel":
						time.AfterFunc(time.Second, func() { cancel(errors.New("shutdown")) })
						want = context.Canceled
					}
					defer cancel(nil)
					got := -1
					o.Done = func(_ context.Context, attempts int, _ error) { got = attempts }

					begun := time.Now()
					err := sqlretry.Do(ctx, db, o, test.f)

					require.Equal(t, time.Duration(attempts)*time.Second, time.Since(begun))
					require.Equal(t, attempts, got)
					if test.name == "ROLLBACK" {
						require.ErrorIs(t, err, errRefused)
						require.NotErrorIs(t, err, want, "it was refused while the context lived")
					} else {
						require.ErrorIs(t, err, want)
					}
					require.Equal(t, test.unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown))
					require.Zero(t, o.Slots.InUse())
					require.Equal(t, attempts, db.Stats().InUse, "the driver still has them")

					time.Sleep(hangs)
					synctest.Wait()
					require.Zero(t, db.Stats().InUse)
					require.Len(t, d.committed(), test.committed)
					transactions, undone := d.ended()
					if !test.unknown {
						require.Equal(t, transactions, undone, "a late BEGIN is rolled back")
					}
				})
			})
		}
	}
}

// An answer that comes after a while is waited for.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := func() { time.Sleep(time.Second) }
		d := &database{beginning: second, during: second, undoing: second}
		calls := 0
		begun := time.Now()
		err := sqlretry.Do(t.Context(), open(t, d), sqlretry.Options{Policy: threeRetries}, func(ctx context.Context, tx *sql.Tx) error {
			calls++
			if calls == 1 {
				return stateError("40P01")
			}
			return enter(ctx, tx)
		})
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, time.Since(begun))
		require.Len(t, d.committed(), 1)
	})
}

// A COMMIT may take longer than an attempt, with a driver that ends it with the context of its BEGIN, too. It ends with
// the caller's context.
func TestSlowCommit(t *testing.T) {
	const takes = time.Minute
	for _, test := range []struct {
		name     string
		timeout  time.Duration // of an attempt
		deadline time.Duration
		refusals int // of the COMMIT, each of them a conflict
		took     time.Duration
		want     error
	}{
		{"done", time.Second, time.Hour, 0, takes, nil},
		{"done, no timeout", -1, time.Hour, 0, takes, nil},
		{"conflict", time.Second, time.Hour, 2, 3 * takes, nil},
		{"conflicts", time.Second, time.Hour, 9, 4 * takes, stateError("40001")},
		{"deadline", time.Second, 2 * time.Second, 0, 2 * time.Second, sqlretry.ErrOutcomeUnknown},
		{"deadline, no timeout", -1, 2 * time.Second, 0, 2 * time.Second, sqlretry.ErrOutcomeUnknown},
		{"deadline in the second attempt", time.Second, takes + 2*time.Second, 1, takes + 2*time.Second, sqlretry.ErrOutcomeUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{heeds: true}
				commits := 0
				d.during = func() {
					commits++
					d.commit = nil
					d.rollback = commits <= test.refusals
					if d.rollback {
						d.commit = stateError("40001")
					}
					time.Sleep(takes)
				}
				db := open(t, d)
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				o := sqlretry.Options{AttemptTimeout: test.timeout, Policy: threeRetries, Slots: backoff.NewSlots(1)}

				begun := time.Now()
				err := sqlretry.Do(ctx, db, o, enter)

				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.took, time.Since(begun))
				require.Equal(t, test.want == sqlretry.ErrOutcomeUnknown, errors.Is(err, context.DeadlineExceeded))
				require.Zero(t, o.Slots.InUse())
				time.Sleep(takes)
				require.Equal(t, err == nil, len(d.committed()) == 1)
			})
		})
	}
}

// If the time of an attempt ends in a BEGIN, the error says so, and not what the driver says of its own context. Which of
// them is seen first is chance.
func TestSlowBegin(t *testing.T) {
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			db := open(t, &database{heeds: true, beginning: func() { time.Sleep(time.Second) }})
			err := sqlretry.Do(t.Context(), db, sqlretry.Options{AttemptTimeout: time.Second, MaxAttempts: 1}, enter)
			require.NotErrorIs(t, err, context.Canceled)
		})
	}
}

// An error of f is judged by the context as it was when f returned, and not after a slow ROLLBACK.
func TestSlowRollback(t *testing.T) {
	for _, test := range []struct {
		name     string
		undoing  time.Duration
		deadline time.Duration
	}{
		{"attempt's end", 2 * time.Second, time.Hour},
		{"deadline", 2 * time.Second, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{undoing: func() { time.Sleep(test.undoing) }}
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				calls := 0
				err := sqlretry.Do(ctx, open(t, d), sqlretry.Options{AttemptTimeout: time.Second}, func(context.Context, *sql.Tx) error {
					calls++
					return errRefused
				})
				require.Equal(t, errRefused, err)
				require.Equal(t, 1, calls)
				time.Sleep(test.undoing)
			})
		})
	}
}

// A panic of the driver is an error, where the driver hangs too, and after f has panicked.
func TestDriverPanic(t *testing.T) {
	bug := func() { panic("driver's bug") }
	canceled := func(context.Context, *sql.Tx) error { return context.Canceled } // of a context of f's own
	wrapsCanceled := func(context.Context, *sql.Tx) error {
		return fmt.Errorf("%w: %w", errRefused, context.Canceled)
	}
	for _, test := range []struct {
		name     string
		database *database
		f        func(ctx context.Context, tx *sql.Tx) error
		unknown  bool
		want     error // f's
	}{
		{"BEGIN", &database{beginning: bug}, enter, false, nil},
		{"BEGIN, ends", &database{beginning: runtime.Goexit}, enter, false, nil},
		{"COMMIT", &database{during: bug}, enter, true, nil},
		{"COMMIT, ends", &database{during: runtime.Goexit}, enter, true, nil},
		{"ROLLBACK", &database{undoing: bug}, refuse, false, errRefused},
		{"ROLLBACK, ends", &database{undoing: runtime.Goexit}, refuse, false, errRefused},
		{"ROLLBACK after a conflict", &database{undoing: bug}, conflicts, false, errRefused},
		{"ROLLBACK after a cancellation", &database{undoing: bug}, canceled, false, context.Canceled},
		{"ROLLBACK after another error with a cancellation", &database{undoing: bug}, wrapsCanceled, false, errRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := sql.OpenDB(test.database) // which keeps the connection
			attempts := 0
			err := sqlretry.Do(t.Context(), db, sqlretry.Options{
				Policy:    threeRetries,
				Retryable: func(error) bool { panic("asked") },
				Done:      func(_ context.Context, n int, _ error) { attempts = n },
			}, test.f)
			require.Error(t, err)
			require.Equal(t, 1, attempts)
			require.Equal(t, 1, db.Stats().InUse, "lost to the pool")
			require.Equal(t, test.unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown))
			require.NotContains(t, err.Error(), "%!")
			require.Equal(t, test.want != nil, strings.Contains(err.Error(), "\nROLLBACK: the driver "))
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			}
			if strings.HasSuffix(test.name, "ends") {
				require.Contains(t, err.Error(), "the driver ended its goroutine")
			} else {
				require.Contains(t, err.Error(), "the driver panicked: driver's bug\ngoroutine ")
			}
		})
	}

	t.Run("after f's", func(t *testing.T) {
		db := sql.OpenDB(&database{undoing: bug})
		require.PanicsWithValue(t, "f's bug", func() {
			sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(context.Context, *sql.Tx) error { panic("f's bug") })
		})
	})

	t.Run("late", func(t *testing.T) {
		for _, d := range []*database{
			{beginning: func() { time.Sleep(time.Minute); bug() }},
			{during: func() { time.Sleep(time.Minute); bug() }},
			{undoing: func() { time.Sleep(time.Minute); bug() }},
		} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				db := sql.OpenDB(d)
				f := enter
				if d.during == nil {
					f = refuse
				}
				require.Error(t, sqlretry.Do(ctx, db, sqlretry.Options{}, f))
				time.Sleep(time.Hour)
				require.NoError(t, db.Close())
			})
		}
	})
}

// A panic of f goes on although the ROLLBACK hangs.
func TestPanicHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{undoing: func() { time.Sleep(time.Minute) }}
		db := open(t, d)
		begun := time.Now()
		require.PanicsWithValue(t, "bug", func() {
			sqlretry.Do(t.Context(), db, sqlretry.Options{AttemptTimeout: time.Second},
				func(context.Context, *sql.Tx) error { panic("bug") })
		})
		require.Equal(t, time.Second, time.Since(begun))
		time.Sleep(time.Minute)
	})
}
