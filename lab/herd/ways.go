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
	byNumber    = "slots by number"
	slots       = "slots"
	slotsBudget = "slots, budget"
	slotsOnce   = "slots, no retries"
	slotsTen    = "slots, 10 retries"
	slotsOn     = "slots, no limit"
	half        = "slots of half the capacity"
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
	slots   func(p plan, process int) *backoff.Slots // nil: without
	budget  func() *backoff.Budget                   // nil: without
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
		shared.Slots = s.slots(p, process)
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

// sized are slots that size themselves.
func sized(plan, int) *backoff.Slots { return new(backoff.Slots) }

// numbered are slots by the number of ownRate.
func numbered(p plan, process int) *backoff.Slots { return backoff.NewSlots(ownRate(p, process)) }

// ownRate is the number of slots that is right for who knows it: three quarters of the calls that a process makes in
// a second, at its busiest × the timeout of an attempt, to the nearest, at least one. Processes that come with the
// trouble have the slots of those that ran before.
func ownRate(p plan, process int) int {
	busiest := process % p.processes
	if p.move > 0 {
		busiest = p.processes - 1 // each has been that
	}
	calls := p.demand() * p.traffic(p.processes)[busiest]
	if p.within > 0 {
		calls = float64(p.atOnce) / p.within.Seconds() / float64(p.processes)
	}
	return max(1, int(math.Round(0.75*calls*p.guess*p.timeout.Seconds())))
}

// halfCapacity are half of the slots that the service can answer within the timeout of an attempt, over all
// processes.
func halfCapacity(p plan, _ int) *backoff.Slots {
	all := 0.5 * p.rate * p.guess * p.timeout.Seconds()
	return backoff.NewSlots(max(1, int(all/float64(p.processes))))
}

// budget is one that sizes itself.
func budget() *backoff.Budget { return new(backoff.Budget) }

// handlerWays are those in which somebody waits for the calls.
func handlerWays(plan) []way {
	return []way{
		{noRetries, settings{retries: none}.process},
		{three, settings{retries: 3}.process},
		{threeBudget, settings{retries: 3, budget: budget}.process},
		{byNumber, settings{retries: 3, slots: numbered}.process},
		{slots, settings{retries: 3, slots: sized}.process},
		{slotsBudget, settings{retries: 3, slots: sized, budget: budget}.process},
		{slotsOnce, settings{retries: none, slots: sized}.process},
	}
}

// eventWays are those of calls that can wait.
func eventWays(p plan) []way {
	return append(handlerWays(p),
		way{slotsTen, settings{retries: 10, slots: sized}.process},
		way{slotsOn, settings{retries: noLimit, slots: sized}.process},
	)
}

// batchWays are those of many calls at once.
func batchWays(plan) []way {
	return []way{
		{noRetries, settings{retries: none}.process},
		{three, settings{retries: 3}.process},
		{slots, settings{retries: 3, slots: sized}.process},
		{half, settings{retries: 3, slots: halfCapacity}.process},
		{halfTwenty, settings{retries: 20, slots: halfCapacity}.process},
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
