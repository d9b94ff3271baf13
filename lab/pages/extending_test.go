package pages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Fibonacci is a policy whose waits are 1, 1, 2, 3, 5, 8 … times Unit, up to Max if that is set.
type Fibonacci struct {
	Unit time.Duration
	Max  time.Duration

	last       time.Duration
	beforeLast time.Duration
}

// Reset starts the sequence over.
func (f *Fibonacci) Reset() {
	f.last = 0
	f.beforeLast = 0
}

// NextBackOff returns the sum of the last two waits.
func (f *Fibonacci) NextBackOff() time.Duration {
	wait := max(f.Unit, f.last+f.beforeLast)
	if f.Max > 0 {
		wait = min(wait, f.Max)
	}
	f.beforeLast = f.last
	f.last = wait
	return wait
}

func TestFibonacci(t *testing.T) {
	policy := &Fibonacci{Unit: time.Second, Max: 10 * time.Second}
	want := []time.Duration{1, 1, 2, 3, 5, 8, 10, 10}

	for range 2 { // Reset starts over
		policy.Reset()
		for i, seconds := range want {
			require.Equal(t, seconds*time.Second, policy.NextBackOff(), "wait %d", i+1)
		}
	}
}

// A policy of one's own is used like those of the package.
func fetchFibonacci(ctx context.Context, fetch func(context.Context) error) error {
	policy := backoff.WithMaxRetries(&Fibonacci{Unit: time.Second, Max: time.Minute}, 6)
	return backoff.Retry(func() error { return fetch(ctx) }, backoff.WithContext(policy, ctx))
}

func TestFibonacciLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := fetchFibonacci(t.Context(), func(context.Context) error { return errBusy })
		require.Same(t, errBusy, err)
		require.Equal(t, 20*time.Second, time.Since(start)) // 1 + 1 + 2 + 3 + 5 + 8
	})
}

// Counter is a decorator that counts the attempts of a loop.
type Counter struct {
	backoff.BackOff
	Attempts int
}

// Reset is called before the first attempt.
func (c *Counter) Reset() {
	c.Attempts = 0
	c.BackOff.Reset()
}

// Observe is called after each attempt.
func (c *Counter) Observe(error) { c.Attempts++ }

// Unwrap returns the policy that c wraps.
func (c *Counter) Unwrap() backoff.BackOff { return c.BackOff }

// fetchCounted says in the log which attempt has failed.
func fetchCounted(ctx context.Context, fetch func(context.Context) error) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	counter := &Counter{BackOff: backoff.WithContext(policy, ctx)}

	report := func(err error, wait time.Duration) {
		slog.WarnContext(ctx, "retrying", "attempt", counter.Attempts, "wait", wait, "err", err)
	}
	return backoff.RetryNotify(func() error { return fetch(ctx) }, counter, report)
}

func TestCounter(t *testing.T) {
	counter := &Counter{BackOff: backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3)}
	for range 2 {
		require.Error(t, backoff.Retry(func() error { return errBusy }, counter))
		require.Equal(t, 4, counter.Attempts)
	}
	require.NoError(t, backoff.Retry(func() error { return nil }, counter))
	require.Equal(t, 1, counter.Attempts)

	lines := logged(t, func() {
		synctest.Test(t, func(t *testing.T) {
			require.Error(t, fetchCounted(t.Context(), func(context.Context) error { return errBusy }))
		})
	})
	require.Len(t, lines, 3)
	for i, line := range lines {
		require.Contains(t, line, []string{"attempt=1", "attempt=2", "attempt=3"}[i])
	}
}

// A body that leaves a later pass before its attempt is observed all the same.
func TestObservedBreak(t *testing.T) {
	counter := &Counter{BackOff: &backoff.ZeroBackOff{}}
	_ = func() (err error) {
		for attempt := range backoff.Attempts(counter, &err) {
			if attempt == 2 {
				break
			}
			err = errBusy
		}
		return err
	}()
	require.Equal(t, 2, counter.Attempts)
}

