//go:build go1.25

package backoff_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// every returns a function that makes a policy with these waits for each call.
func every(ds ...time.Duration) func() backoff.BackOff {
	return func() backoff.BackOff { return waits(ds...) }
}

// journal notes what a Retrier says of its calls, and is a part of it.
type journal struct{ entries []string }

func (j *journal) notify(_ context.Context, attempt int, err error, wait time.Duration) {
	j.entries = append(j.entries, fmt.Sprintf("attempt %d: %v; %v", attempt, err, wait))
}

func (j *journal) done(_ context.Context, attempts int, err error) {
	j.entries = append(j.entries, fmt.Sprintf("done after %d: %v", attempts, err))
}

// last returns the newest entry.
func (j *journal) last() string { return j.entries[len(j.entries)-1] }

// returning returns an operation for Do that returns errs one after the other, then the last one again.
func returning(errs ...error) func(context.Context) error {
	operation, _ := results(errs...)
	return func(context.Context) error { return operation() }
}

func unexpected(context.Context) error { panic("op was called") }

// The waits, the errors and the numbers are those of Retry.
func TestRetrier(t *testing.T) {
	marked := fmt.Errorf("outer: %w", backoff.Permanent(errFailed))
	later := backoff.RetryAfter(errFailed, time.Minute)
	for name, test := range map[string]struct {
		errs  []error
		want  string
		took  time.Duration
		notes []string
	}{
		"success": {[]error{nil}, "", 0, []string{"done after 1: <nil>"}},
		"retries": {[]error{errFailed, errFailed, nil}, "", 3 * time.Second, []string{
			"attempt 1: failed; 1s", "attempt 2: failed; 2s", "done after 3: <nil>",
		}},
		"policy stops": {[]error{errFailed}, "retries exhausted: failed", 3 * time.Second, []string{
			"attempt 1: failed; 1s", "attempt 2: failed; 2s", "done after 3: retries exhausted: failed",
		}},
		"permanent": {[]error{errFailed, marked}, "outer: failed", time.Second, []string{
			"attempt 1: failed; 1s", "done after 2: outer: failed",
		}},
		"server's wait": {[]error{later, nil}, "", time.Minute, []string{
			"attempt 1: failed (retry after 1m0s); 1m0s", "done after 2: <nil>",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes journal
				r := &backoff.Retrier{Policy: every(time.Second, 2*time.Second), Notify: notes.notify, Done: notes.done}
				start := time.Now()
				err := r.Do(t.Context(), returning(test.errs...))
				require.Equal(t, test.took, time.Since(start))
				require.Equal(t, test.notes, notes.entries)
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
				require.ErrorIs(t, err, errFailed)
				requireUnmarked(t, err)
			})
		})
	}
}

func TestRetrierZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r backoff.Retrier
		var starts []time.Duration
		start := time.Now()
		err := r.Do(t.Context(), func(ctx context.Context) error {
			starts = append(starts, time.Since(start))
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
		require.ErrorIs(t, err, context.DeadlineExceeded, "that of the last attempt")
		require.Len(t, starts, 4)
		interval := float64(backoff.DefaultInitialInterval)
		for n := range 3 {
			wait := starts[n+1] - starts[n] - 30*time.Second
			require.InDelta(t, interval, float64(wait), interval/2)
			interval *= backoff.DefaultMultiplier
		}
		require.Equal(t, starts[3]+30*time.Second, time.Since(start))
		require.Equal(t, backoff.Retrier{}, r)
	})
}

// MaxAttempts counts whatever the policy is. A call that makes no retries ends with its own error.
func TestRetrierMaxAttempts(t *testing.T) {
	five := every(1, 1, 1, 1, 1)
	none := func() backoff.BackOff { return nil }
	for _, test := range []struct {
		maxAttempts int
		policy      func() backoff.BackOff
		attempts    int
	}{
		{1, nil, 1},
		{0, nil, 4},
		{2, nil, 2},
		{8, nil, 8},
		{1, none, 1},
		{0, none, 4},
		{8, none, 8},
		{1, five, 1},
		{0, five, 4},
		{2, five, 2},
		{8, five, 6},
		{-1, five, 6},
		{math.MinInt, five, 6},
		{math.MaxInt, five, 6},
		{0, every(), 1},
		{-1, every(), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var notes journal
			r := &backoff.Retrier{MaxAttempts: test.maxAttempts, Policy: test.policy, Done: notes.done}
			err := r.Do(t.Context(), returning(errFailed))
			require.Equal(t, fmt.Sprintf("done after %d: %v", test.attempts, err), notes.last(), "%+v", test)
			if test.maxAttempts == 1 {
				require.Same(t, errFailed, err)
				return
			}
			require.ErrorIs(t, err, errFailed)
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
		})
	}
}

// A negative MaxAttempts without a policy has no limit of its own: ctx ends the call.
func TestRetrierNoLimit(t *testing.T) {
	for _, limit := range []int{-1, math.MinInt} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			var notes journal
			r := &backoff.Retrier{MaxAttempts: limit, Done: notes.done}
			err := r.Do(ctx, returning(errFailed))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.Greater(t, time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), 23*time.Hour)
		})
	}
}

// An attempt has all its time, however long its call has stood in line, and however long Policy takes.
func TestRetrierAttemptBegins(t *testing.T) {
	for name, slow := range map[string]func(r *backoff.Retrier){
		"line": func(r *backoff.Retrier) {
			r.Slots = backoff.NewSlots(1)
			go func() {
				_ = r.Do(context.Background(), func(context.Context) error {
					time.Sleep(2 * time.Second)
					return nil
				})
			}()
		},
		"Policy": func(r *backoff.Retrier) {
			r.Policy = func() backoff.BackOff {
				time.Sleep(2 * time.Second)
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &backoff.Retrier{AttemptTimeout: time.Second}
				slow(r)
				synctest.Wait()
				require.NoError(t, r.Do(t.Context(), func(ctx context.Context) error {
					deadline, ok := ctx.Deadline()
					require.True(t, ok)
					require.Equal(t, time.Second, time.Until(deadline))
					return nil
				}))
			})
		})
	}
}

// Each call has a policy of its own, which is reset.
func TestRetrierPolicy(t *testing.T) {
	var made []*scripted
	r := &backoff.Retrier{Policy: func() backoff.BackOff {
		made = append(made, waits(0, 0))
		return made[len(made)-1]
	}}
	for n := range 3 {
		require.ErrorIs(t, r.Do(context.Background(), returning(errFailed)), errFailed)
		require.Len(t, made, n+1)
		require.Equal(t, 1, made[n].resets)
	}
}

