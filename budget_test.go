package backoff_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// manual is a Clock that a test sets.
type manual struct{ now time.Time }

func (m *manual) Now() time.Time          { return m.now }
func (m *manual) advance(d time.Duration) { m.now = m.now.Add(d) }

// succeeding deposits n times a second for as long as d.
func succeeding(budget *backoff.Budget, clock *manual, n int, d time.Duration) {
	for range n * int(d.Seconds()) {
		clock.advance(time.Second / time.Duration(n))
		budget.Deposit()
	}
}

// spend withdraws as often as the budget pays.
func spend(budget *backoff.Budget) (retries int) {
	for budget.Withdraw() {
		retries++
	}
	return retries
}

// A new bucket pays for five retries, and time alone for none.
func TestBudgetZero(t *testing.T) {
	for name, clock := range map[string]backoff.Clock{"nil": nil, "SystemClock": backoff.SystemClock, "manual": &manual{}} {
		t.Run(name, func(t *testing.T) {
			budget := &backoff.Budget{Clock: clock}
			budget.Deposit()
			require.Equal(t, 25, budget.Tokens(), "no more than a full bucket")
			require.Equal(t, 5, spend(budget))
			require.Zero(t, budget.Tokens())
			if clock, ok := clock.(*manual); ok {
				for _, idle := range []time.Duration{time.Second, time.Minute, time.Hour, math.MaxInt64} {
					clock.advance(idle)
					require.Zero(t, budget.Tokens(), idle)
					require.False(t, budget.Withdraw())
				}
				clock.now = time.Time{}.Add(-time.Hour) // it steps back
				require.Zero(t, budget.Tokens())
			}
			for range 5 {
				budget.Deposit()
			}
			require.Equal(t, 1, spend(budget), "five successes pay for one")
		})
	}
}

// A full bucket pays for about as many retries as there were successes in three seconds.
func TestBudgetSize(t *testing.T) {
	for _, n := range []int{20, 100, 1000} {
		clock := &manual{}
		budget := &backoff.Budget{Clock: clock}
		succeeding(budget, clock, n, 30*time.Second)
		require.InEpsilon(t, 5*3*n, budget.Tokens(), 0.02)

		for range 10 { // a Clock that steps back ages nothing
			clock.advance(-time.Second)
			require.InEpsilon(t, 5*3*n, budget.Tokens(), 0.02)
		}
		clock.advance(3 * time.Second)
		require.InEpsilon(t, 5*3*float64(n)/math.E, budget.Tokens(), 0.02)
		clock.advance(20 * time.Second)
		require.Equal(t, 25, budget.Tokens(), "23 seconds without a success")
	}
}

// What was spent beyond a second full bucket is forgotten; at the floor, what was spent beyond the first.
func TestBudgetDebt(t *testing.T) {
	clock := &manual{}
	budget := &backoff.Budget{Clock: clock}
	succeeding(budget, clock, 100, 30*time.Second)
	require.InDelta(t, 300, spend(budget), 5)
	missing := func() (successes int) {
		for budget.Tokens() == 0 {
			budget.Deposit()
			successes++
		}
		return successes
	}
	clock.advance(6 * time.Second)
	// A full bucket holds 203 tokens, twice as many are owed, and a success is 5 + 1 of them.
	require.InDelta(t, 34, missing(), 2)
	clock.advance(time.Minute)
	spend(budget)
	require.Equal(t, 1, missing())
}

// A success after a retry counts for the bucket's size as one at the first attempt does, and returns
// what the retry cost.
func TestBudgetRetrySuccess(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		clock := &manual{}
		budget := &backoff.Budget{Clock: clock}
		for range 1000 {
			clock.advance(10 * time.Millisecond)
			operation, _ := failing(1)
			require.NoError(t, retry(operation, backoff.WithBudget(&backoff.ZeroBackOff{}, budget)))
		}
		require.InEpsilon(t, 5*3*100, budget.Tokens(), 0.05)
	})
}

