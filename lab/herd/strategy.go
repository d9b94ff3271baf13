package main

import (
	"math/rand/v2"

	"example.com/backoff"
)

// The names of the strategies in tables, charts and the documentation: those of the library, where it
// has one.
const (
	noRetries    = "no retries"
	defaults     = "default"
	noLimit      = "no limit of time"
	bounded      = "bounded"
	boundedTen   = "bounded, 10 retries"
	pooled       = "pooled"
	three        = "3 retries"
	threeBudget  = "3 retries, budget"
	threeSmall   = "3 retries, Capacity 5"
	threePooled  = "3 retries, pooled"
	threeBoth    = "3 retries, budget, pooled"
	threeBounded = "3 retries, bounded"
	twoLate      = "2 retries from 5 s"
	firstWait    = "first wait 2 N / spare"
	sameWait     = "no room to grow"
	zeroBackOff  = "ZeroBackOff"
	proportional = "ProportionalJitter" // that of the library's default policy
	fullJitter   = "FullJitter"
	withBudget   = "WithBudget"
	fixed500     = "Capacity 500"
	cost14       = "RetryCost 14"
	noBudget     = "no budget"
)

// colours holds the colour of each strategy in charts, by its name in their style.
var colours = map[string]string{
	noRetries: "grey", defaults: "orange", bounded: "teal", pooled: "green", three: "red", threeBudget: "olive",
	threeBounded: "blue", twoLate: "purple", firstWait: "teal", sameWait: "red",
}

// What the charts show: over time, the same three retries in each panel but the first.
var (
	inLoad = []string{noRetries, three, threeBudget, threeBounded}
	inBars = []string{noRetries, threeBudget, defaults, pooled, bounded, twoLate, firstWait, sameWait}
)

// strategy is a way to retry.
type strategy struct {
	name   string
	policy policyFunc

	// process returns what the operations of a process share, and puts around their policies. Nil
	// means nothing.
	process processFunc

	// What a process can have at a time. Zero means that it has no limit.
	operations int // in progress, their waits included; others wait in order until they begin
	attempts   int // in flight, as by a pool of connections
}

// start starts a process.
func (s strategy) start(clock *simClock, random *rand.Rand) decorator {
	if s.process == nil {
		return func(b backoff.BackOff) backoff.BackOff { return b }
	}
	return s.process(clock, random)
}

// label returns the name, and marks that of the library's default policy.
func (s strategy) label() string {
	if s.name == proportional {
		return s.name + " (default)"
	}
	return s.name
}

type (
	// policyFunc returns a new policy, for one operation.
	policyFunc func(backoff.Clock, *rand.Rand) backoff.BackOff

	// decorator returns a policy with something around it.
	decorator func(backoff.BackOff) backoff.BackOff

	processFunc func(*simClock, *rand.Rand) decorator
)

// exponential returns the default policy, changed by opts.
func exponential(opts ...backoff.ExponentialBackOffOpts) policyFunc {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		b := backoff.NewExponentialBackOff(opts...)
		b.Clock, b.Rand = clock, random
		return b
	}
}

// noRetry returns a policy that does not retry.
func noRetry(backoff.Clock, *rand.Rand) backoff.BackOff { return &backoff.StopBackOff{} }

// immediate returns a policy that retries without waits.
func immediate(backoff.Clock, *rand.Rand) backoff.BackOff { return &backoff.ZeroBackOff{} }

// limited returns policies with a limit to their retries.
func limited(retries int, policy policyFunc) policyFunc {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		return backoff.WithMaxRetries(policy(clock, random), uint64(retries))
	}
}

// jittered is limited with the default policy and a jitter.
func jittered(retries int, jitter backoff.Jitter) policyFunc {
	return limited(retries, exponential(backoff.WithJitter(jitter)))
}

// budget returns processes that have a budget each.
func budget(capacity, cost, refund int) processFunc {
	return func(clock *simClock, _ *rand.Rand) decorator {
		shared := &backoff.Budget{Capacity: capacity, RetryCost: cost, SuccessRefund: refund, Clock: clock}
		return func(b backoff.BackOff) backoff.BackOff { return backoff.WithBudget(b, shared) }
	}
}