// Without a Policy, the waits fit what an attempt may take: three retries have their time, however short the deadline is.
func TestRetrierDefaultWaits(t *testing.T) {
	for _, test := range []struct {
		timeout, deadline, first time.Duration // a deadline of zero is an hour
	}{
		{0, 0, 500 * time.Millisecond},
		{-1, 0, 500 * time.Millisecond},
		{time.Second, 0, 500 * time.Millisecond},
		{600 * time.Millisecond, 0, 300 * time.Millisecond},
		{time.Minute, 400 * time.Millisecond, 200 * time.Millisecond},
		{-1, 400 * time.Millisecond, 200 * time.Millisecond},
		{100 * time.Millisecond, 5 * time.Second, 50 * time.Millisecond},
		{1, 0, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var shortest, longest time.Duration = math.MaxInt64, 0
			r := &backoff.Retrier{AttemptTimeout: test.timeout, MaxAttempts: 2}
			r.Notify = func(_ context.Context, _ int, _ error, wait time.Duration) {
				shortest = min(shortest, wait)
				longest = max(longest, wait)
			}
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.deadline, time.Hour))
				_ = r.Do(ctx, always(errFailed))
				cancel()
			}
			require.GreaterOrEqual(t, shortest, test.first/2)
			require.LessOrEqual(t, longest, test.first*3/2)
		})
	}
}

// attempts returns how many attempts a call makes on average, if a third of its deadline is for each.
func attempts(t *testing.T, deadline time.Duration, op func(context.Context) error) float64 {
	t.Helper()
	const calls = 300
	var n atomic.Int64
	r := &backoff.Retrier{AttemptTimeout: deadline / 3}
	for range calls {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		_ = r.Do(ctx, func(ctx context.Context) error {
			n.Add(1)
			return op(ctx)
		})
		cancel()
	}
	return float64(n.Load()) / calls
}

func TestRetrierShortDeadlines(t *testing.T) {
	for _, deadline := range []time.Duration{100, 200, 300, 500, 1000, 2000, 5000} {
		synctest.Test(t, func(t *testing.T) {
			deadline *= time.Millisecond
			refused := attempts(t, deadline, always(errFailed))
			hung := attempts(t, deadline, hang)
			t.Logf("%v: %.2f attempts if refused, %.2f if hanging", deadline, refused, hung)
			require.GreaterOrEqual(t, refused, 3.5)
			require.GreaterOrEqual(t, hung, 2.0)
		})
	}
}

// The default policy has no limit of time: the number of retries is the limit, however long the attempts take.
func TestRetrierNoTimeLimit(t *testing.T) {
	for _, policy := range []func() backoff.BackOff{nil, func() backoff.BackOff { return nil }} {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			r := &backoff.Retrier{AttemptTimeout: time.Hour, Policy: policy}
			require.ErrorIs(t, r.Do(t.Context(), func(ctx context.Context) error {
				attempts++
				<-ctx.Done()
				return ctx.Err()
			}), backoff.ErrRetriesExhausted)
			require.Equal(t, 4, attempts)
		})
	}
}

// A Policy is called before the first attempt: its limit of time begins with the call.
func TestRetrierPolicyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &backoff.Retrier{Policy: func() backoff.BackOff {
			return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute))
		}}
		attempts := 0
		err := r.Do(t.Context(), func(context.Context) error {
			attempts++
			time.Sleep(time.Minute)
			return io.EOF
		})
		require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
		require.Equal(t, 1, attempts)
	})
}

// A policy that ends the context: nothing is paid, Notify is not called, and there is no further attempt.
func TestRetrierPolicyCancels(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &backoff.Retrier{
		Policy: func() backoff.BackOff { return asking(func() time.Duration { cancel(); return 0 }) },
		Budget: new(backoff.Budget),
		Notify: func(context.Context, int, error, time.Duration) { t.Error("Notify was called") },
		Done:   func(_ context.Context, attempts int, _ error) { require.Equal(t, 1, attempts) },
	}
	err := r.Do(ctx, returning(errFailed))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, 25, r.Budget.Tokens())
}

// If the context ends while Policy runs, or Reset, there is no attempt.
func TestRetrierPolicySlow(t *testing.T) {
	for name, policy := range map[string]func(slow func()) backoff.BackOff{
		"Policy": func(slow func()) backoff.BackOff { slow(); return nil },
		"Reset":  func(slow func()) backoff.BackOff { return resetting(slow) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errCause)
				defer cancel()
				var notes journal
				r := &backoff.Retrier{
					Slots:  new(backoff.Slots),
					Policy: func() backoff.BackOff { return policy(func() { <-ctx.Done() }) },
					Done:   notes.done,
				}
				err := r.Do(ctx, returning(errFailed))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errCause)
				require.Equal(t, []string{"done after 0: context deadline exceeded: shutting down"}, notes.entries)
				require.Zero(t, r.Slots.InUse())
			})
		})
	}
}

// resetting is a policy without waits that calls a function in Reset.
type resetting func()

func (r resetting) Reset()                     { r() }
func (r resetting) NextBackOff() time.Duration { return 0 }

// Do's context takes the place of all that WithContext has put into the policy.
func TestRetrierPolicyContext(t *testing.T) {
	ended := cancelled()
	var none backoff.BackOff = &backoff.ZeroBackOff{}
	for name, policy := range map[string]backoff.BackOff{
		"outermost":               backoff.WithContext(none, ended),
		"below a decorator":       foreign{backoff.WithContext(none, ended)},
		"below retries":           backoff.WithMaxRetries(backoff.WithContext(none, ended), 5),
		"around retries":          backoff.WithContext(backoff.WithMaxRetries(none, 5), ended),
		"two":                     backoff.WithContext(foreign{backoff.WithContext(none, ended)}, ended),
		"below and above a third": foreign{backoff.WithContext(backoff.WithMaxRetries(backoff.WithContext(none, ended), 5), ended)},
	} {
		t.Run(name, func(t *testing.T) {
			r := backoff.Retrier{
				Policy: func() backoff.BackOff { return policy },
				Done:   func(_ context.Context, attempts int, _ error) { require.Equal(t, 4, attempts) },
			}
			err := r.Do(context.Background(), returning(errFailed))
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.NotErrorIs(t, err, context.Canceled)
		})
	}

	ctx, cancel := context.WithCancel(context.Background())
	r := backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithContext(none, context.Background()) }}
	err := r.Do(ctx, func(context.Context) error { cancel(); return errFailed })
	require.ErrorIs(t, err, context.Canceled)
}