// With three retries each, a budget pays for all until 30 % of the attempts fail at random, or 6 % of the operations
// fail every time.
func TestBudgetThreshold(t *testing.T) {
	for name, test := range map[string]struct {
		attempts, operations float64 // the shares that fail
		least, most          float64 // the share of the operations that are refused a retry
	}{
		"25 % of attempts":  {0.25, 0, 0, 0.005},
		"40 % of attempts":  {0.40, 0, 0.15, 1},
		"5 % of operations": {0, 0.05, 0, 0.001},
		"8 % of operations": {0, 0.08, 0.01, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &manual{}
			budget := &backoff.Budget{Clock: clock}
			random := seeded()
			refused := 0
			const n = 20_000
			for range n {
				clock.advance(10 * time.Millisecond)
				broken := random.Float64() < test.operations
				err := backoff.Retry(func() error {
					if broken || random.Float64() < test.attempts {
						return errFailed
					}
					return nil
				}, backoff.WithBudget(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3), budget))
				if errors.Is(err, backoff.ErrBudgetExhausted) {
					refused++
				}
			}
			require.GreaterOrEqual(t, float64(refused)/n, test.least)
			require.LessOrEqual(t, float64(refused)/n, test.most)
		})
	}
}

// Random scripts agree with a model that keeps the time of every success.
func TestBudgetModel(t *testing.T) {
	random := seeded()
	for range 50 {
		clock := &manual{}
		cost, refund := 1+random.IntN(20), 1+random.IntN(4)
		budget := &backoff.Budget{Clock: clock, RetryCost: cost, SuccessRefund: refund}
		var successes []time.Time
		spent := 0
		for range 500 {
			clock.advance(time.Duration(random.Int64N(1 << (10 + random.IntN(25)))))
			sum := 0.0
			for _, at := range successes {
				sum += math.Exp(-clock.now.Sub(at).Seconds() / 3)
			}
			full := int(max(5, sum) * float64(cost))
			if sum <= 5 {
				spent = min(spent, full)
			}
			spent = min(spent, 2*full)
			require.InDelta(t, max(0, full-spent), budget.Tokens(), 1)
			if random.IntN(3) > 0 {
				budget.Deposit()
				successes = append(successes, clock.now)
				spent = max(0, spent-refund)
				continue
			}
			ok := budget.Withdraw()
			if margin := full - spent - cost; margin > 1 || margin < -1 {
				require.Equal(t, margin > 0, ok)
			}
			if ok {
				spent += cost
			}
		}
	}
}

// The retry quota of the AWS SDKs: 500 tokens at 5 a retry, 1 for a success at the first attempt.
func TestBudgetQuota(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		budget := &backoff.Budget{Capacity: 500}
		run := func(failures int) (calls int, err error) {
			operation, n := failing(failures)
			err = retry(operation, backoff.WithBudget(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1), budget))
			return *n, err
		}
		for i := range 100 {
			calls, err := run(-1)
			require.Same(t, errFailed, err)
			require.Equal(t, 2, calls)
			require.Equal(t, 500-5*(i+1), budget.Tokens())
		}
		calls, err := run(-1)
		require.Equal(t, 1, calls, "the 101st is not retried")
		require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
		require.ErrorIs(t, err, errFailed)
		require.EqualError(t, err, "retry budget exhausted: failed")

		for i := range 5 { // five successes at the first attempt buy one retry
			calls, _ = run(-1)
			require.Equal(t, 1, calls)
			_, err = run(0)
			require.NoError(t, err)
			require.Equal(t, i+1, budget.Tokens())
		}
		calls, err = run(1)
		require.NoError(t, err)
		require.Equal(t, 2, calls)
		require.Equal(t, 5, budget.Tokens(), "a success after a retry gives back what the retry took, no more")
		calls, _ = run(-1)
		require.Equal(t, 2, calls)
		require.Zero(t, budget.Tokens())
	})
}

// Only the last of several retries is given back.
func TestBudgetLaterSuccess(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		for failures, want := range []int{100, 100, 95, 90} {
			budget := &backoff.Budget{Capacity: 100}
			operation, _ := failing(failures)
			require.NoError(t, retry(operation, backoff.WithBudget(&backoff.ZeroBackOff{}, budget)))
			require.Equal(t, want, budget.Tokens())
		}
	})
}

