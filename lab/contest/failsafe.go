package main

import (
	"cmp"
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	timeouts "github.com/failsafe-go/failsafe-go/timeout"
)

// maker makes a policy of failsafe-go for a process.
type maker func(process) failsafe.Policy[any]

var failsafeWays = []way{
	{"failsafe", "default", []setting{
		{"default", "2 retries without waits", composed(func(process) failsafe.Policy[any] { return retrypolicy.NewWithDefaults[any]() })},
		{"waits", "3 retries with waits", composed(retries())},
	}},
	{"failsafe-budget", "10 %", []setting{
		{"default", "for 20 % of the calls in progress, at least 3", composed(budgeted(budget.New))},
		{"10 %", "for 10 %, at least 1", composed(budgeted(budget.NewBuilder().WithMaxRate(0.1).WithMinConcurrency(1).Build))},
	}},
	{"failsafe-limiter", "outside, quick", []setting{
		{"default", "around each attempt", composed(retries(), limiters(adaptivelimiter.NewBuilder[any]))},
		{"queue", "with its queue", composed(retries(), limiters(queueing))},
		{"outside", "with its queue, around the retries", composed(limiters(queueing), retries())},
		{"quick", "limits of 1 to 200 from 5, windows of 10 samples, a queue of 10 to 20 times that, for 4 s",
			composed(retries(), limiters(quick))},
		{"outside, quick", "the same around the retries", composed(limiters(quick), retries())},
	}},
	{"failsafe-throttler", "10 s, final", []setting{
		{"default", "10 % in a minute, around each attempt", composed(retries(), throttlers(adaptivethrottler.NewBuilder[any]()))},
		{"10 s", "50 % of at least 10 in 10 s", composed(retries(), throttlers(half()))},
		{"10 s, final", "the same, and what it refuses is not retried", composed(retries(adaptivethrottler.ErrExceeded), throttlers(half()))},
	}},
	{"failsafe-breaker", "5 s", []setting{
		{"example", "opens after 5 failures in a row, for a minute, and closes after 2 successes", composed(retries(), exampleBreaker)},
		{"5 s", "opens at half of at least 10 in 10 s, for 5 s, half of that up or down, then 3 probes",
			composed(retries(), rolling(5*time.Second))},
		{"5 s, final", "the same, and a call that finds it open is not retried",
			composed(retries(circuitbreaker.ErrOpen), rolling(5*time.Second))},
		{"1 s", "for 1 s", composed(retries(), rolling(time.Second))},
		{"1 s, final", "for 1 s, and a call that finds it open is not retried", composed(retries(circuitbreaker.ErrOpen), rolling(time.Second))},
	}},
	{"failsafe-bulkhead", "five, 4 s", []setting{
		{"ten", "10 calls at once around the retries, none waits", composed(bulkheads(10, 0), retries())},
		{"ten, 4 s", "the others wait for 4 s", composed(bulkheads(10, patience), retries())},
		{"five, 4 s", "5 calls, the others wait for 4 s", composed(bulkheads(5, patience), retries())},
		{"right, 4 s", "as many as are right, the others wait for 4 s", composed(bulkheads(0, patience), retries())},
	}},
}

// composed composes policies around the timeout of an attempt. The first is the outermost.
func composed(makers ...maker) func(process) caller {
	return func(p process) caller {
		var policies []failsafe.Policy[any]
		for _, of := range makers {
			policies = append(policies, of(p))
		}
		executor := failsafe.With(append(policies, timeouts.New[any](timeout))...)
		return func(ctx context.Context) error {
			return executor.WithContext(ctx).RunWithExecution(func(e failsafe.Execution[any]) error { return p.do(e.Context()) })
		}
	}
}

// retries are three, with seeded waits. They end with some errors.
func retries(final ...error) maker {
	return func(process) failsafe.Policy[any] { return retryBuilder().AbortOnErrors(final...).Build() }
}

func retryBuilder() retrypolicy.Builder[any] {
	return retrypolicy.NewBuilder[any]().WithMaxRetries(3).WithDelayFunc(func(e failsafe.ExecutionAttempt[any]) time.Duration {
		return delay(e.Attempts(), randomOf(e.Context()).Float64())
	})
}

func budgeted(build func() budget.Budget) maker {
	return func(process) failsafe.Policy[any] { return retryBuilder().WithBudget(build()).Build() }
}

func limiters(builder func() adaptivelimiter.Builder[any]) maker {
	return func(process) failsafe.Policy[any] { return builder().Build() }
}

func queueing() adaptivelimiter.Builder[any] {
	return adaptivelimiter.NewBuilder[any]().WithQueueing(2, 3)
}

func quick() adaptivelimiter.Builder[any] {
	return adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 5).WithRecentWindow(time.Second, 30*time.Second, 10).
		WithQueueing(10, 20).WithMaxWaitTime(patience)
}

func throttlers(b adaptivethrottler.Builder[any]) maker {
	return func(process) failsafe.Policy[any] { return b.Build() }
}

func half() adaptivethrottler.Builder[any] {
	return adaptivethrottler.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second)
}

func exampleBreaker(process) failsafe.Policy[any] {
	return circuitbreaker.NewBuilder[any]().WithFailureThreshold(5).WithDelay(time.Minute).WithSuccessThreshold(2).Build()
}

// rolling is a breaker whose time to stay open is seeded.
func rolling(open time.Duration) maker {
	return func(p process) failsafe.Policy[any] {
		return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 10, 10*time.Second).WithSuccessThreshold(3).
			WithDelayFunc(func(failsafe.ExecutionAttempt[any]) time.Duration {
				return time.Duration((0.5 + p.random.Float64()) * float64(open))
			}).Build()
	}
}

// bulkheads let size calls at once through, or as many as are right for zero.
func bulkheads(size int, longest time.Duration) maker {
	return func(p process) failsafe.Policy[any] {
		return bulkhead.NewBuilder[any](uint(cmp.Or(size, p.right()))).WithMaxWaitTime(longest).Build()
	}
}