func TestRetrierValue(t *testing.T) {
	r := &backoff.Retrier{Policy: every(0)}
	ctx := context.Background()
	for name, test := range map[string]struct {
		ctx   context.Context
		errs  []error
		value int
		err   error
	}{
		"success":    {ctx, []error{nil}, 1, nil},
		"retry":      {ctx, []error{errFailed, nil}, 2, nil},
		"failure":    {ctx, []error{errFailed, errFailed}, 2, errFailed},
		"permanent":  {ctx, []error{backoff.Permanent(errFailed)}, 1, errFailed},
		"not called": {cancelledFor(nil), []error{nil}, 0, context.Canceled},
	} {
		operation, calls := results(test.errs...)
		value, err := backoff.DoWithData(test.ctx, r, func(context.Context) (int, error) {
			err := operation()
			return *calls, err
		})
		require.Equal(t, test.value, value, name)
		require.ErrorIs(t, err, test.err, name)
	}
}

func TestRetrierRetryable(t *testing.T) {
	r := &backoff.Retrier{Policy: every(0, 0), Retryable: func(err error) bool { return !errors.Is(err, io.EOF) }}
	operation, calls := results(errFailed, io.EOF, nil)
	require.Same(t, io.EOF, r.Do(context.Background(), func(context.Context) error { return operation() }))
	require.Equal(t, 2, *calls)
}

// An empty budget ends the call.
func TestRetrierBudget(t *testing.T) {
	budget := &backoff.Budget{Capacity: 10}
	r := &backoff.Retrier{Policy: every(0, 0, 0), Budget: budget}
	for range 2 {
		operation, calls := failing(-1)
		err := r.Do(context.Background(), func(context.Context) error { return operation() })
		require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
		require.ErrorIs(t, err, errFailed)
		require.Equal(t, 3, *calls)
		for range 10 {
			budget.Deposit()
		}
	}
	require.NoError(t, r.Do(context.Background(), returning(errFailed, nil)))
	require.Equal(t, 10, budget.Tokens(), "a success after a retry gives back what the retry took")
}

// Notify and Done receive the context of the call, and not that of an attempt.
func TestRetrierCallbackContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "call")
	seen := 0
	check := func(got context.Context) {
		seen++
		require.Equal(t, ctx, got)
	}
	r := &backoff.Retrier{
		Policy: every(0, 0),
		Notify: func(ctx context.Context, _ int, _ error, _ time.Duration) { check(ctx) },
		Done:   func(ctx context.Context, _ int, _ error) { check(ctx) },
	}
	require.Error(t, r.Do(ctx, func(ctx context.Context) error {
		require.Equal(t, "call", ctx.Value(key{}))
		return errFailed
	}))
	require.Equal(t, 3, seen)
}

func TestRetrierContext(t *testing.T) {
	plain := cancelledFor(nil)
	for name, r := range map[string]*backoff.Retrier{
		"no slots":   {},
		"free slots": {AttemptTimeout: time.Second, Slots: backoff.NewSlots(1)},
	} {
		t.Run(name, func(t *testing.T) {
			var notes journal
			r.Done = notes.done
			r.Policy = func() backoff.BackOff { panic("no policy is needed") }

			err := r.Do(cancelled(), unexpected)
			require.EqualError(t, err, "context canceled: shutting down")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errCause)
			require.NotErrorIs(t, err, backoff.ErrNoSlot)
			require.Equal(t, "done after 0: context canceled: shutting down", notes.last())

			require.Same(t, plain.Err(), r.Do(plain, unexpected), "without a cause, the error is bare")
			require.Equal(t, "done after 0: context canceled", notes.last())
			require.Len(t, notes.entries, 2)
			require.Zero(t, r.Slots.InUse())
		})
	}
}

// The context ends while the call waits for the next attempt, which is then not made.
func TestRetrierContextWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes journal
		r := &backoff.Retrier{AttemptTimeout: time.Second, Slots: backoff.NewSlots(1), Policy: every(time.Hour), Done: notes.done}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		start := time.Now()
		err := r.Do(ctx, returning(errFailed))
		require.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, errFailed)
		require.Equal(t, "done after 1: context canceled: shutting down: failed", notes.last())
		require.Zero(t, r.Slots.InUse())
	})
}

// A call gets no slot: its deadline leaves no attempt its timeout, a quarter of a near deadline has passed, or its
// context ends while it waits.
func TestRetrierNoSlot(t *testing.T) {
	for name, test := range map[string]struct {
		limit  func(context.Context) (context.Context, context.CancelFunc)
		waited time.Duration
		err    string
	}{
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 10*time.Second)
		}, 8 * time.Second, "no slot for the call: none was free in the time that the deadline leaves"},
		"near deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, 250 * time.Millisecond, "no slot for the call: none was free in the time that the deadline leaves"},
		"cancelled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(3*time.Second, func() { cancel(errCause) })
			return ctx, func() { cancel(nil) }
		}, 3 * time.Second, "context canceled: shutting down: no slot for the call"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes journal
				r := &backoff.Retrier{AttemptTimeout: 2 * time.Second, Slots: backoff.NewSlots(1)}
				go func() { _ = r.Do(context.Background(), takes(time.Minute, nil)) }()
				synctest.Wait()

				waiting := *r
				waiting.Done = notes.done
				ctx, cancel := test.limit(t.Context())
				defer cancel()
				start := time.Now()
				err := waiting.Do(ctx, unexpected)
				require.Equal(t, test.waited, time.Since(start))
				require.EqualError(t, err, test.err)
				require.ErrorIs(t, err, backoff.ErrNoSlot)
				require.Equal(t, []string{"done after 0: " + test.err}, notes.entries)

				time.Sleep(time.Hour)
				require.Zero(t, r.Slots.InUse())
			})
		})
	}
}