// A retry that is not made costs nothing.
func TestBudgetUncharged(t *testing.T) {
	zero := &backoff.ZeroBackOff{}
	empty := &backoff.Budget{Capacity: -1}
	type parts struct {
		budget *backoff.Budget
		ctx    context.Context
		cancel func()
	}
	for name, test := range map[string]struct {
		err    error
		policy func(p parts) backoff.BackOff
	}{
		"permanent": {backoff.Permanent(errFailed), func(p parts) backoff.BackOff {
			return backoff.WithBudget(zero, p.budget)
		}},
		"policy stops": {errFailed, func(p parts) backoff.BackOff {
			return backoff.WithBudget(&backoff.StopBackOff{}, p.budget)
		}},
		"decorator above stops": {errFailed, func(p parts) backoff.BackOff {
			return backoff.WithMaxRetries(veto(backoff.WithBudget(zero, p.budget)), 9)
		}},
		"budget above cannot pay": {errFailed, func(p parts) backoff.BackOff {
			return backoff.WithBudget(foreign{backoff.WithBudget(zero, p.budget)}, empty)
		}},
		"budget below cannot pay": {errFailed, func(p parts) backoff.BackOff {
			return backoff.WithBudget(backoff.WithBudget(zero, empty), p.budget)
		}},
		"context done": {errFailed, func(p parts) backoff.BackOff {
			return backoff.WithContext(backoff.WithBudget(zero, p.budget), cancelled())
		}},
		"context ends in NextBackOff": {errFailed, func(p parts) backoff.BackOff {
			ending := asking(func() time.Duration { p.cancel(); return 0 })
			return backoff.WithBudget(backoff.WithContext(ending, p.ctx), p.budget)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				budget := &backoff.Budget{Capacity: 500}
				operation, calls := results(test.err)
				require.Error(t, retry(operation, test.policy(parts{budget, ctx, cancel})))
				require.Equal(t, 1, *calls)
				require.Equal(t, 500, budget.Tokens())
			})
		})
	}
}