// A slow notify passes the deadline and MaxElapsedTime.
func TestSlowNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := backoff.NewExponentialBackOff(
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(time.Second),
		)
		calls := 0
		start := time.Now()
		err := backoff.RetryNotify(func() error { calls++; return errBusy }, policy, func(error, time.Duration) {
			time.Sleep(time.Minute)
		})
		require.Same(t, errBusy, err)
		require.Equal(t, 2, calls)
		require.Equal(t, time.Minute+500*time.Millisecond, time.Since(start))
	})
}

// Spread is a decorator that makes each wait longer by a random part of it, up to Share.
type Spread struct {
	backoff.BackOff
	Share float64
}

// NextBackOff returns the wrapped policy's wait and up to Share of it.
func (s *Spread) NextBackOff() time.Duration {
	wait := s.BackOff.NextBackOff()
	if wait < 0 { // the wrapped policy stops, and so does this one
		return wait
	}
	return wait + time.Duration(rand.Float64()*s.Share*float64(wait))
}

// Unwrap returns the policy that s wraps.
func (s *Spread) Unwrap() backoff.BackOff { return s.BackOff }

func TestSpread(t *testing.T) {
	policy := &Spread{BackOff: backoff.NewConstantBackOff(time.Second), Share: 0.5}
	var shortest, longest time.Duration = time.Hour, 0
	for range 1000 {
		wait := policy.NextBackOff()
		shortest = min(shortest, wait)
		longest = max(longest, wait)
	}
	require.GreaterOrEqual(t, shortest, time.Second)
	require.Less(t, shortest, 1100*time.Millisecond)
	require.Greater(t, longest, 1400*time.Millisecond)
	require.LessOrEqual(t, longest, 1500*time.Millisecond)

	policy.BackOff = &backoff.StopBackOff{}
	require.Equal(t, backoff.Stop, policy.NextBackOff())
}

// Logged is a decorator that logs each answer of a policy, also the last one.
type Logged struct {
	backoff.BackOff
	Logger *slog.Logger
}

// NextBackOff returns the wrapped policy's answer.
func (l *Logged) NextBackOff() time.Duration {
	wait := l.BackOff.NextBackOff()
	if wait < 0 {
		l.Logger.Debug("the policy stops")
	} else {
		l.Logger.Debug("the policy waits", "wait", wait)
	}
	return wait
}

// Unwrap returns the policy that l wraps.
func (l *Logged) Unwrap() backoff.BackOff { return l.BackOff }

func TestLogged(t *testing.T) {
	lines := logged(t, func() {
		policy := &Logged{
			BackOff: backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Nanosecond), 1),
			Logger:  slog.Default(),
		}
		require.Same(t, errBusy, backoff.Retry(func() error { return errBusy }, policy))
	})
	require.Equal(t, []string{
		`level=DEBUG msg="the policy waits" wait=1ns`,
		`level=DEBUG msg="the policy stops"`,
	}, lines)
}

// MaxWait is a decorator that cuts the waits of a policy down to Max.
type MaxWait struct {
	backoff.BackOff
	Max time.Duration
}

// NextBackOff returns the wrapped policy's wait, or Max if that is shorter. A stop is
// negative and stays what it is.
func (m *MaxWait) NextBackOff() time.Duration {
	return min(m.BackOff.NextBackOff(), m.Max)
}

// Unwrap returns the policy that m wraps.
func (m *MaxWait) Unwrap() backoff.BackOff { return m.BackOff }

func TestMaxWait(t *testing.T) {
	policy := &MaxWait{BackOff: backoff.NewLinearBackOff(time.Second), Max: 2 * time.Second}
	for _, seconds := range []time.Duration{1, 2, 2, 2} {
		require.Equal(t, seconds*time.Second, policy.NextBackOff())
	}
	policy.BackOff = &backoff.StopBackOff{}
	require.Equal(t, backoff.Stop, policy.NextBackOff())
}

// closed is a decorator without the method Unwrap.
type closed struct{ backoff.BackOff }

// open is one that has it.
type open struct{ backoff.BackOff }

func (o open) Unwrap() backoff.BackOff { return o.BackOff }

// A wrapping puts a decorator around a policy.
type wrapping func(backoff.BackOff) backoff.BackOff

func wrapOpen(b backoff.BackOff) backoff.BackOff { return open{b} }

func wrapClosed(b backoff.BackOff) backoff.BackOff { return closed{b} }

var errLimit = errors.New("limit")

