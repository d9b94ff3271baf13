package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/backoff"
)

// way is a way to call a service, and a column of the tables.
type way struct {
	name  string // for -ways
	title string
	set   func(*process) caller // sets it up in a process
}

// caller makes a call.
type caller func(context.Context) error

// settings are those of a Retrier in each process.
type settings struct {
	attempts int
	slots    func(*process) *backoff.Slots // nil: none
	budget   bool
	first    func(plan) float64 // the first wait; nil: the default
	delayed  bool               // a call waits before its first attempt, up to the first wait
}

const noLimit = -1 // of attempts

// ownWays are those of this library.
var ownWays = []way{
	{"none", "no retries", retrier(settings{attempts: 1})},
	{"retries", "3 retries", retrier(settings{attempts: 4})},
	{"budget", "3 retries, budget", retrier(settings{attempts: 4, budget: true})},
	{"slots", "slots", retrier(settings{attempts: 4, slots: sized})},
	{"slots-budget", "slots, budget", retrier(settings{attempts: 4, slots: sized, budget: true})},
	{"number", "slots by number", retrier(settings{attempts: 4, slots: numbered})},
	{"slots-10", "slots, 10 retries", retrier(settings{attempts: 11, slots: sized})},
	{"half", "slots of half the capacity", retrier(settings{attempts: 4, slots: halfCapacity})},
	{"half-20", "slots of half the capacity, 20 retries", retrier(settings{attempts: 21, slots: halfCapacity})},
	{"two-late", "2 retries from 5 s", retrier(settings{attempts: 3, first: func(plan) float64 { return 5 }})},
	{"endless", "default waits", retrier(settings{attempts: noLimit})},
	{"endless-late", "first wait 2 N / spare, delayed", retrier(settings{attempts: noLimit, first: twiceTheirTime, delayed: true})},
}

// waysOf returns the ways in a list of names.
func waysOf(list string) (chosen []way, err error) {
	all := slices.Concat(ownWays, peers)
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(w way) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no way; -h lists them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// retrier returns what sets a Retrier up. Its waits are the default ones, but for the source of their randomness.
func retrier(s settings) func(*process) caller {
	return func(p *process) caller {
		shared := backoff.Retrier{MaxAttempts: s.attempts}
		if s.slots != nil {
			shared.Slots = s.slots(p)
		}
		if s.budget {
			shared.Budget = new(backoff.Budget)
		}

		return func(ctx context.Context) error {
			c := callOf(ctx)
			if s.delayed {
				time.Sleep(time.Duration(c.random.Int64N(int64(s.firstWait(ctx, p)))))
			}
			service := shared
			service.AttemptTimeout = seconds(c.timeout)
			service.Policy = func() backoff.BackOff {
				first := s.firstWait(ctx, p)
				b := backoff.NewExponentialBackOff(
					backoff.WithInitialInterval(first), backoff.WithMaxElapsedTime(0), backoff.WithRand(c.random))
				if s.first != nil {
					b.MaxInterval = 4 * first
				}
				return b
			}
			return service.Do(ctx, p.send)
		}
	}
}

// firstWait is half a second, or half of what the first attempt may take if that is less.
func (s settings) firstWait(ctx context.Context, p *process) time.Duration {
	if s.first != nil {
		return seconds(s.first(p.world.plan))
	}
	allowed := seconds(callOf(ctx).timeout)
	if deadline, ok := ctx.Deadline(); ok {
		allowed = min(allowed, time.Until(deadline))
	}
	return min(backoff.DefaultInitialInterval, allowed/2)
}

// sized are slots that size themselves, numbered those that are right for who knows the usual calls. HalfCapacity are
// half of those that the service can answer within a timeout, over all processes.
func sized(*process) *backoff.Slots { return new(backoff.Slots) }

func numbered(p *process) *backoff.Slots { return backoff.NewSlots(p.world.right(p.number)) }

func halfCapacity(p *process) *backoff.Slots {
	all := 0.5 * p.world.rate * p.world.timeout
	return backoff.NewSlots(max(1, int(all/float64(p.world.processes))))
}

// twiceTheirTime is twice the time in which the service can answer each process once, beside its other clients.
func twiceTheirTime(p plan) float64 { return 2 * float64(p.processes) / (p.rate - p.demand()) }