// A Timer without a channel, or whose wait the context ends, makes no retry.
func TestBudgetTimer(t *testing.T) {
	budget := &backoff.Budget{Capacity: 500}
	b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
	operation, _ := failing(-1)
	require.Same(t, errFailed, backoff.RetryNotifyWithTimer(operation, b, nil, new(nilTimer)))
	require.Equal(t, 500, budget.Tokens())

	ctx, cancel := context.WithCancel(context.Background())
	err := backoff.RetryNotifyWithTimer(operation, backoff.WithContext(b, ctx), nil, &cancellingTimer{cancel: cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 500, budget.Tokens())
}

// A budget that the policy has already pays for a retry once. Another one pays too.
func TestBudgetTwice(t *testing.T) {
	budget, other := &backoff.Budget{Capacity: 100}, &backoff.Budget{Capacity: 100}
	var b backoff.BackOff = foreign{backoff.WithMaxRetries(backoff.WithBudget(&backoff.ZeroBackOff{}, budget), 3)}
	require.Equal(t, b, backoff.WithBudget(b, budget))
	b = backoff.WithBudget(backoff.WithBudget(b, other), budget)
	eachLoop(t, func(t *testing.T, retry retry) {
		before := budget.Tokens()
		operation, _ := failing(-1)
		require.Same(t, errFailed, retry(operation, b))
		require.Equal(t, before-15, budget.Tokens())
		require.Equal(t, before-15, other.Tokens())
	})
	hidden := opaque{backoff.WithBudget(&backoff.ZeroBackOff{}, budget)}
	require.NotEqual(t, hidden, backoff.WithBudget(hidden, budget), "which cannot be seen")
}

// By hand, a policy with a budget stops as well.
func TestBudgetByHand(t *testing.T) {
	budget := &backoff.Budget{Capacity: 12}
	b := backoff.WithBudget(backoff.NewConstantBackOff(1), budget)
	require.Equal(t, []time.Duration{1, 1, backoff.Stop, backoff.Stop}, draws(b, 4))
	require.Equal(t, 2, budget.Tokens())

	budget = &backoff.Budget{Capacity: 12}
	require.Equal(t, backoff.Stop, backoff.WithBudget(waits(), budget).NextBackOff())
	require.Equal(t, 12, budget.Tokens(), "a stop costs nothing")

	budget = &backoff.Budget{Capacity: 500}
	o := backoff.WithBudget(backoff.NewConstantBackOff(1), budget).(backoff.BackOffObserver)
	for range 3 {
		o.Observe(errFailed)
		require.EqualValues(t, 1, o.NextBackOff())
	}
	o.Observe(nil)
	require.Equal(t, 490, budget.Tokens(), "the last of three retries is returned")
	o.Observe(nil)
	require.Equal(t, 491, budget.Tokens(), "and this is a success at the first attempt")

	require.Error(t, backoff.Retry(func() error { return errFailed }, backoff.WithMaxRetries(o, 0)))
	o.Observe(nil)
	require.Equal(t, 492, budget.Tokens(), "and so is the first after a loop")
	o.Observe(errFailed)
	o.NextBackOff()
	o.Reset()
	o.Observe(nil)
	require.Equal(t, 488, budget.Tokens(), "Reset after a loop forgets the retry")
}

// A success at the first attempt deposits SuccessRefund, whatever was done with the policy before.
func TestBudgetBefore(t *testing.T) {
	for name, test := range map[string]struct {
		before func(t *testing.T, b backoff.BackOff, retry retry)
		spent  int
	}{
		"an operation that panicked in a retry": {func(t *testing.T, b backoff.BackOff, _ retry) {
			require.Panics(t, func() { _ = backoff.Retry(breaking(errFailed), b) })
		}, 0},
		"a body that panicked in a retry, which counts as an attempt": {func(t *testing.T, b backoff.BackOff, _ retry) {
			require.Panics(t, func() { _ = attempt(breaking(errFailed), b) })
		}, 5},
		"an operation that failed in a retry": {func(t *testing.T, b backoff.BackOff, retry retry) {
			operation, _ := results(errFailed, backoff.Permanent(errFailed))
			require.Error(t, retry(operation, b))
		}, 5},
		"asked by hand": {func(t *testing.T, b backoff.BackOff, _ retry) { draws(b, 10) }, 50},
		"asked and told by hand": {func(t *testing.T, b backoff.BackOff, _ retry) {
			b.(backoff.BackOffObserver).Observe(errFailed)
			draws(b, 2)
		}, 10},
		"a decorator without Unwrap": {func(t *testing.T, b backoff.BackOff, retry retry) {
			operation, _ := failing(5)
			require.NoError(t, retry(operation, opaque{b}))
		}, 25},
		"a policy that panicked": {func(t *testing.T, b backoff.BackOff, retry retry) {
			panicking := alter(b, func(below backoff.BackOff) time.Duration {
				below.NextBackOff()
				panic("boom")
			})
			require.Panics(t, func() { _ = retry(func() error { return errFailed }, panicking) })
		}, 0},
		"a limit that stopped": {func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(func() error { return errFailed }, backoff.WithMaxRetries(b, 0)))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				budget := &backoff.Budget{Capacity: 500}
				for budget.Tokens() > 200 {
					budget.Withdraw()
				}
				b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
				test.before(t, b, retry)
				require.Equal(t, 200-test.spent, budget.Tokens())
				for i := range 2 {
					require.NoError(t, retry(func() error { return nil }, b))
					require.Equal(t, 200-test.spent+i+1, budget.Tokens())
				}
			})
		})
	}
}

// If notify panics, the cost of the retry comes back. That is no success, so the bucket
// does not grow.
func TestBudgetNotifyPanic(t *testing.T) {
	budget := &backoff.Budget{Clock: &manual{}}
	b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
	for range 10 {
		require.Panics(t, func() {
			_ = backoff.RetryNotify(func() error { return errFailed }, b, func(error, time.Duration) { panic("boom") })
		})
	}
	require.Equal(t, 25, budget.Tokens())
}

// An operation, or notify, that resets the policy of its own loop loses no token.
func TestBudgetReset(t *testing.T) {
	budget := &backoff.Budget{Capacity: 500}
	b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
	calls := 0
	require.NoError(t, backoff.Retry(func() error {
		if calls++; calls == 1 {
			return errFailed
		}
		b.Reset()
		return nil
	}, b))
	require.Equal(t, 500, budget.Tokens(), "a success after a retry gives back what it took")

	ctx, cancel := context.WithCancel(context.Background())
	inContext := backoff.WithContext(b, ctx)
	require.ErrorIs(t, backoff.RetryNotify(func() error { return errFailed }, inContext, func(error, time.Duration) {
		inContext.Reset()
		cancel()
	}), context.Canceled)
	require.Equal(t, 500, budget.Tokens(), "the retry was not made")
}