// unwrapLosses are what is lost where a decorator has no method Unwrap. In a bubble, seen returns something
// that is different then.
var unwrapLosses = []struct {
	name string
	seen func(wrap wrapping) any
	with any
	lost any
}{
	{
		"the end of a context, for one wait and one call",
		func(wrap wrapping) any {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(1500*time.Millisecond, cancel)
			calls, took, err := failAll(wrap(backoff.WithContext(backoff.NewConstantBackOff(time.Second), ctx)), errBusy)
			return []any{calls, took, errors.Is(err, context.Canceled)}
		},
		[]any{2, 1500 * time.Millisecond, true},
		[]any{3, 2 * time.Second, false},
	},
	{
		"the deadline",
		func(wrap wrapping) any {
			ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
			defer cancel()
			_, took, err := failAll(wrap(backoff.WithContext(backoff.NewConstantBackOff(time.Second), ctx)), errBusy)
			return []any{took, errors.Is(err, context.DeadlineExceeded)}
		},
		[]any{2 * time.Second, true},
		[]any{3 * time.Second, false},
	},
	{
		"observers",
		func(wrap wrapping) any {
			counter := &Counter{BackOff: &backoff.StopBackOff{}}
			failAll(wrap(counter), errBusy)
			return counter.Attempts
		},
		1,
		0,
	},
	{
		"errors that are not retryable",
		func(wrap wrapping) any {
			policy := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3)
			policy = backoff.WithRetryIf(policy, func(error) bool { return false })
			calls, _, _ := failAll(wrap(policy), errBusy)
			return calls
		},
		1,
		4,
	},
	{
		"what a budget gets back",
		func(wrap wrapping) any {
			budget := &backoff.Budget{Capacity: 5}
			succeedAt(2, wrap(backoff.WithBudget(&backoff.ZeroBackOff{}, budget)), errBusy)
			return budget.Tokens()
		},
		5,
		0,
	},
	{
		"what a success puts in",
		func(wrap wrapping) any {
			budget := &backoff.Budget{Capacity: 10}
			budget.Withdraw()
			succeedAt(1, wrap(backoff.WithBudget(&backoff.ZeroBackOff{}, budget)), errBusy)
			return budget.Tokens()
		},
		6,
		5,
	},
	{
		"the name of a budget",
		func(wrap wrapping) any {
			empty := &backoff.Budget{Capacity: -1}
			_, _, err := failAll(wrap(backoff.WithBudget(&backoff.ZeroBackOff{}, empty)), errBusy)
			return errors.Is(err, backoff.ErrBudgetExhausted)
		},
		true,
		false,
	},
	{
		"that a budget is there already",
		func(wrap wrapping) any {
			budget := &backoff.Budget{Capacity: 100}
			policy := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1)
			policy = wrap(backoff.WithBudget(policy, budget))
			failAll(backoff.WithBudget(policy, budget), errBusy)
			return budget.Tokens()
		},
		95,
		90,
	},
	{
		"the panic of NewTicker",
		func(wrap wrapping) (panics any) {
			defer func() { panics = recover() != nil }()
			backoff.NewTicker(wrap(backoff.WithBudget(nil, &backoff.Budget{}))).Stop()
			return false
		},
		true,
		false,
	},
	{
		"the cause of a stop",
		func(wrap wrapping) any {
			_, _, err := failAll(wrap(backoff.WithStopCause(&backoff.StopBackOff{}, errLimit)), errBusy)
			return errors.Is(err, errLimit)
		},
		true,
		false,
	},
	{
		"the limit of a server's wait",
		func(wrap wrapping) any {
			_, took, _ := failAll(wrap(backoff.NewExponentialBackOff()), backoff.RetryAfter(errBusy, time.Hour))
			return took
		},
		time.Duration(0),
		time.Hour,
	},
	{
		"the spread of a server's wait",
		func(wrap wrapping) any {
			took := succeedAt(2, wrap(backoff.NewExponentialBackOff()), backoff.RetryAfter(errBusy, time.Minute))
			return took > time.Minute
		},
		true,
		false,
	},
	{
		"that a zero Stop under a Clock stops",
		func(wrap wrapping) any {
			literal := &backoff.ExponentialBackOff{
				InitialInterval: time.Second,
				Multiplier:      1,
				MaxElapsedTime:  2 * time.Second,
				Clock:           backoff.SystemClock,
			}
			calls, _, _ := failAll(wrap(backoff.WithMaxRetries(literal, 99)), errBusy)
			return calls
		},
		3,
		100,
	},
}

