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
	threeFixed  = "3 retries, budget of 500"
	byNumber    = "slots by number"
	slots       = "slots"
	slotsBudget = "slots, budget"
	slotsTen    = "slots, 10 retries"
	half        = "slots of half the capacity"
	halfTwenty  = "slots of half the capacity, 20 retries"
	twoLate     = "2 retries from 5 s"
	usualWaits  = "default waits"
	longWaits   = "first wait 2 N / spare"
	longDelay   = "first wait 2 N / spare, delayed"
)

// shapes are the kinds of programs, each with the ways in which it may call a service.
var shapes = map[string][]string{
	"handler": {noRetries, three, threeBudget, threeFixed, byNumber, slots, slotsBudget},
	"events":  {noRetries, three, slots, slotsBudget, slotsTen},
	"batch":   {noRetries, slots, half, halfTwenty},
	"burst":   {noRetries, three, slots},
	"devices": {usualWaits, longWaits, longDelay},
	"loop":    {noRetries, three, threeBudget, slots, slotsBudget},
	"tool":    {noRetries, twoLate},
}

var ways = map[string]way{
	noRetries:   {attempts: 1},
	three:       {attempts: 4},
	threeBudget: {attempts: 4, budget: budget},
	threeFixed:  {attempts: 4, budget: fixedBudget},
	byNumber:    {attempts: 4, slots: numbered},
	slots:       {attempts: 4, slots: sized},
	slotsBudget: {attempts: 4, slots: sized, budget: budget},
	slotsTen:    {attempts: 11, slots: sized},
	half:        {attempts: 4, slots: halfCapacity},
	halfTwenty:  {attempts: 21, slots: halfCapacity},
	twoLate:     {attempts: 3, first: fiveSeconds},
	usualWaits:  {attempts: noLimit},
	longWaits:   {attempts: noLimit, first: twiceTheirTime},
	longDelay:   {attempts: noLimit, first: twiceTheirTime, delayed: true},
}

// way is a way to call a service: the settings of a Retrier in each process.
type way struct {
	attempts int
	slots    func(p plan, process int) *backoff.Slots // nil: without
	budget   func() *backoff.Budget                   // nil: without
	first    func(plan) time.Duration                 // the first wait; nil: the default
	delayed  bool                                     // a call waits before its first attempt, up to the first wait
}

const noLimit = -1 // of attempts

// caller makes a call.
type caller func(context.Context, *call) error

// process returns what one of the processes makes its calls with.
func (w way) process(p plan, process int) caller {
	shared := backoff.Retrier{AttemptTimeout: p.timeout, MaxAttempts: w.attempts}
	if w.slots != nil {
		shared.Slots = w.slots(p, process)
	}
	if w.budget != nil {
		shared.Budget = w.budget()
	}
	first := time.Duration(0)
	if w.first != nil {
		first = w.first(p)
	}

	return func(ctx context.Context, c *call) error {
		if w.delayed {
			time.Sleep(time.Duration(c.random.Int64N(int64(first))))
		}
		service := shared
		if p.isLong(c) {
			service.AttemptTimeout = p.longer
		}
		service.Policy = func() backoff.BackOff {
			options := []backoff.ExponentialBackOffOpts{backoff.WithMaxElapsedTime(0), backoff.WithRand(c.random)}
			if first > 0 {
				options = append(options, backoff.WithInitialInterval(first), backoff.WithMaxInterval(4*first))
			}
			return backoff.NewExponentialBackOff(options...)
		}
		return service.Do(ctx, c.request)
	}
}

// sized are slots that size themselves.
func sized(plan, int) *backoff.Slots { return new(backoff.Slots) }

// numbered are the slots that are right for who knows their number: three quarters of the calls that a process makes in
// a second, at its busiest × the timeout of an attempt, to the nearest, at least one. Processes that come with the
// trouble have the slots of those that ran before.
func numbered(p plan, process int) *backoff.Slots {
	busiest := process % p.processes
	if p.move > 0 {
		busiest = p.processes - 1 // each has been that
	}
	calls := p.demand() * p.traffic(p.processes)[busiest]
	return backoff.NewSlots(max(1, int(math.Round(0.75*calls*p.timeout.Seconds()))))
}

// halfCapacity are half of the slots that the service can answer within the timeout of an attempt, over all
// processes.
func halfCapacity(p plan, _ int) *backoff.Slots {
	all := 0.5 * p.rate * p.timeout.Seconds()
	return backoff.NewSlots(max(1, int(all/float64(p.processes))))
}

// budget is one that sizes itself.
func budget() *backoff.Budget { return new(backoff.Budget) }

func fixedBudget() *backoff.Budget { return &backoff.Budget{Capacity: 500} }

func fiveSeconds(plan) time.Duration { return 5 * time.Second }

// twiceTheirTime is twice the time in which the service can answer one request of each device beside those of others,
// by a guess.
func twiceTheirTime(p plan) time.Duration {
	spare := (p.rate - p.neighbours) * p.guess
	return seconds(2 * float64(p.atOnce) / spare)
}