// A call holds its slot from before its first attempt to its end, short waits included, also those that a server asks
// for. The next call then has its whole timeout.
func TestRetrierSlotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &backoff.Retrier{
			AttemptTimeout: 10 * time.Second,
			Slots:          backoff.NewSlots(1),
			Policy:         every(time.Second, time.Second),
			MaxRetryAfter:  time.Hour,
		}
		r.Done = func(_ context.Context, attempts int, _ error) {
			if attempts == 3 { // the slot of the first call went to the second one, which waits for that
				require.Equal(t, 1, r.Slots.InUse())
				return
			}
			require.Zero(t, r.Slots.InUse())
		}
		begin := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() {
			operation, _ := results(errFailed, backoff.RetryAfter(errFailed, time.Hour), nil)
			err := r.Do(t.Context(), func(context.Context) error {
				require.Equal(t, 1, r.Slots.InUse())
				return operation()
			})
			require.NoError(t, err)
			require.Equal(t, time.Hour+time.Second, time.Since(begin))
		})
		synctest.Wait()
		calls.Go(func() {
			err := r.Do(t.Context(), func(ctx context.Context) error {
				require.Equal(t, time.Hour+time.Second, time.Since(begin))
				deadline, _ := ctx.Deadline()
				require.Equal(t, 10*time.Second, time.Until(deadline))
				return nil
			})
			require.NoError(t, err)
		})
		calls.Wait()
	})
}

// A copy shares the slots and the budget. Its other fields are its own.
func TestRetrierCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Retrier{
			AttemptTimeout: time.Second,
			Slots:          backoff.NewSlots(1),
			Budget:         &backoff.Budget{Capacity: 10},
		}
		once := r
		once.MaxAttempts = 1
		start := time.Now()
		go func() { _ = r.Do(context.Background(), takes(time.Minute, nil)) }()
		synctest.Wait()

		operation, calls := failing(-1)
		require.Same(t, errFailed, once.Do(t.Context(), func(context.Context) error {
			require.Equal(t, time.Minute, time.Since(start), "both have one slot")
			return operation()
		}))
		require.Equal(t, 1, *calls)
		require.Equal(t, 10, r.Budget.Tokens(), "no retry was paid for")

		twice := r
		twice.MaxAttempts = 2
		require.ErrorIs(t, twice.Do(t.Context(), returning(errFailed)), backoff.ErrRetriesExhausted)
		require.Equal(t, 5, r.Budget.Tokens())
		require.Zero(t, r.MaxAttempts)
	})
}

// The same slots inside op, all of which are taken by the calls outside.
func TestRetrierNested(t *testing.T) {
	for name, test := range map[string]struct {
		timeout, took time.Duration
		canceled      bool
	}{
		"timeout":    {time.Minute, 31 * time.Second, false}, // a quarter of it, twice, and the wait between
		"no timeout": {-1, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(time.Hour, cancel).Stop()
				r := &backoff.Retrier{AttemptTimeout: test.timeout, Slots: backoff.NewSlots(1), Policy: every(time.Second)}
				start := time.Now()
				err := r.Do(ctx, func(ctx context.Context) error { return r.Do(ctx, unexpected) })
				require.ErrorIs(t, err, backoff.ErrNoSlot)
				require.Equal(t, test.canceled, errors.Is(err, context.Canceled))
				require.Equal(t, test.took, time.Since(start))
				require.Zero(t, r.Slots.InUse())
				cancel()
			})
		})
	}
}

// Of the attempt's context: when it ends, and its deadline.
func TestRetrierAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		timeout, deadline time.Duration // a deadline of zero is none
		ends              time.Duration // the first attempt's context; zero if it does not end by itself
	}{
		"default":                 {0, 0, 30 * time.Second},
		"timeout":                 {time.Second, 0, time.Second},
		"shortest timeout":        {1, 0, 1},
		"longest timeout":         {math.MaxInt64, time.Minute, time.Minute},
		"timeout before deadline": {time.Second, time.Minute, time.Second},
		"deadline before timeout": {time.Minute, time.Second, time.Second},
		"no timeout":              {-1, 0, 0},
		"deadline, no timeout":    {-1, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.deadline > 0 {
					limited, cancel := context.WithTimeout(ctx, test.deadline)
					defer cancel()
					ctx = limited
				}
				r := &backoff.Retrier{AttemptTimeout: test.timeout, Policy: every(time.Second)}
				var first context.Context
				err := r.Do(ctx, func(ctx context.Context) error {
					require.NoError(t, ctx.Err())
					if first != nil {
						require.ErrorIs(t, first.Err(), context.DeadlineExceeded)
						return nil
					}
					first = ctx
					deadline, ok := ctx.Deadline()
					require.Equal(t, test.ends > 0, ok)
					if !ok {
						return nil
					}
					start := time.Now()
					require.Equal(t, test.ends, time.Until(deadline))
					<-ctx.Done()
					require.Equal(t, test.ends, time.Since(start))
					require.Equal(t, context.DeadlineExceeded, context.Cause(ctx), "the context has no cause of ours")
					return ctx.Err()
				})
				if test.timeout < 0 {
					require.Same(t, ctx, first, "nobody ends it when op returns")
				} else {
					require.Error(t, first.Err(), "it ends when op returns")
				}
				if test.ends == test.deadline && test.ends > 0 {
					require.Equal(t, context.DeadlineExceeded, err)
					return
				}
				require.NoError(t, err)
			})
		})
	}
}

// The attempt's context ends with that of the call, and has its cause.
func TestRetrierAttemptCancel(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour, -1} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errCause) })
			start := time.Now()
			r := &backoff.Retrier{AttemptTimeout: timeout}
			err := r.Do(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				require.Equal(t, context.Canceled, ctx.Err())
				require.Equal(t, errCause, context.Cause(ctx))
				return errFailed
			})
			require.Equal(t, time.Second, time.Since(start))
			require.ErrorIs(t, err, errCause)
			require.ErrorIs(t, err, errFailed)
		})
	}
}

// The attempt's context is over when op has returned or panicked, and no goroutine is left that waits for
// the end of the call's context. (A context of another package needs one.) Without a timeout it is the call's own.
func TestRetrierLeak(t *testing.T) {
	for _, timeout := range []time.Duration{time.Hour, -1, math.MinInt64} {
		for name, op := range map[string]func() error{
			"success": func() error { return nil },
			"failure": func() error { return errFailed },
			"panic":   func() error { panic("boom") },
			"Goexit":  func() error { runtime.Goexit(); return nil },
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var attempts []context.Context
					r := &backoff.Retrier{AttemptTimeout: timeout, Slots: backoff.NewSlots(1), Policy: every(time.Second)}
					var call sync.WaitGroup
					call.Go(func() {
						defer func() { _ = recover() }()
						_ = r.Do(open{merged{context.Background(), make(chan struct{})}}, func(ctx context.Context) error {
							attempts = append(attempts, ctx)
							return op()
						})
					})
					call.Wait()
					require.NotEmpty(t, attempts)
					for _, ctx := range attempts {
						require.Equal(t, timeout > 0, ctx.Err() != nil)
					}
					require.Zero(t, r.Slots.InUse())
				})
			})
		}
	}
}

