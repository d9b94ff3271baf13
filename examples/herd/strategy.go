package main

import (
	"iter"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The names of the strategies in tables, charts and the documentation: those of the library, where it
// has one.
const (
	noRetries    = "no retries"
	zeroBackOff  = "ZeroBackOff"
	noJitter     = "NoJitter"
	proportional = "ProportionalJitter" // the library's default policy
	fullJitter   = "FullJitter"
	equalJitter  = "EqualJitter"
	decorrelated = "DecorrelatedJitter"
	additive     = "AdditiveJitter"
	fullBudget   = "FullJitter and a budget"

	// Of the amplification, in which nothing depends on the waits.
	threeRetries = "three retries"
	threeBudget  = "three retries and a budget"
	threeCost14  = "three retries at RetryCost 14"
)

// colours holds the colour of each strategy in charts.
var colours = map[string]string{
	noRetries:    grey,
	zeroBackOff:  red,
	noJitter:     blue,
	proportional: orange,
	fullJitter:   green,
	equalJitter:  purple,
	decorrelated: teal,
	additive:     pink,
	fullBudget:   olive,
	threeRetries: red,
	threeBudget:  olive,
	threeCost14:  purple,
}

// strategy is a way to retry.
type strategy struct {
	name   string
	note   string // what differs from the scenario's other strategies
	policy policyFunc
	budget *backoff.Budget // what that of each process is like, if it has one
}

// label returns the name with the note.
func (s strategy) label() string {
	if s.note == "" {
		return s.name
	}
	return s.name + ", " + s.note
}

// newBudget returns a full budget.
func (s strategy) newBudget() *backoff.Budget {
	return &backoff.Budget{Capacity: s.budget.Capacity, RetryCost: s.budget.RetryCost}
}

// policyFunc returns a new policy, for one operation.
type policyFunc func(backoff.Clock, *rand.Rand) backoff.BackOff

// exponential returns the default policy, changed by opts.
func exponential(opts ...backoff.ExponentialBackOffOpts) policyFunc {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		b := backoff.NewExponentialBackOff(opts...)
		b.Clock, b.Rand = clock, random
		return b
	}
}

// never returns a policy that does not retry.
func never(backoff.Clock, *rand.Rand) backoff.BackOff { return &backoff.StopBackOff{} }

// immediate returns a policy that retries without waits.
func immediate(backoff.Clock, *rand.Rand) backoff.BackOff { return &backoff.ZeroBackOff{} }

// limited returns policies with a limit to their retries.
func limited(retries uint64, policy policyFunc) policyFunc {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		return backoff.WithMaxRetries(policy(clock, random), retries)
	}
}

// next does what a loop of the library does once an attempt has ended with err, an error that says
// nothing more than that: it tells the observers, and returns the wait before the next attempt, or a
// negative one for the end.
func next(policy backoff.BackOff, err error) time.Duration {
	for b := policy; b != nil; {
		if o, ok := b.(backoff.BackOffObserver); ok {
			o.Observe(err)
		}
		decorator, ok := b.(interface{ Unwrap() backoff.BackOff })
		if !ok {
			break
		}
		b = decorator.Unwrap()
	}
	if err == nil {
		return backoff.Stop
	}
	return policy.NextBackOff()
}

// looped returns policies that a loop of the library drives. It is for errors that mean something to
// a loop, such as a [backoff.RetryAfterError], and costs a coroutine for each operation.
func looped(policy policyFunc) policyFunc {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		return &loopedBackOff{policy: policy(clock, random)}
	}
}

// loopedBackOff is an observer that has Retry call an operation with the outcomes that it observes,
// and returns the waits that Retry begins.
type loopedBackOff struct {
	policy backoff.BackOff
	err    error // of the last attempt
	resume func() (time.Duration, bool)
}

func (b *loopedBackOff) Reset() {
	b.resume, _ = iter.Pull(func(yield func(time.Duration) bool) {
		timer := &yieldTimer{yield: yield, c: make(chan time.Time, 1)}
		_ = backoff.RetryNotifyWithTimer(func() error { return b.err }, b.policy, nil, timer)
	})
}

func (b *loopedBackOff) Observe(err error) {
	b.err = err
	if err == nil {
		b.resume() // to its end
	}
}

func (b *loopedBackOff) NextBackOff() time.Duration {
	if wait, ok := b.resume(); ok {
		return wait
	}
	return backoff.Stop
}

// yieldTimer is a timer that fires when the loop is resumed.
type yieldTimer struct {
	yield func(time.Duration) bool
	c     chan time.Time
}

func (t *yieldTimer) Start(wait time.Duration) {
	t.yield(wait)
	t.c <- time.Time{}
}

func (t *yieldTimer) Stop() {}

func (t *yieldTimer) C() <-chan time.Time { return t.c }
