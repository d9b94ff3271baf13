package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The names of the ways to call a service in tables, charts and the documentation.
const (
	noRetries    = "no retries"
	three        = "3 retries"
	threeBudget  = "3 retries, budget"
	threeSmall   = "Capacity 5"
	untilDone    = "no limit of time"
	placeEach    = "a place for each attempt"
	placeInside  = "a place inside the timeout"
	semaphore    = "a semaphore around the loop"
	own          = "Retrier, own rate"
	ownBudget    = "Retrier, own rate, budget"
	ownOnce      = "slots of own rate, no retries"
	third        = "Retrier, a third"
	half         = "Retrier, half"
	halfBudget   = "Retrier, half, budget"
	halfTen      = "Retrier, half, 10 retries"
	halfTwenty   = "Retrier, half, 20 retries"
	halfForever  = "Retrier, half, no limit of time"
	innerOnly    = "Retrier, half, retries behind"
	outerOnly    = "Retrier, half, retries in front"
	twoLate      = "2 retries from 5 s"
	defaultWaits = "default waits"
	longWaits    = "first wait 2 N / spare"
	longFull     = "first wait 2 N / spare, FullJitter"
	longDelay    = "first wait 2 N / spare, delayed"
)

// way is a way to call a service. The code is that of programs.
type way struct {
	name string

	// process returns what a process makes its calls with.
	process func(plan) caller

	// inner is what a service in front makes its own calls with. Nil means process.
	inner func(plan) caller
}

// caller makes a call.
type caller func(context.Context, *call) error

// second returns what a service in front makes its calls with.
func (s way) second() func(plan) caller {
	if s.inner != nil {
		return s.inner
	}
	return s.process
}

// policyFunc returns a new policy, for one call.
type policyFunc func(*rand.Rand) backoff.BackOff

// exponential returns the default policy, changed by opts.
func exponential(opts ...backoff.ExponentialBackOffOpts) policyFunc {
	return func(random *rand.Rand) backoff.BackOff {
		return backoff.NewExponentialBackOff(append(opts, backoff.WithRand(random))...)
	}
}

// limited returns policies with a limit to their retries.
func limited(retries uint64, policy policyFunc) policyFunc {
	return func(random *rand.Rand) backoff.BackOff { return backoff.WithMaxRetries(policy(random), retries) }
}

// The policies of several ways.
var (
	threeTimes = limited(3, exponential())
	forever    = exponential(backoff.WithMaxElapsedTime(0))
	fiveLater  = backoff.WithInitialInterval(5 * time.Second)
)

// patient returns policies with so many retries, and no limit of time.
func patient(retries uint64) policyFunc { return limited(retries, forever) }

// attempt makes an attempt with a timeout of its own.
func attempt(ctx context.Context, timeout time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return request(ctx)
}

// once makes no retries.
func once(p plan) caller {
	return func(ctx context.Context, c *call) error { return attempt(ctx, p.timeout, c.request) }
}

// plain retries with a policy.
func plain(policy policyFunc) func(plan) caller {
	return func(p plan) caller {
		return func(ctx context.Context, c *call) error {
			return backoff.Retry(func() error {
				return attempt(ctx, p.timeout, c.request)
			}, backoff.WithContext(policy(c.random), ctx))
		}
	}
}

// budgeted retries with a policy, and a budget in each process.
func budgeted(policy policyFunc, capacity int) func(plan) caller {
	return func(p plan) caller {
		service := backoff.Retrier{AttemptTimeout: p.timeout, MaxRetries: math.MaxInt, Budget: &backoff.Budget{Capacity: capacity}}
		return func(ctx context.Context, c *call) error {
			service := service
			service.Policy = func() backoff.BackOff { return policy(c.random) }
			return service.Do(ctx, c.request)
		}
	}
}

var errNoPlace = errors.New("no place")

// placed retries with a policy, and takes a place for each attempt. It waits for that no longer than the timeout of an
// attempt, which then begins, or has begun already if it is inside.
func placed(policy policyFunc, inside bool) func(plan) caller {
	return func(p plan) caller {
		places := make(chan struct{}, p.slots(0.5))
		return func(ctx context.Context, c *call) error {
			return backoff.Retry(func() error {
				waiting, cancel := context.WithTimeout(ctx, p.timeout)
				defer cancel()
				select {
				case places <- struct{}{}:
					defer func() { <-places }()
				case <-waiting.Done():
					return errNoPlace
				}
				if inside {
					return c.request(waiting)
				}
				return attempt(ctx, p.timeout, c.request)
			}, backoff.WithContext(policy(c.random), ctx))
		}
	}
}

// semaphored retries with a policy, inside a semaphore for which a call waits until its context ends.
func semaphored(policy policyFunc) func(plan) caller {
	return func(p plan) caller {
		places := make(chan struct{}, p.slots(0.5))
		return func(ctx context.Context, c *call) error {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				return ctx.Err()
			}
			return plain(policy)(p)(ctx, c)
		}
	}
}

// retrier calls by a Retrier whose slots are a share of what the service can do within the timeout of an attempt.
func retrier(share float64, policy policyFunc, budget bool) func(plan) caller {
	return func(p plan) caller {
		service := backoff.Retrier{
			AttemptTimeout: p.timeout,
			MaxRetries:     math.MaxInt,
			Slots:          backoff.NewSlots(p.slots(share)),
		}
		if budget {
			service.Budget = &backoff.Budget{}
		}
		return func(ctx context.Context, c *call) error {
			service := service // with random numbers of the call's
			service.Policy = func() backoff.BackOff { return policy(c.random) }
			return service.Do(ctx, c.request)
		}
	}
}

// ownRate calls by a Retrier whose slots are three quarters of the calls that the process makes in a second, times the timeout.
func ownRate(policy policyFunc, budget bool) func(plan) caller {
	return func(p plan) caller {
		n := int(math.Round(0.75 * p.load * p.rate * p.timeout.Seconds() * p.guess / float64(p.processes)))
		service := backoff.Retrier{AttemptTimeout: p.timeout, MaxRetries: math.MaxInt, Slots: backoff.NewSlots(max(1, n))}
		if budget {
			service.Budget = &backoff.Budget{}
		}
		return func(ctx context.Context, c *call) error {
			service := service
			service.Policy = func() backoff.BackOff { return policy(c.random) }
			return service.Do(ctx, c.request)
		}
	}
}

// delayed waits at random, up to most, before the first attempt.
func delayed(most time.Duration, process func(plan) caller) func(plan) caller {
	return func(p plan) caller {
		next := process(p)
		return func(ctx context.Context, c *call) error {
			time.Sleep(time.Duration(c.random.Int64N(int64(most))))
			return next(ctx, c)
		}
	}
}