// open is a merged context that has not ended.
type open struct{ merged }

func (open) Err() error { return nil }

// Whatever panics or calls Goexit, the slot is released, and Done is not called.
func TestRetrierPanic(t *testing.T) {
	for how, end := range map[string]func(){
		"panic":  func() { panic("boom") },
		"Goexit": runtime.Goexit,
	} {
		for where, r := range map[string]*backoff.Retrier{
			"op":        {},
			"Policy":    {Policy: func() backoff.BackOff { end(); return nil }},
			"waits":     {Policy: func() backoff.BackOff { return asking(func() time.Duration { end(); return 0 }) }},
			"Retryable": {Retryable: func(error) bool { end(); return true }},
			"Notify":    {Notify: func(context.Context, int, error, time.Duration) { end() }},
		} {
			t.Run(how+" in "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r.AttemptTimeout = time.Second
					r.Slots = backoff.NewSlots(1)
					r.Done = func(context.Context, int, error) { t.Error("Done was called") }
					var recovered any
					returned := false
					var call sync.WaitGroup
					call.Go(func() {
						defer func() { recovered = recover() }()
						_ = r.Do(context.Background(), func(context.Context) error {
							if where == "op" {
								end()
							}
							return errFailed
						})
						returned = true
					})
					call.Wait()
					require.False(t, returned)
					if how == "panic" {
						require.Equal(t, "boom", recovered)
					}
					require.Zero(t, r.Slots.InUse())
				})
			})
		}
	}
}

// A wait, even the first one, or a slot that would come too late ends the call at once.
func TestRetrierTooLate(t *testing.T) {
	for name, policy := range map[string]func() backoff.BackOff{
		"first wait": every(time.Minute),
		"later wait": every(0, time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				notes := 0
				r := &backoff.Retrier{Policy: policy, Budget: &backoff.Budget{Capacity: -1, RetryCost: -1}}
				r.Notify = func(_ context.Context, _ int, _ error, wait time.Duration) {
					notes++
					require.Zero(t, wait)
				}
				start := time.Now()
				err := r.Do(ctx, returning(errFailed))
				require.EqualError(t, err, "context deadline exceeded: next attempt in 1m0s would be too late: failed")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errFailed)
				require.NoError(t, ctx.Err())
				require.Zero(t, time.Since(start))
				require.Equal(t, name == "later wait", notes == 1, "a wait that is refused is not notified")
			})
		})
	}
}

// The longest wait that a server may ask for.
func TestRetrierMaxRetryAfter(t *testing.T) {
	for _, test := range []struct {
		limit, asked time.Duration
		retried      bool
	}{
		{0, time.Minute, true},
		{0, time.Minute + 1, false},
		{time.Hour, time.Hour, true},
		{time.Hour, time.Hour + 1, false},
		{1, 1, true},
		{-1, 1000 * time.Hour, true},
		{-1, 0, true}, // asks for nothing
		{math.MinInt64, 1000 * time.Hour, true},
		{math.MaxInt64, 1000 * time.Hour, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &backoff.Retrier{MaxRetryAfter: test.limit, Policy: every(0)}
			err := r.Do(t.Context(), returning(&backoff.RetryAfterError{Err: errFailed, Duration: test.asked}, nil))
			if test.retried {
				require.NoError(t, err, "%+v", test)
				return
			}
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted, "%+v", test)
			require.ErrorIs(t, err, errFailed)
			asks := &backoff.RetryAfterError{Err: errFailed, Duration: test.asked}
			require.EqualError(t, err, "asked to wait for longer than MaxRetryAfter: "+asks.Error())
			var later *backoff.RetryAfterError
			require.ErrorAs(t, err, &later)
			require.Equal(t, test.asked, later.Duration)

			r.MaxAttempts = 1
			require.Equal(t, asks, r.Do(t.Context(), returning(asks)), "a call without retries ends with its own error")
		})
	}
}

// Where several reasons end a call, the first of this order is the one that the error tells.
func TestRetrierOrder(t *testing.T) {
	reasons := []struct {
		name string
		add  func(r *backoff.Retrier, failure *error, cancel func())
		want error
	}{
		{"permanent", func(_ *backoff.Retrier, failure *error, _ func()) { *failure = backoff.Permanent(*failure) }, io.EOF},
		{"context", func(_ *backoff.Retrier, _ *error, cancel func()) { cancel() }, context.Canceled},
		{"Retryable", func(r *backoff.Retrier, _ *error, _ func()) { r.Retryable = func(error) bool { return false } }, io.EOF},
		{"policy", func(r *backoff.Retrier, _ *error, _ func()) { r.Policy = every() }, backoff.ErrRetriesExhausted},
		{"server's wait", func(_ *backoff.Retrier, failure *error, _ func()) {
			*failure = backoff.RetryAfter(*failure, 2*time.Minute)
		}, backoff.ErrRetriesExhausted},
		{"deadline", func(r *backoff.Retrier, _ *error, _ func()) { r.Policy = every(time.Hour) }, context.DeadlineExceeded},
		{"budget", func(r *backoff.Retrier, _ *error, _ func()) { r.Budget.Capacity = -1 }, backoff.ErrBudgetExhausted},
	}
	ends := []error{context.Canceled, backoff.ErrRetriesExhausted, context.DeadlineExceeded, backoff.ErrBudgetExhausted}
	for i, first := range reasons {
		for _, second := range reasons[i+1:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					failure := io.EOF
					r := &backoff.Retrier{Policy: every(time.Second), Budget: new(backoff.Budget)}
					second.add(r, &failure, func() {})
					first.add(r, &failure, func() {})
					err := r.Do(ctx, func(context.Context) error {
						if first.name == "context" || second.name == "context" {
							cancel()
						}
						return failure
					})
					require.ErrorIs(t, err, io.EOF)
					for _, end := range ends {
						require.Equal(t, end == first.want, errors.Is(err, end), "%v: %v", end, err)
					}
				})
			})
		}
	}
}

