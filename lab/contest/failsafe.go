package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	policies "github.com/failsafe-go/failsafe-go/timeout"
)

type policy = failsafe.Policy[any]

// failsafeWays are those of failsafe-go. Of its policies, a new one is made for each process; the first is the
// outermost.
var failsafeWays = []way{
	{"failsafe", "default", []setting{
		{"default", "2 retries without waits", composed(func(process) []policy { return []policy{retrypolicy.NewWithDefaults[any]()} })},
		{"waits", "3 retries with waits", composed(func(process) []policy { return []policy{retries().Build()} })},
	}},
	{"failsafe-budget", "10 %", []setting{
		{"default", "for 20 % of the calls in progress, at least 3", budgeted(budget.New)},
		{"10 %", "for 10 %, at least 1", budgeted(budget.NewBuilder().WithMaxRate(0.1).WithMinConcurrency(1).Build)},
	}},
	{"failsafe-limiter", "outside, quick", []setting{
		{"default", "around each attempt", inside(func() policy { return adaptivelimiter.NewWithDefaults[any]() })},
		{"queue", "with its queue", inside(limiters(adaptivelimiter.NewBuilder[any]().WithQueueing(2, 3)))},
		{"outside", "with its queue, around the retries", outside(limiters(adaptivelimiter.NewBuilder[any]().WithQueueing(2, 3)))},
		{"outside, quick", "limits of 1 to 200 from 5, windows of 10 samples, a queue of 10 to 20 times that, for 4 s", outside(limiters(quick()))},
		{"quick", "the same around each attempt", inside(limiters(quick()))},
	}},
	{"failsafe-throttler", "10 s, final", []setting{
		{"default", "10 % in a minute, around each attempt", inside(func() policy { return adaptivethrottler.NewWithDefaults[any]() })},
		{"10 s", "50 % of at least 10 in 10 s", inside(throttler)},
		{"10 s, final", "the same, and what it refuses is not retried", composed(func(process) []policy {
			return []policy{retries().AbortOnErrors(adaptivethrottler.ErrExceeded).Build(), throttler()}
		})},
	}},
	{"failsafe-breaker", "5 s", []setting{
		{"example", "as in its documentation: opens after 5 failures in a row, for a minute, closes after 2 successes", inside(breaker(
			circuitbreaker.NewBuilder[any]().WithFailureThreshold(5).WithDelay(time.Minute).WithSuccessThreshold(2)))},
		{"5 s", "opens at half of at least 10 in 10 s, for 5 s, half of that up or down, then 3 probes", inside(breaker(rolling(5 * time.Second)))},
		{"5 s, final", "the same, and a call that finds it open is not retried", finalBreaker(5 * time.Second)},
		{"1 s", "for 1 s", inside(breaker(rolling(time.Second)))},
		{"1 s, final", "for 1 s, and a call that finds it open is not retried", finalBreaker(time.Second)},
	}},
	{"failsafe-bulkhead", "five, 4 s", []setting{
		{"ten", "10 calls at once around the retries, none waits", composed(func(process) []policy {
			return []policy{bulkhead.New[any](10), retries().Build()}
		})},
		{"ten, 4 s", "the others wait for 4 s", bulkheads(func(process) int { return 10 })},
		{"five, 4 s", "5 calls, the others wait for 4 s", bulkheads(func(process) int { return 5 })},
		{"right, 4 s", "as many as are right, the others wait for 4 s", bulkheads(process.right)},
	}},
}

// composed composes policies around the timeout of an attempt.
func composed(with func(process) []policy) func(process) caller {
	return func(p process) caller {
		executor := failsafe.With(append(with(p), policies.New[any](timeout))...)
		return func(ctx context.Context) error {
			return executor.WithContext(ctx).RunWithExecution(func(e failsafe.Execution[any]) error { return p.do(e.Context()) })
		}
	}
}

// inside puts a policy around each attempt, outside around the retries.
func inside(with func() policy) func(process) caller {
	return composed(func(process) []policy { return []policy{retries().Build(), with()} })
}

func outside(with func() policy) func(process) caller {
	return composed(func(process) []policy { return []policy{with(), retries().Build()} })
}

// retries are three, with the waits of all others.
func retries() retrypolicy.Builder[any] {
	return retrypolicy.NewBuilder[any]().WithMaxRetries(3).WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration {
		return delay(e.Attempts(), randomOf(e.Context()).Float64())
	})
}

func budgeted(build func() budget.Budget) func(process) caller {
	return composed(func(process) []policy { return []policy{retries().WithBudget(build()).Build()} })
}

func limiters(b adaptivelimiter.Builder[any]) func() policy {
	return func() policy { return b.Build() }
}

func quick() adaptivelimiter.Builder[any] {
	return adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 5).WithRecentWindow(time.Second, 30*time.Second, 10).
		WithQueueing(10, 20).WithMaxWaitTime(patience)
}

func throttler() policy {
	return adaptivethrottler.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second).Build()
}

func breaker(b circuitbreaker.Builder[any]) func() policy {
	return func() policy { return b.Build() }
}

func finalBreaker(open time.Duration) func(process) caller {
	return composed(func(process) []policy {
		return []policy{retries().AbortOnErrors(circuitbreaker.ErrOpen).Build(), breaker(rolling(open))()}
	})
}

func rolling(open time.Duration) circuitbreaker.Builder[any] {
	return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second).
		WithDelay(open).WithJitterFactor(0.5).WithSuccessThreshold(3)
}

func bulkheads(size func(process) int) func(process) caller {
	return composed(func(p process) []policy {
		return []policy{bulkhead.NewBuilder[any](uint(size(p))).WithMaxWaitTime(patience).Build(), retries().Build()}
	})
}