// failAll runs a loop over policy whose attempts all fail with err.
func failAll(policy backoff.BackOff, err error) (calls int, took time.Duration, final error) {
	start := time.Now()
	final = backoff.Retry(func() error {
		calls++
		return err
	}, policy)
	return calls, time.Since(start), final
}

// succeedAt runs a loop over policy whose n-th attempt succeeds, while those before fail with err.
func succeedAt(n int, policy backoff.BackOff, err error) (took time.Duration) {
	start := time.Now()
	_ = backoff.Retry(func() error {
		if n--; n == 0 {
			return nil
		}
		return err
	}, policy)
	return time.Since(start)
}

func TestUnwrapLost(t *testing.T) {
	for _, test := range unwrapLosses {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, test.with, test.seen(wrapOpen), "with Unwrap")
			})
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, test.lost, test.seen(wrapClosed), "without Unwrap")
			})
		})
	}
}

// Rounds is a decorator that never stops: when its policy does, it pauses and starts the policy over.
type Rounds struct {
	backoff.BackOff
	Pause time.Duration
}

// NextBackOff returns the wrapped policy's wait, or Pause if that policy stops.
func (r *Rounds) NextBackOff() time.Duration {
	wait := r.BackOff.NextBackOff()
	if wait >= 0 {
		return wait
	}
	r.BackOff.Reset()
	return r.Pause
}

// Unwrap returns the policy that r wraps.
func (r *Rounds) Unwrap() backoff.BackOff { return r.BackOff }

// A decorator that goes on where its policy stops overrules the limits in that policy, but not a mark,
// a context or a budget.
func TestRounds(t *testing.T) {
	never := func(error) bool { return false }
	five := func(errs ...error) func() error {
		calls := 0
		return func() error {
			if calls++; calls == 5 {
				return nil
			}
			return errors.Join(append(errs, errBusy)...)
		}
	}
	inner := backoff.WithRetryIf(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1), never)
	require.NoError(t, backoff.Retry(five(), &Rounds{BackOff: inner}), "overruled")

	outer := backoff.WithRetryIf(&Rounds{BackOff: &backoff.ZeroBackOff{}}, never)
	require.ErrorIs(t, backoff.Retry(five(), outer), errBusy)

	require.ErrorIs(t, backoff.Retry(five(backoff.Permanent(errBusy)), &Rounds{BackOff: inner}), errBusy)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := &Rounds{BackOff: backoff.WithContext(inner, ctx)}
	require.ErrorIs(t, backoff.Retry(five(), done), context.Canceled)

	empty := &Rounds{BackOff: backoff.WithBudget(inner, &backoff.Budget{Capacity: -1})}
	require.ErrorIs(t, backoff.Retry(five(), empty), backoff.ErrBudgetExhausted)
}

// twice is a decorator that asks its policy twice for each retry.
type twice struct{ open }

func (b twice) NextBackOff() time.Duration {
	b.BackOff.NextBackOff()
	return b.BackOff.NextBackOff()
}

// A policy that is asked twice goes on by two steps, but its budget pays once.
func TestAskTwice(t *testing.T) {
	budget := &backoff.Budget{Capacity: 100}
	var waits []time.Duration
	policy := backoff.WithMaxRetries(backoff.NewLinearBackOff(time.Nanosecond), 4)
	policy = twice{open{backoff.WithBudget(policy, budget)}}
	require.Error(t, backoff.RetryNotify(func() error { return errBusy }, policy, func(_ error, wait time.Duration) {
		waits = append(waits, wait)
	}))
	require.Equal(t, []time.Duration{2, 4}, waits)
	require.Equal(t, 90, budget.Tokens())
}

// stopping is a decorator that asks its policy, and then stops in any case.
type stopping struct{ open }

func (b stopping) NextBackOff() time.Duration {
	b.BackOff.NextBackOff()
	return backoff.Stop
}