// A long wait is made without the slot, which another call has meanwhile.
func TestRetrierLongWait(t *testing.T) {
	for name, test := range map[string]struct {
		timeout time.Duration
		policy  time.Duration
		asked   time.Duration
		held    bool
	}{
		"shorter than the timeout":    {time.Second, time.Second - 1, 0, true},
		"as long as the timeout":      {time.Second, time.Second, 0, false},
		"shorter than two seconds":    {time.Minute, 2*time.Second - 1, 0, true},
		"two seconds":                 {time.Minute, 2 * time.Second, 0, false},
		"asked for":                   {time.Minute, time.Second, time.Hour, true},
		"little more than asked for":  {time.Minute, time.Hour + 2*time.Second - 1, time.Hour, true},
		"much more than asked for":    {time.Minute, time.Hour + 2*time.Second, time.Hour, false},
		"less than nothing asked for": {time.Minute, time.Second, -time.Hour, true},
		"shortest timeout":            {1, time.Second, 0, false},
		"no timeout":                  {-1, 2*time.Second - 1, 0, true},
		"no timeout, two seconds":     {-1, 2 * time.Second, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &backoff.Retrier{
					AttemptTimeout: test.timeout,
					MaxRetryAfter:  time.Hour,
					Slots:          backoff.NewSlots(1),
					Policy:         every(test.policy),
				}
				var call sync.WaitGroup
				begin := time.Now()
				call.Go(func() {
					asks := &backoff.RetryAfterError{Err: errFailed, Duration: test.asked}
					require.NoError(t, r.Do(t.Context(), returning(asks, nil)))
				})
				synctest.Wait()
				require.Equal(t, test.held, r.Slots.InUse() == 1)

				require.NoError(t, r.Do(t.Context(), takes(3*time.Hour, nil)))
				wait := max(test.policy, test.asked)
				if test.held {
					require.Equal(t, wait+3*time.Hour, time.Since(begin), "after the first call")
				} else {
					require.Equal(t, 3*time.Hour, time.Since(begin), "beside its wait")
				}
				call.Wait()
				require.Zero(t, r.Slots.InUse())
			})
		})
	}
}

// After a long wait the call gets no slot again: its deadline, or its context, ends it with its last error. The retry
// was not made, and costs nothing.
func TestRetrierNoSlotAgain(t *testing.T) {
	for name, test := range map[string]struct {
		cancel time.Duration // after so long
		text   string
		ended  error
	}{
		"deadline":  {time.Hour, "context deadline exceeded: no slot for the next attempt in time: failed", context.DeadlineExceeded},
		"cancelled": {5 * time.Minute, "context canceled: shutting down: failed", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes journal
				r := &backoff.Retrier{
					AttemptTimeout: time.Minute,
					Slots:          backoff.NewSlots(1),
					Policy:         every(2 * time.Minute),
					Budget:         new(backoff.Budget),
					Done:           notes.done,
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				ctx, end := context.WithCancelCause(ctx)
				defer time.AfterFunc(test.cancel, func() { end(errCause) }).Stop()

				var call sync.WaitGroup
				call.Go(func() {
					err := r.Do(ctx, returning(errFailed, nil))
					require.EqualError(t, err, test.text)
					require.ErrorIs(t, err, test.ended)
					require.ErrorIs(t, err, errFailed)
					require.NotErrorIs(t, err, backoff.ErrNoSlot, "an attempt was made")
				})
				synctest.Wait()
				holder := *r
				holder.Done = nil
				require.NoError(t, holder.Do(t.Context(), takes(time.Hour, nil)))
				call.Wait()
				require.Equal(t, []string{"done after 1: " + test.text}, notes.entries)
				require.Equal(t, 25, r.Budget.Tokens())
				require.Zero(t, r.Slots.InUse())
			})
		})
	}
}

// strange is a context of a user's own.
type strange struct {
	context.Context
	done     func() <-chan struct{}
	err      func() error
	deadline func() (time.Time, bool)
}

func (s strange) Done() <-chan struct{}       { return s.done() }
func (s strange) Err() error                  { return s.err() }
func (s strange) Deadline() (time.Time, bool) { return s.deadline() }

// Whatever a context of a user's own does, the call ends, and no slot and no token is lost.
func TestRetrierStrangeContext(t *testing.T) {
	for name, change := range map[string]func(s *strange){
		"Done is nil":      func(s *strange) { s.done = func() <-chan struct{} { return nil } },
		"Err is set early": func(s *strange) { s.err = func() error { return errCause } },
		"Deadline is past": func(s *strange) {
			s.deadline = func() (time.Time, bool) { return time.Time{}, true }
		},
		"Deadline panics": func(s *strange) { s.deadline = func() (time.Time, bool) { panic("boom") } },
		"Done panics":     func(s *strange) { s.done = func() <-chan struct{} { panic("boom") } },
		"Done is closed, and Err nil": func(s *strange) {
			closed := make(chan struct{})
			close(closed)
			s.done = func() <-chan struct{} { return closed }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				s := &strange{ctx, ctx.Done, ctx.Err, ctx.Deadline}
				change(s)
				r := &backoff.Retrier{
					AttemptTimeout: time.Second,
					Slots:          backoff.NewSlots(1),
					Budget:         &backoff.Budget{Capacity: 100},
					Policy:         every(time.Millisecond, time.Minute),
				}
				var calls sync.WaitGroup
				for range 3 { // the second and the third wait for the slot
					calls.Go(func() {
						defer func() { _ = recover() }()
						_ = r.Do(*s, returning(errFailed))
					})
				}
				calls.Wait()
				require.Zero(t, r.Slots.InUse())
				require.Zero(t, r.Slots.Waiting())
				before := r.Budget.Tokens()
				require.NoError(t, r.Do(t.Context(), returning(nil)), "the slot is free")
				require.LessOrEqual(t, before, r.Budget.Tokens())
			})
		})
	}
}

// If the deadline ends the first attempt before ctx is done, the call ends as if ctx had noticed.
func TestRetrierDeadlineInFirst(t *testing.T) {
	for _, most := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			ctx := unaware{t.Context(), time.Now().Add(time.Second)}
			r := &backoff.Retrier{MaxAttempts: most, Policy: every(0)}
			calls := 0
			err := r.Do(ctx, func(context.Context) error {
				calls++
				time.Sleep(time.Until(ctx.deadline))
				return errFailed
			})
			require.Equal(t, 1, calls)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, errFailed)
		})
	}
}

