package main

import (
	"context"
	"errors"
	"math"
	"time"

	v5 "github.com/cenkalti/backoff/v5"
	v7 "github.com/cenkalti/backoff/v7"
	"github.com/sony/gobreaker/v2"

	"example.com/backoff"
)

// way is a way to call a service. Its first setting is the one of its documentation.
type way struct {
	name     string
	best     string // the setting that loses least over all scenes
	settings []setting
}

// setting is how a process sets a way up.
type setting struct {
	name, about string
	set         func(process) caller
}

// shortWays are the ways that matter most.
var shortWays = "none,three,slots,slots-budget,v7-breaker,failsafe-breaker,gradient2,aws-adaptive"

var ways = []way{
	{"none", "one attempt", []setting{{"one attempt", "", func(p process) caller { return p.once }}}},
	{"three", "3 retries", []setting{{"3 retries", "", func(p process) caller { return loop(p.once) }}}},
	{"semaphore", "right, 4 s", []setting{
		{"ten", "10 calls at once, with 3 retries, the others wait", func(p process) caller { return semaphore(10, deadline, loop(p.once)) }},
		{"ten, 4 s", "the others wait for 4 s", func(p process) caller { return semaphore(10, patience, loop(p.once)) }},
		{"right, 4 s", "as many as are right", func(p process) caller { return semaphore(p.right(), patience, loop(p.once)) }},
	}},

	{"slots", "new(Slots)", []setting{{"new(Slots)", "", func(p process) caller { return ours(p, new(backoff.Slots), nil) }}}},
	{"slots-budget", "new(Slots), new(Budget)", []setting{{"new(Slots), new(Budget)", "", func(p process) caller {
		return ours(p, new(backoff.Slots), new(backoff.Budget))
	}}}},
	{"budget", "new(Budget)", []setting{{"new(Budget)", "", func(p process) caller { return ours(p, nil, new(backoff.Budget)) }}}},
	{"number", "NewSlots", []setting{{"NewSlots", "as many as are right", func(p process) caller {
		return ours(p, backoff.NewSlots(p.right()), nil)
	}}}},

	{"v7", "2 tries", []setting{
		{"5 tries", "as in its README, with the default waits", func(p process) caller { return retry7(p.once, 5) }},
		{"2 tries", "", func(p process) caller { return retry7(p.once, 2) }},
	}},
	{"v7-breaker", "1 s, final", breakers(retry7)},
	{"v5-breaker", "1 s, final", breakers(retry5)},
}

// right is the number of calls at once that is right for who knows how many a process makes: three quarters of those
// that begin in a second × the timeout of an attempt, to the nearest, at least one.
func (p process) right() int { return int(max(1, math.Round(0.75*p.rate*timeout.Seconds()))) }

func ours(p process, slots *backoff.Slots, budget *backoff.Budget) caller {
	shared := backoff.Retrier{AttemptTimeout: timeout, Slots: slots, Budget: budget}
	return func(ctx context.Context) error {
		service := shared
		service.Policy = func() backoff.BackOff {
			return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0), backoff.WithRand(randomOf(ctx)))
		}
		return service.Do(ctx, p.do)
	}
}

// delay returns a wait after so many attempts. All libraries that have no waits of their own, or whose waits cannot be
// seeded otherwise, get this one, which is the default of cenkalti/backoff in all of its releases: half a second × 1.5
// for each retry, half of it up or down.
func delay(attempts int, random float64) time.Duration {
	return seconds(0.5 * math.Pow(1.5, float64(attempts-1)) * (0.5 + random))
}

// loop is what somebody writes by hand: three retries.
func loop(do caller) caller {
	return func(ctx context.Context) error {
		for attempts := 1; ; attempts++ {
			err := do(ctx)
			if err == nil || attempts == 4 {
				return err
			}
			err = pause(ctx, delay(attempts, randomOf(ctx).Float64()), nil)
			if err != nil {
				return err
			}
		}
	}
}

// semaphore lets n calls at once through. The others wait, for so long at most.
func semaphore(n int, longest time.Duration, do caller) caller {
	places := make(chan struct{}, n)
	return func(ctx context.Context) error {
		waiting, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		select {
		case places <- struct{}{}:
		case <-waiting.Done():
			return waiting.Err()
		}
		defer func() { <-places }()
		return do(ctx)
	}
}

// waits is a policy of cenkalti/backoff with seeded waits.
type waits struct {
	ctx      context.Context
	attempts int
}

func (w *waits) Reset() { w.attempts = 0 }

func (w *waits) NextBackOff() time.Duration {
	w.attempts++
	return delay(w.attempts, randomOf(w.ctx).Float64())
}

func retry7(do caller, tries uint) caller {
	return func(ctx context.Context) error {
		_, err := v7.Retry(ctx, func() (any, error) {
			err := do(ctx)
			if errors.Is(err, errOpen) {
				err = v7.Permanent(err)
			}
			return nil, err
		}, v7.WithBackOff(&waits{ctx: ctx}), v7.WithMaxTries(tries))
		return err
	}
}

func retry5(do caller, tries uint) caller {
	return func(ctx context.Context) error {
		_, err := v5.Retry(ctx, func() (any, error) {
			err := do(ctx)
			if errors.Is(err, errOpen) {
				err = v5.Permanent(err)
			}
			return nil, err
		}, v5.WithBackOff(&waits{ctx: ctx}), v5.WithMaxTries(tries))
		return err
	}
}

// errOpen says that a breaker is open, and that this is not to be retried.
var errOpen = errors.New("open, not retried")

// breakers are gobreaker's settings, around each attempt of a loop.
func breakers(retry func(caller, uint) caller) []setting {
	of := func(s gobreaker.Settings, final bool) func(process) caller {
		return func(p process) caller {
			breaker := gobreaker.NewCircuitBreaker[any](s)
			return retry(func(ctx context.Context) error {
				_, err := breaker.Execute(func() (any, error) { return nil, p.once(ctx) })
				open := errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
				if final && open {
					return errOpen
				}
				return err
			}, 4)
		}
	}
	rolling := func(open time.Duration) gobreaker.Settings {
		return gobreaker.Settings{
			Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: open, MaxRequests: 3, ReadyToTrip: failing(10, 0.5),
		}
	}
	return []setting{
		{"example", "as in its example: opens at 60 % of at least 3 since it closed, for 60 s", of(gobreaker.Settings{ReadyToTrip: failing(3, 0.6)}, false)},
		{"zero", "the zero Settings: opens after 6 failures in a row, for 60 s", of(gobreaker.Settings{}, false)},
		{"5 s", "opens at half of at least 10 in 10 s, for 5 s, then 3 probes", of(rolling(5*time.Second), false)},
		{"5 s, final", "the same, and a call that finds it open is not retried", of(rolling(5*time.Second), true)},
		{"1 s", "for 1 s", of(rolling(time.Second), false)},
		{"1 s, final", "for 1 s, and a call that finds it open is not retried", of(rolling(time.Second), true)},
	}
}

// failing returns a condition: a share of at least so many requests.
func failing(least uint32, share float64) func(gobreaker.Counts) bool {
	return func(c gobreaker.Counts) bool {
		return c.Requests >= least && float64(c.TotalFailures) >= share*float64(c.Requests)
	}
}
