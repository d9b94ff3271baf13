//go:build go1.25

package backoff_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// succeeding deposits n times a second for as long as d. The caller is in a bubble.
func succeeding(budget *backoff.Budget, n int, d time.Duration) {
	for range n * int(d.Seconds()) {
		time.Sleep(time.Second / time.Duration(n))
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

// spender returns a Retrier without waits and with as many retries as the budget pays for.
func spender(budget *backoff.Budget) *backoff.Retrier {
	return &backoff.Retrier{Budget: budget, MaxAttempts: -1, Policy: func() backoff.BackOff { return &backoff.ZeroBackOff{} }}
}

// A new bucket pays for five retries, and time alone for none.
func TestBudgetZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := new(backoff.Budget)
		budget.Deposit()
		require.Equal(t, 25, budget.Tokens(), "no more than a full bucket")
		require.Equal(t, 5, spend(budget))
		require.Zero(t, budget.Tokens())

		for _, idle := range []time.Duration{time.Second, time.Minute, time.Hour, 100 * 365 * 24 * time.Hour} {
			time.Sleep(idle)
			require.Zero(t, budget.Tokens(), idle)
			require.False(t, budget.Withdraw())
		}
		for range 5 {
			budget.Deposit()
		}
		require.Equal(t, 1, spend(budget), "five successes pay for one")
	})
}

// A full bucket pays for about as many retries as there were successes in three seconds.
func TestBudgetSize(t *testing.T) {
	for _, n := range []int{20, 100, 1000} {
		synctest.Test(t, func(t *testing.T) {
			budget := new(backoff.Budget)
			succeeding(budget, n, 30*time.Second)
			require.InEpsilon(t, 5*3*n, budget.Tokens(), 0.02)

			time.Sleep(3 * time.Second)
			require.InEpsilon(t, 5*3*float64(n)/math.E, budget.Tokens(), 0.02)
			time.Sleep(20 * time.Second)
			require.Equal(t, 25, budget.Tokens(), "23 seconds without a success")
		})
	}
}

// What was spent beyond a second full bucket is forgotten; at the floor, what was spent beyond the first.
func TestBudgetDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := new(backoff.Budget)
		succeeding(budget, 100, 30*time.Second)
		require.InDelta(t, 300, spend(budget), 5)
		missing := func() (successes int) {
			for budget.Tokens() == 0 {
				budget.Deposit()
				successes++
			}
			return successes
		}

		time.Sleep(6 * time.Second)
		// A full bucket holds 203 tokens, twice as many are owed, and a success is 5 + 1 of them.
		require.InDelta(t, 34, missing(), 2)
		time.Sleep(time.Minute)
		spend(budget)
		require.Equal(t, 1, missing())
	})
}

// A success after a retry counts for the bucket's size as one at the first attempt does, and returns
// what the retry cost.
func TestBudgetRetrySuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := new(backoff.Budget)
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			require.NoError(t, spender(budget).Do(t.Context(), returning(errFailed, nil)))
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
			synctest.Test(t, func(t *testing.T) {
				service := spender(new(backoff.Budget))
				service.MaxAttempts = 4
				random := seeded()
				refused := 0
				const n = 20_000
				for range n {
					time.Sleep(10 * time.Millisecond)
					broken := random.Float64() < test.operations
					err := service.Do(t.Context(), func(context.Context) error {
						if broken || random.Float64() < test.attempts {
							return errFailed
						}
						return nil
					})
					if errors.Is(err, backoff.ErrBudgetExhausted) {
						refused++
					}
				}
				require.GreaterOrEqual(t, float64(refused)/n, test.least)
				require.LessOrEqual(t, float64(refused)/n, test.most)
			})
		})
	}
}

// Random scripts agree with a model that keeps the time of every success.
func TestBudgetModel(t *testing.T) {
	random := seeded()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			cost := 1 + random.IntN(20)
			refund := 1 + random.IntN(4)
			budget := &backoff.Budget{RetryCost: cost, SuccessRefund: refund}
			var successes []time.Time
			spent := 0
			for range 500 {
				time.Sleep(time.Duration(random.Int64N(1 << (10 + random.IntN(25)))))
				sum := 0.0
				for _, at := range successes {
					sum += math.Exp(-time.Since(at).Seconds() / 3)
				}
				full := int(max(5, sum) * float64(cost))
				if sum <= 5 {
					spent = min(spent, full)
				}
				spent = min(spent, 2*full)
				require.InDelta(t, max(0, full-spent), budget.Tokens(), 1)

				if random.IntN(3) > 0 {
					budget.Deposit()
					successes = append(successes, time.Now())
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
		})
	}
}