// If the deadline ends an attempt before ctx is done, the error tells that of the attempt before too.
func TestRetrierDeadlineInAttempt(t *testing.T) {
	for _, r := range []*backoff.Retrier{
		{Policy: every(time.Second, time.Second)},
		{Policy: every(0, 0)},
		{Policy: every(0), MaxAttempts: 2},
		{Policy: every(0), Retryable: func(err error) bool { return err == errFailed }},
	} {
		synctest.Test(t, func(t *testing.T) {
			r.AttemptTimeout = -1
			requireCutOff(t, func(ctx context.Context, operation backoff.Operation) error {
				return r.Do(ctx, func(context.Context) error { return operation() })
			})
		})
	}
}

func TestRetrierBadInput(t *testing.T) {
	ctx := context.Background()
	var noContext context.Context
	value := func(context.Context) (int, error) { panic("op was called") }
	done := func(context.Context, int, error) { panic("Done was called") }
	plain := &backoff.Retrier{Done: done}
	var none *backoff.Retrier
	for _, test := range []struct {
		text string
		call func()
	}{
		{"backoff: Do called with a nil context", func() { _ = plain.Do(noContext, unexpected) }},
		{"backoff: Do called with a nil context", func() { _, _ = backoff.DoWithData(noContext, plain, value) }},
		{"backoff: Do called with a nil op", func() { _ = plain.Do(ctx, nil) }},
		{"backoff: DoWithData called with a nil op", func() { _, _ = backoff.DoWithData[int](ctx, plain, nil) }},
		{"backoff: Do called on a nil Retrier", func() { _ = none.Do(ctx, unexpected) }},
		{"backoff: Do called on a nil Retrier", func() { _, _ = backoff.DoWithData(ctx, none, value) }},
	} {
		require.PanicsWithValue(t, test.text, test.call)
	}
}

// A server accepts each connection, reads the request, and never answers. net/http's error is that of any
// timeout: it matches context.DeadlineExceeded, and has Timeout.
func TestRetrierHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers sync.WaitGroup
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			servers.Go(func() {
				defer server.Close()
				_, _ = http.ReadRequest(bufio.NewReader(server))
				_, _ = io.Copy(io.Discard, server)
			})
			return client, nil
		}}
		client := &http.Client{Transport: transport}
		r := &backoff.Retrier{AttemptTimeout: 2 * time.Second, Slots: backoff.NewSlots(1), Policy: every(time.Second)}
		start := time.Now()
		err := r.Do(t.Context(), func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://service.test", nil)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		})
		require.Equal(t, 5*time.Second, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		servers.Wait()
	})
}

// A call that succeeds at once allocates no policy, and otherwise no more than the same one written by hand, whatever the
// Retrier has.
func TestRetrierAllocs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	succeeds := func(context.Context) error { return nil }
	value := func(context.Context) (int, error) { return 1, nil }
	byHand := testing.AllocsPerRun(100, func() {
		policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
		require.NoError(t, backoff.Retry(func() error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return succeeds(ctx)
		}, backoff.WithContext(policy, ctx)))
	})
	slots := backoff.NewSlots(1)
	for name, r := range map[string]backoff.Retrier{
		"timeout": {AttemptTimeout: time.Second},
		"everything": {
			AttemptTimeout: time.Second, Slots: slots, Budget: new(backoff.Budget), Retryable: isEOF,
			Notify: new(journal).notify, Done: func(context.Context, int, error) {},
		},
	} {
		allocs := testing.AllocsPerRun(100, func() { require.NoError(t, r.Do(ctx, succeeds)) })
		require.LessOrEqual(t, allocs, byHand-2, name)
		allocs = testing.AllocsPerRun(100, func() {
			_, err := backoff.DoWithData(ctx, &r, value)
			require.NoError(t, err)
		})
		require.LessOrEqual(t, allocs, byHand-2, name+", with data")
	}
}

var (
	stressCalls = flag.Int("calls", 10_000, "how many calls TestRetrierStress makes")
	stressSeeds = flag.Uint64("seeds", 1, "how often, each time with another seed")
)

const (
	stressGoroutines = 200
	stressSlots      = 7
	stressTimeout    = 20 * time.Millisecond
)

// stress is a Retrier under stress, in a bubble.
type stress struct {
	r     backoff.Retrier
	seed  uint64
	start time.Time
	busy  atomic.Int64 // attempts in progress
	most  atomic.Int64 // of them, and of the slots in use
	spent atomic.Int64 // retries that failed

	troubled           bool         // every other ten seconds, what takes too long fails
	limited, unlimited atomic.Int64 // attempts that began while there was a limit, and while there was none
}

// stressCall is what became of a call. Its times count from the start.
type stressCall struct {
	arrived  time.Duration
	latest   time.Duration // when it leaves the line
	attempts int
	began    time.Duration // its first attempt
	left     time.Duration
	err      error
}

func (s *stress) now() time.Duration { return time.Since(s.start) }

// upTo returns the time to a random one of the next milliseconds: so that much happens at the same time.
func (s *stress) upTo(longest time.Duration, random *rand.Rand) time.Duration {
	milliseconds := 1 + random.Int64N(longest.Milliseconds())
	return time.Duration(milliseconds)*time.Millisecond - s.now()%time.Millisecond
}

// work makes n calls, one after the other. No two calls arrive at the same time.
func (s *stress) work(goroutine, n int) []stressCall {
	random := rand.New(rand.NewPCG(s.seed, uint64(goroutine)))
	calls := make([]stressCall, n)
	for i := range calls {
		time.Sleep(s.upTo(time.Second, random) + time.Duration(goroutine))
		s.call(&calls[i], random)
	}
	return calls
}

// call makes a call, which may have a deadline or be cancelled.
func (s *stress) call(c *stressCall, random *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	c.arrived = s.now()
	c.latest = math.MaxInt64
	limit := s.upTo(time.Second, random)
	switch random.IntN(3) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, limit)
		c.latest = c.arrived + max(limit-stressTimeout, limit/4)
	case 1:
		defer time.AfterFunc(limit, cancel).Stop()
		c.latest = c.arrived + limit
	}
	defer cancel()

	r := s.r
	if s.troubled && random.IntN(4) == 0 {
		r.AttemptTimeout *= 10 // a copy
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		c.err = r.Do(ctx, func(ctx context.Context) error { return s.attempt(ctx, c, random) })
	}()
	<-done
	c.left = s.now()
}