// A decorator that stops after the policy in it has stopped cannot be told from one that passes that stop on.
func TestStopAfterStop(t *testing.T) {
	errInner := errors.New("inner")
	stops := backoff.WithStopCause(&backoff.StopBackOff{}, errInner)
	require.ErrorIs(t, backoff.Retry(func() error { return errBusy }, stopping{open{stops}}), errInner)

	waits := backoff.WithStopCause(&backoff.ZeroBackOff{}, errInner)
	require.Same(t, errBusy, backoff.Retry(func() error { return errBusy }, stopping{open{waits}}))
}

// Throttled is the error of a client that knows how long to wait.
type Throttled struct {
	Wait time.Duration
}

// Error returns the text of e.
func (e *Throttled) Error() string { return "throttled" }

// As makes e ask for its wait, as backoff.RetryAfter does.
func (e *Throttled) As(target any) bool {
	wanted, ok := target.(**backoff.RetryAfterError)
	if ok {
		*wanted = &backoff.RetryAfterError{Err: e, Duration: e.Wait}
	}
	return ok
}

// gone is an error type that is permanent by itself.
type gone struct{}

func (gone) Error() string { return "gone" }

func (gone) As(target any) bool {
	wanted, ok := target.(**backoff.PermanentError)
	if ok {
		*wanted = &backoff.PermanentError{Err: errors.New("gone")}
	}
	return ok
}

func TestErrorTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := fmt.Errorf("call: %w", &Throttled{Wait: time.Minute})
		took := succeedAt(2, backoff.NewConstantBackOff(time.Second), asked)
		require.Equal(t, time.Minute, took)

		both := errors.Join(backoff.RetryAfter(errBusy, time.Hour), asked)
		took = succeedAt(2, &backoff.ZeroBackOff{}, both)
		require.Equal(t, time.Hour, took)
	})

	calls, _, err := failAll(&backoff.ZeroBackOff{}, gone{})
	require.Equal(t, 1, calls)
	require.EqualError(t, err, "gone")
	require.ErrorIs(t, err, gone{})
	require.NotEqual(t, gone{}, err)
	var mark *backoff.PermanentError
	require.False(t, errors.As(err, &mark))
}

// FakeTime is a Clock and a Timer for tests. Each wait is over immediately, and moves the clock on by its
// length.
type FakeTime struct {
	Waits []time.Duration // so far

	now time.Time
	c   chan time.Time
}

// Now returns the time of the clock.
func (f *FakeTime) Now() time.Time { return f.now }

// Start begins a wait.
func (f *FakeTime) Start(d time.Duration) {
	f.Waits = append(f.Waits, d)
	f.now = f.now.Add(d)
	f.c = make(chan time.Time, 1)
	f.c <- f.now
}

// Stop has nothing to stop.
func (f *FakeTime) Stop() {}

// C returns the channel of the wait that was started last.
func (f *FakeTime) C() <-chan time.Time { return f.c }

func TestGivesUpAfterTenSeconds(t *testing.T) {
	fake := &FakeTime{}
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithJitter(backoff.NoJitter),
		backoff.WithMaxElapsedTime(10*time.Second),
		backoff.WithClockProvider(fake),
	)
	errDown := errors.New("down")

	err := backoff.RetryNotifyWithTimer(func() error { return errDown }, policy, nil, fake)

	require.Equal(t, errDown, err)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, fake.Waits)
}

// A Clock that steps back does not stop a policy early, and extends its limit by the step at most.
func TestStepBack(t *testing.T) {
	for step, last := range map[time.Duration]time.Duration{
		10 * time.Second: 30 * time.Second, // not to before the start
		time.Hour:        40 * time.Second, // to before the start: the time starts over
	} {
		fake := &FakeTime{now: time.Unix(1e9, 0)}
		start := fake.now
		policy := backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(time.Second),
			backoff.WithMultiplier(1),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(20*time.Second),
			backoff.WithClockProvider(fake),
		)
		calls := 0
		require.Error(t, backoff.RetryNotifyWithTimer(func() error {
			if calls++; calls == 21 {
				fake.now = start.Add(20*time.Second - step)
			}
			return errBusy
		}, policy, nil, fake))
		require.Equal(t, int(last/time.Second), len(fake.Waits), "step %v", step)
	}

	// A step back ages no success, and a budget goes on from the new time.
	fake := &FakeTime{now: time.Unix(1e9, 0)}
	budget := &backoff.Budget{Clock: fake}
	for range 100 {
		budget.Deposit()
	}
	full := budget.Tokens()
	fake.now = fake.now.Add(-time.Hour)
	require.Equal(t, full, budget.Tokens())
	fake.now = fake.now.Add(3 * time.Second)
	require.InDelta(t, float64(full)/2.718, budget.Tokens(), 2)
}