// The AWS SDKs' former retry quota: 500 tokens at 5 a retry, 1 for a success at the first attempt.
func TestBudgetQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &backoff.Budget{Capacity: 500}
		service := spender(budget)
		service.MaxAttempts = 2
		attempts := 0
		service.Done = func(_ context.Context, n int, _ error) { attempts = n }
		run := func(outcomes ...error) error { return service.Do(t.Context(), returning(outcomes...)) }

		for i := range 100 {
			require.ErrorIs(t, run(errFailed), backoff.ErrRetriesExhausted)
			require.Equal(t, 2, attempts)
			require.Equal(t, 500-5*(i+1), budget.Tokens())
		}
		err := run(errFailed)
		require.Equal(t, 1, attempts, "the 101st is not retried")
		require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
		require.ErrorIs(t, err, errFailed)
		require.EqualError(t, err, "retry budget exhausted: failed")

		for i := range 5 { // five successes at the first attempt buy one retry
			require.ErrorIs(t, run(errFailed), backoff.ErrBudgetExhausted)
			require.NoError(t, run(nil))
			require.Equal(t, i+1, budget.Tokens())
		}
		require.NoError(t, run(errFailed, nil))
		require.Equal(t, 2, attempts)
		require.Equal(t, 5, budget.Tokens(), "a success after a retry gives back what the retry took, no more")
	})
}

// What the budget of 100 tokens holds after a call: 5 fewer for each retry that failed, and what a retry took comes
// back if the retry has succeeded, or has no outcome.
func TestBudgetCharge(t *testing.T) {
	for name, test := range map[string]struct {
		service backoff.Retrier
		op      func(cancel func()) func(context.Context) error
		left    int
	}{
		"success": {backoff.Retrier{}, ending(nil), 100},
		"success after a retry": {
			backoff.Retrier{}, ending(errFailed, nil), 100,
		},
		"success after three retries": {
			backoff.Retrier{}, ending(errFailed, errFailed, errFailed, nil), 90,
		},
		"no retries left": {backoff.Retrier{}, ending(errFailed), 85},
		"permanent":       {backoff.Retrier{}, ending(backoff.Permanent(errFailed)), 100},
		"permanent after a retry": {
			backoff.Retrier{}, ending(errFailed, backoff.Permanent(errFailed)), 95,
		},
		"refused by Retryable": {
			backoff.Retrier{Retryable: func(error) bool { return false }}, ending(errFailed), 100,
		},
		"the policy stops": {backoff.Retrier{Policy: every()}, ending(errFailed), 100},
		"a server's wait is too long": {
			backoff.Retrier{}, ending(backoff.RetryAfter(errFailed, time.Hour)), 100,
		},
		"the wait is too late": {backoff.Retrier{Policy: every(time.Hour)}, ending(errFailed), 100},
		"ctx ends in the attempt": {backoff.Retrier{}, func(cancel func()) func(context.Context) error {
			return func(context.Context) error {
				cancel()
				return errFailed
			}
		}, 100},
		"ctx ends in the wait": {backoff.Retrier{Policy: every(10 * time.Minute)}, func(cancel func()) func(context.Context) error {
			return func(context.Context) error {
				time.AfterFunc(time.Second, cancel)
				return errFailed
			}
		}, 100},
		"Notify panics": {backoff.Retrier{Notify: func(context.Context, int, error, time.Duration) { panic("boom") }},
			ending(errFailed), 100},
		"op panics in the retry": {backoff.Retrier{}, func(func()) func(context.Context) error {
			calls := 0
			return func(context.Context) error {
				calls++
				if calls == 2 {
					panic("boom")
				}
				return errFailed
			}
		}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				test.service.Budget = &backoff.Budget{Capacity: 100, SuccessRefund: -1}
				func() {
					defer func() { _ = recover() }()
					_ = test.service.Do(ctx, test.op(cancel))
				}()
				require.Equal(t, test.left, test.service.Budget.Tokens())
			})
		})
	}
}

// If Notify panics, what the retry took comes back. That is no success, so the bucket does not grow.
func TestBudgetNotifyPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := spender(new(backoff.Budget))
		service.Notify = func(context.Context, int, error, time.Duration) { panic("boom") }
		for range 10 {
			require.Panics(t, func() { _ = service.Do(t.Context(), returning(errFailed)) })
		}
		require.Equal(t, 25, service.Budget.Tokens())
	})
}

// ending returns an op with these outcomes, which does not cancel its context.
func ending(errs ...error) func(func()) func(context.Context) error {
	return func(func()) func(context.Context) error { return returning(errs...) }
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
		budget := &backoff.Budget{RetryCost: cost}
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

// FuzzBudget uses a Budget with arbitrary fields and times. It pays if and only if it has what a retry
// costs, and it never holds less than nothing.
func FuzzBudget(f *testing.F) {
	f.Add(0, 0, 0, []byte{0, 1, 9, 2, 30, 0, 60, 1})
	f.Add(-1, -1, -1, []byte{1, 0, 255, 1})
	f.Add(math.MaxInt, math.MaxInt, math.MaxInt, []byte{1, 0, 63, 1})
	f.Fuzz(func(t *testing.T, capacity, cost, refund int, steps []byte) {
		synctest.Test(t, func(t *testing.T) {
			budget := &backoff.Budget{Capacity: capacity, RetryCost: cost, SuccessRefund: refund}
			price := max(0, cost)
			if cost == 0 {
				price = 5
			}
			for _, step := range steps {
				before := budget.Tokens()
				require.GreaterOrEqual(t, before, 0)
				switch step {
				case 0:
					budget.Deposit()
					require.GreaterOrEqual(t, budget.Tokens(), before)
				case 1:
					require.Equal(t, before >= price, budget.Withdraw())
				default:
					time.Sleep(1 << (step / 5))
				}
			}
		})
	})
}