// attempt is one attempt of a call. It may end early or late, fail, panic, and end its goroutine.
func (s *stress) attempt(ctx context.Context, c *stressCall, random *rand.Rand) error {
	c.attempts++
	if c.attempts == 1 {
		c.began = s.now()
	}
	s.count(s.busy.Add(1))
	s.count(int64(s.r.Slots.InUse()))
	if s.r.Slots.Limit() < math.MaxInt {
		s.limited.Add(1)
	} else {
		s.unlimited.Add(1)
	}
	defer s.busy.Add(-1)

	work := s.upTo(2*stressTimeout, random)
	if random.IntN(2) == 0 {
		time.Sleep(work) // whatever ctx says
	} else {
		select {
		case <-time.After(work):
		case <-ctx.Done():
		}
	}

	inTrouble := s.troubled && s.now()/(10*time.Second)%2 == 1
	if inTrouble && ctx.Err() != nil {
		return s.fail(c, ctx.Err())
	}
	switch random.IntN(20) {
	case 0:
		panic("boom")
	case 1:
		runtime.Goexit()
	case 2:
		return s.fail(c, backoff.Permanent(errFailed))
	case 3:
		return s.fail(c, backoff.RetryAfter(errFailed, s.upTo(3*stressTimeout, random)))
	case 4, 5, 6, 7:
		return s.fail(c, errFailed)
	}
	return nil
}

// fail notes that an attempt fails.
func (s *stress) fail(c *stressCall, err error) error {
	if c.attempts > 1 {
		s.spent.Add(1)
	}
	return err
}

// count notes n if it is the most so far.
func (s *stress) count(n int64) {
	for {
		most := s.most.Load()
		if n <= most || s.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// Calls with random deadlines, long and short waits, cancellations, panics and Goexit. There are never more attempts in
// progress than slots; no slot and no token is lost; and whoever does not leave the line is served in order.
func TestRetrierStress(t *testing.T) {
	for seed := range *stressSeeds {
		synctest.Test(t, func(t *testing.T) {
			s := &stress{r: backoff.Retrier{Slots: backoff.NewSlots(stressSlots)}, seed: seed}
			calls := s.run(t)
			require.EqualValues(t, stressSlots, s.most.Load())
			requireOrder(t, calls)
		})
	}
}

// Slots that size themselves get into trouble and out of it, with copies that have another timeout, and lose nothing
// either.
func TestRetrierStressSizing(t *testing.T) {
	for seed := range *stressSeeds {
		synctest.Test(t, func(t *testing.T) {
			s := &stress{r: backoff.Retrier{Slots: new(backoff.Slots)}, seed: seed, troubled: true}
			s.run(t)
			require.Positive(t, s.limited.Load())
			require.Positive(t, s.unlimited.Load())
			time.Sleep(4 * time.Second)
			require.Equal(t, math.MaxInt, s.r.Slots.Limit())
		})
	}
}

// watch requires, until done is closed, that nobody waits while a slot is free.
func (s *stress) watch(t *testing.T, done <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			return
		case <-time.After(7 * time.Millisecond):
		}
		synctest.Wait()
		if s.r.Slots.Waiting() > 0 {
			require.GreaterOrEqual(t, s.r.Slots.InUse(), s.r.Slots.Limit())
		}
	}
}

// run makes the calls, and requires that nothing of them is left.
func (s *stress) run(t *testing.T) []stressCall {
	t.Helper()
	s.start = time.Now()
	s.r.AttemptTimeout = stressTimeout
	s.r.Budget = &backoff.Budget{Capacity: 1e9, SuccessRefund: -1}
	s.r.Policy = func() backoff.BackOff {
		return backoff.NewExponentialBackOff(backoff.WithInitialInterval(stressTimeout))
	}
	calls := make([][]stressCall, stressGoroutines)
	var workers sync.WaitGroup
	for n := range calls {
		workers.Go(func() { calls[n] = s.work(n, *stressCalls/stressGoroutines) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		workers.Wait()
	}()
	s.watch(t, done)

	require.Zero(t, s.r.Slots.InUse())
	require.Zero(t, s.r.Slots.Waiting())
	require.EqualValues(t, 1e9-5*s.spent.Load(), s.r.Budget.Tokens())
	return slices.Concat(calls...)
}

// requireOrder requires that calls got their first slots in the order in which they arrived, and in time, or left the
// line in time.
func requireOrder(t *testing.T, calls []stressCall) {
	t.Helper()
	slices.SortFunc(calls, func(a, b stressCall) int { return cmp.Compare(a.arrived, b.arrived) })
	var before time.Duration
	served := 0
	for _, c := range calls {
		switch {
		case c.attempts == 0 && errors.Is(c.err, backoff.ErrNoSlot):
			require.Equal(t, c.latest, c.left)
			continue
		case c.attempts == 0: // it was cancelled when it had just got its slot
			require.ErrorIs(t, c.err, context.Canceled)
			require.LessOrEqual(t, c.left, c.latest)
			continue
		}
		require.NotErrorIs(t, c.err, backoff.ErrNoSlot)
		require.LessOrEqual(t, c.began, c.latest)
		require.GreaterOrEqual(t, c.began, before, "served before a call that had arrived earlier")
		before = c.began
		served++
	}
	t.Logf("%d calls, %d of which got a slot", len(calls), served)
}

// In a bubble of testing/synctest, time passes only while everybody waits. So a test asserts each wait, and takes
// no time. The copy has the slots and the timeout of the service's own Retrier, and waits without jitter.
func ExampleRetrier_bubble() {
	users := backoff.Retrier{ // in a program, a package variable
		AttemptTimeout: 2 * time.Second,
		Slots:          backoff.NewSlots(20),
	}

	var t testing.T // go test passes one to a test
	synctest.Test(&t, func(t *testing.T) {
		var waits []time.Duration
		users := users
		users.Policy = func() backoff.BackOff {
			return backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter))
		}
		users.Notify = func(_ context.Context, _ int, _ error, wait time.Duration) {
			waits = append(waits, wait)
		}

		start := time.Now()
		err := users.Do(t.Context(), func(ctx context.Context) error {
			<-ctx.Done() // the service does not answer
			return ctx.Err()
		})

		want := []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1125 * time.Millisecond}
		if !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
		fmt.Println(waits, err, "after", time.Since(start))
	})
	// Output:
	// [500ms 750ms 1.125s] retries exhausted: context deadline exceeded after 10.375s
}
