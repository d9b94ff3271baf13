package main

import (
	"context"
	"math"
	"time"

	"example.com/backoff"
)

// The names of the ways to call a service in tables, charts and the documentation.
const (
	noRetries   = "no retries"
	three       = "3 retries"
	threeBudget = "3 retries, budget"
	own         = "slots of the own rate"
	ownBudget   = "slots of the own rate, budget"
	ownOnce     = "slots of the own rate, no retries"
	ownTen      = "slots of the own rate, 10 retries"
	ownForever  = "slots of the own rate, no limit"
	ownApart    = "slots of the own rate, budget, apart"
	half        = "slots of half the capacity"
	halfBudget  = "slots of half the capacity, budget"
	halfTwenty  = "slots of half the capacity, 20 retries"
	twoLate     = "2 retries from 5 s"
	usualWaits  = "default waits"
	longWaits   = "first wait 2 N / spare"
	longDelay   = "first wait 2 N / spare, delayed"
)

// way is a way to call a service. The code is that of programs.
type way struct {
	name string

	// process returns what one of the processes makes its calls with.
	process func(p plan, number int) caller
}

// caller makes a call.
type caller func(context.Context, *call) error

// settings are those of a Retrier, in each process.
type settings struct {
	retries int
	slots   func(p plan, process int) int // nil: without
	budget  func() *backoff.Budget        // nil: without
	waits   []backoff.ExponentialBackOffOpts
}

// Numbers of retries, besides positive ones.
const (
	none    = -1
	noLimit = math.MaxInt
)

// process calls by a Retrier with these settings.
func (s settings) process(p plan, process int) caller {
	shared := backoff.Retrier{AttemptTimeout: p.timeout, MaxRetries: s.retries}
	if s.slots != nil {
		shared.Slots = backoff.NewSlots(s.slots(p, process))
	}
	if s.budget != nil {
		shared.Budget = s.budget()
	}

	return func(ctx context.Context, c *call) error {
		service := shared
		service.Policy = func() backoff.BackOff { return c.waits(s.waits...) }
		return service.Do(ctx, c.request)
	}
}

// ownRate counts slots as the documentation of backoff.Slots does: three quarters of the calls that the process makes
// in a second × the timeout of an attempt, to the nearest, at least one. Processes that come with the trouble have the
// slots of those that ran before.
func ownRate(p plan, process int) int {
	calls := p.demand() * p.traffic(p.processes)[process%p.processes] * p.guess
	return max(1, int(math.Round(0.75*calls*p.timeout.Seconds())))
}

// capacityShare counts slots by a share of what the service can do within the timeout of an attempt, over all
// processes.
func capacityShare(share float64) func(plan, int) int {
	return func(p plan, _ int) int {
		all := share * p.rate * p.guess * p.timeout.Seconds()
		return max(1, int(all/float64(p.processes)))
	}
}

// sized is a budget that sizes itself.
func sized() *backoff.Budget { return new(backoff.Budget) }

// handlerWays are those in which somebody waits for the calls.
func handlerWays(p plan) []way {
	ways := []way{
		{noRetries, settings{retries: none}.process},
		{three, settings{retries: 3}.process},
		{threeBudget, settings{retries: 3, budget: sized}.process},
		{own, settings{retries: 3, slots: ownRate}.process},
		{ownBudget, settings{retries: 3, slots: ownRate, budget: sized}.process},
		{ownOnce, settings{retries: none, slots: ownRate}.process},
		{half, settings{retries: 3, slots: capacityShare(0.5)}.process},
		{halfBudget, settings{retries: 3, slots: capacityShare(0.5), budget: sized}.process},
	}
	if p.throttled > 0 {
		ways = append(ways, way{ownApart, apart(settings{retries: 3, slots: ownRate, budget: sized})})
	}
	return ways
}

// eventWays are those of calls that can wait.
func eventWays(p plan) []way {
	return append(handlerWays(p),
		way{ownTen, settings{retries: 10, slots: ownRate}.process},
		way{ownForever, settings{retries: noLimit, slots: ownRate}.process},
	)
}

// apart gives the calls that the service holds off a Retrier of their own.
func apart(s settings) func(plan, int) caller {
	return func(p plan, process int) caller {
		usual, held := s.process(p, process), s.process(p, process)
		return func(ctx context.Context, c *call) error {
			if c.until > 0 {
				return held(ctx, c)
			}
			return usual(ctx, c)
		}
	}
}

// batchWays are those of many calls at once.
func batchWays(plan) []way {
	return []way{
		{noRetries, settings{retries: none}.process},
		{three, settings{retries: 3}.process},
		{half, settings{retries: 3, slots: capacityShare(0.5)}.process},
		{halfBudget, settings{retries: 3, slots: capacityShare(0.5), budget: sized}.process},
		{halfTwenty, settings{retries: 20, slots: capacityShare(0.5)}.process},
	}
}

// deviceWays are those of clients that do not know of each other. Their first wait is 2 N / spare capacity, with the
// spare capacity that somebody has guessed, and the longest four times that.
func deviceWays(p plan) []way {
	spare := (p.rate - p.neighbours) * p.guess
	first := seconds(2 * float64(p.atOnce) / spare)
	long := settings{retries: noLimit, waits: []backoff.ExponentialBackOffOpts{
		backoff.WithInitialInterval(first),
		backoff.WithMaxInterval(4 * first),
	}}
	return []way{
		{usualWaits, settings{retries: noLimit}.process},
		{longWaits, long.process},
		{longDelay, delayed(first, long)},
	}
}

// delayed waits at random, up to most, before the first attempt.
func delayed(most time.Duration, s settings) func(plan, int) caller {
	return func(p plan, process int) caller {
		next := s.process(p, process)
		return func(ctx context.Context, c *call) error {
			time.Sleep(time.Duration(c.random.Int64N(int64(most))))
			return next(ctx, c)
		}
	}
}

// toolWays are those of processes that make one call.
func toolWays(plan) []way {
	late := []backoff.ExponentialBackOffOpts{backoff.WithInitialInterval(5 * time.Second)}
	return []way{
		{noRetries, settings{retries: none}.process},
		{twoLate, settings{retries: 2, waits: late}.process},
	}
}
