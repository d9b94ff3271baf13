package main

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"

	"example.com/backoff"
)

// The names of other rules.
const (
	threeFixed = "3 retries, budget of 500"
	adaptive   = "failsafe-go, adaptive limiter"
	throttling = "failsafe-go, adaptive throttler"
)

// ruleWays are three retries by rules that others have: a budget of a fixed size, and failsafe-go's limiters around
// each attempt, set up as its pages show them. An attempt that they refuse counts as one, as in a retry policy around
// them.
var ruleWays = []way{
	{threeFixed, settings{retries: 3, budget: func() *backoff.Budget { return &backoff.Budget{Capacity: 500} }}.process},
	{adaptive, limited(adaptiveLimiter)},
	{throttling, limited(adaptiveThrottler)},
}

// limiter makes an attempt of a call, or refuses to.
type limiter func(ctx context.Context, c *call) error

// errLimited is that of an attempt that a limiter refuses.
var errLimited = errors.New("refused by the client")

// limited makes three retries, by a limiter in each process.
func limited(newLimiter func() limiter) func(plan, int) caller {
	return func(plan, int) caller {
		limiter := newLimiter()
		return func(ctx context.Context, c *call) error {
			service := backoff.Retrier{
				AttemptTimeout: -1, // the limiter's line comes before the timeout
				MaxRetries:     3,
				Policy:         func() backoff.BackOff { return c.waits() },
			}
			return service.Do(ctx, func(ctx context.Context) error { return limiter(ctx, c) })
		}
	}
}

// adaptiveLimiter limits the attempts by how long they take. It refuses, as WithQueueing(2, 3) does, what would make
// its line longer than two to three times the limit. WithQueueing itself has random numbers without a seed.
func adaptiveLimiter() limiter {
	const refusesFrom = 2
	limit := adaptivelimiter.NewBuilder[any]().
		WithLimits(1, 100, 20).
		WithRecentWindow(time.Second, 30*time.Second, 50).
		WithBaselineWindow(10).
		Build()
	return func(ctx context.Context, c *call) error {
		line := float64(limit.Queued()) / float64(limit.Limit())
		if !limit.CanAcquirePermit() && line-refusesFrom > c.random.Float64() {
			return errLimited
		}
		permit, err := limit.AcquirePermit(ctx)
		if err != nil {
			return err
		}

		err = c.attempt(ctx)
		if ctx.Err() != nil {
			permit.Drop()
		} else {
			permit.Record()
		}
		return err
	}
}

// adaptiveThrottler refuses attempts at random, at a rate that grows with the share that failed in the last minute. The
// throttler's own random numbers have no seed, so it is asked for the rate alone.
func adaptiveThrottler() limiter {
	throttler := adaptivethrottler.NewBuilder[any]().
		WithFailureRateThreshold(0.1, 5, time.Minute).
		WithMaxRejectionRate(0.9).
		Build()
	return func(ctx context.Context, c *call) error {
		_ = throttler.AcquirePermit() // sets the rate
		if c.random.Float64() < throttler.RejectionRate() {
			return errLimited
		}
		err := c.attempt(ctx)
		throttler.RecordError(err)
		return err
	}
}