func TestBudgetFields(t *testing.T) {
	for name, test := range map[string]struct {
		budget                      *backoff.Budget
		full, withdrawals, refilled int
	}{
		"small":              {&backoff.Budget{Capacity: 7, RetryCost: 2, SuccessRefund: 3}, 7, 3, 4},
		"capacity negative":  {&backoff.Budget{Capacity: -1}, 0, 0, 0},
		"cost negative":      {&backoff.Budget{RetryCost: -1}, 0, 1000, 0},
		"refund negative":    {&backoff.Budget{SuccessRefund: -1}, 25, 5, 0},
		"refund too large":   {&backoff.Budget{Capacity: 10, SuccessRefund: math.MaxInt}, 10, 2, 10},
		"cost too large":     {&backoff.Budget{Capacity: 10, RetryCost: 11}, 10, 0, 10},
		"the last token":     {&backoff.Budget{Capacity: 1, RetryCost: 1}, 1, 1, 1},
		"cost is all":        {&backoff.Budget{Capacity: 10, RetryCost: 10}, 10, 1, 1},
		"cost alone":         {&backoff.Budget{RetryCost: 14}, 70, 5, 1},
		"as large as can be": {&backoff.Budget{Capacity: math.MaxInt, RetryCost: math.MaxInt}, math.MaxInt, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.full, test.budget.Tokens())
			n := 0
			for n < 1000 && test.budget.Withdraw() {
				n++
			}
			require.Equal(t, test.withdrawals, n)
			test.budget.Deposit()
			require.Equal(t, test.refilled, test.budget.Tokens())
			for range 10 {
				test.budget.Deposit()
				require.GreaterOrEqual(t, test.budget.Tokens(), test.refilled)
			}
		})
	}
	for _, cost := range []int{math.MaxInt, math.MaxInt / 3, math.MaxInt / 100} {
		budget := &backoff.Budget{RetryCost: cost, Clock: &manual{}}
		for range 200 {
			before := budget.Tokens()
			require.Positive(t, before)
			budget.Deposit()
			require.GreaterOrEqual(t, budget.Tokens(), before)
		}
	}
}

// 64 goroutines empty a bucket, and deposit now and then. No token is lost or made.
func TestBudgetContention(t *testing.T) {
	const capacity = 500_004
	budget := &backoff.Budget{Capacity: capacity, SuccessRefund: 2}
	type count struct{ retries, deposits int }
	counts := make(chan count)
	for range 64 {
		go func() {
			var n count
			for budget.Withdraw() {
				n.retries++
				if n.retries%3 == 0 {
					budget.Deposit()
					n.deposits++
				}
			}
			counts <- n
		}()
	}

	var all count
	for range 64 {
		n := <-counts
		all.retries += n.retries
		all.deposits += n.deposits
	}
	require.Equal(t, capacity+2*all.deposits-5*all.retries, budget.Tokens())
	require.Less(t, budget.Tokens(), 5)
}

// A retry is paid for once, whether a decorator asks the policy below never or often, and given back once.
// That the budget cannot pay ends the loop whatever the decorator answers.
func TestBudgetAsked(t *testing.T) {
	for asks := range 4 {
		for tokens, want := range map[int]error{0: backoff.ErrBudgetExhausted, 5: context.Canceled, 10: context.Canceled} {
			budget := &backoff.Budget{Capacity: 100}
			for budget.Tokens() > tokens {
				require.True(t, budget.Withdraw())
			}
			ctx, cancel := context.WithCancel(context.Background())
			b := backoff.WithContext(insist(backoff.WithBudget(&backoff.ZeroBackOff{}, budget), asks), ctx)
			err := backoff.RetryNotify(func() error { return errFailed }, b, func(error, time.Duration) {
				require.Equal(t, tokens-5, budget.Tokens())
				cancel()
			})
			cancel()
			require.ErrorIs(t, err, want, "%d asks", asks)
			require.Equal(t, tokens, budget.Tokens(), "%d asks", asks)
		}
	}
}