// A positive Stop is a wait, with which the loop goes on for ever. A zero Stop ends a loop, but by hand it is
// the wait 0 if the literal has a Clock.
func TestStopField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(time.Second),
			backoff.WithMultiplier(1),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(2*time.Second),
			backoff.WithRetryStopDuration(time.Minute),
		)
		policy.Reset()
		start := time.Now()
		calls := 0
		require.NoError(t, backoff.Retry(func() error {
			if calls++; calls == 6 {
				return nil
			}
			return errBusy
		}, policy))
		require.Equal(t, 2*time.Second+3*time.Minute, time.Since(start))
	})

	literal := &backoff.ExponentialBackOff{MaxElapsedTime: -1, Clock: backoff.SystemClock}
	require.Zero(t, literal.NextBackOff())
	require.Error(t, backoff.Retry(func() error { return errBusy }, literal))
	literal.Clock = nil
	literal.Reset()
	require.Equal(t, backoff.Stop, literal.NextBackOff())
}

// An operation that resets its policy starts everything over but the numbers of the attempts and what
// its retry has paid.
func TestOperationReset(t *testing.T) {
	budget := &backoff.Budget{Capacity: 100}
	counter := &Counter{BackOff: backoff.WithMaxRetries(backoff.NewLinearBackOff(time.Nanosecond), 2)}
	policy := backoff.WithBudget(counter, budget)

	var err error
	var waits []time.Duration
	attempt := 0
	err = backoff.RetryNotify(func() error {
		if attempt++; attempt == 2 {
			policy.Reset()
		}
		return errBusy
	}, policy, func(_ error, wait time.Duration) { waits = append(waits, wait) })
	require.Same(t, errBusy, err)
	require.Equal(t, []time.Duration{1, 1, 2}, waits)
	require.Equal(t, 3, counter.Attempts) // from the attempt that called Reset on
	require.Equal(t, 85, budget.Tokens())

	for n := range backoff.Attempts(policy, &err) {
		attempt = n
		if n == 2 {
			policy.Reset()
		}
		err = errBusy
	}
	require.Equal(t, 4, attempt)
	require.Equal(t, 70, budget.Tokens())

	attempt = 0
	require.NoError(t, backoff.Retry(func() error {
		if attempt++; attempt == 1 {
			return errBusy
		}
		policy.Reset()
		return nil
	}, policy))
	require.Equal(t, 70, budget.Tokens(), "the retry that succeeded is refunded")
}

// A loop tells its policy what has happened in this order.
func TestOrder(t *testing.T) {
	var events []string
	policy := &eventful{events: &events}
	err := backoff.RetryNotify(func() error {
		events = append(events, "operation")
		if policy.asked == 1 {
			return nil
		}
		return errBusy
	}, policy, func(error, time.Duration) { events = append(events, "notify") })
	require.NoError(t, err)
	require.Equal(t, []string{
		"Reset", "operation", "Observe busy", "NextBackOff", "notify", "operation", "Observe <nil>",
	}, events)

	events = nil
	require.Error(t, backoff.Retry(func() error { return backoff.Permanent(errBusy) }, policy))
	require.Equal(t, []string{"Reset", "Observe busy"}, events)
}

// eventful is a policy that writes down what it is told.
type eventful struct {
	events *[]string
	asked  int
}

func (e *eventful) Reset() {
	e.asked = 0
	*e.events = append(*e.events, "Reset")
}

func (e *eventful) NextBackOff() time.Duration {
	e.asked++
	*e.events = append(*e.events, "NextBackOff")
	return 0
}

func (e *eventful) Observe(err error) {
	outcome := "<nil>"
	if err != nil {
		outcome = err.Error()
	}
	*e.events = append(*e.events, "Observe "+outcome)
}
