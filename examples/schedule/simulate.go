package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

var (
	errBusy  = errors.New("busy")
	errLimit = errors.New("time limit reached")
)

// settings are what the flags set.
type settings struct {
	interval   time.Duration
	multiplier float64
	cap        time.Duration
	limit      time.Duration
	jitter     backoff.Jitter
	factor     float64
	retries    uint
	server     time.Duration
	seed       uint64
}

// schedule is the waits of one loop.
type schedule struct {
	waits   []wait
	limited bool // it has ended because one more wait would pass the limit
}

// wait is a wait and the range that it was drawn from.
type wait struct {
	shortest time.Duration
	longest  time.Duration
	drawn    time.Duration
	total    time.Duration // with all waits before it
}

// total returns how long all waits take.
func (s schedule) total() time.Duration {
	if len(s.waits) == 0 {
		return 0
	}
	return s.waits[len(s.waits)-1].total
}

// simulate returns the waits of a loop whose attempts all fail. After each, a server asks for a wait of
// server, if that is not zero.
func (s settings) simulate(source rand.Source, server time.Duration) schedule {
	t := new(simulatedTime)
	policy := &watched{
		policy: backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(s.interval),
			backoff.WithMultiplier(s.multiplier),
			backoff.WithMaxInterval(s.cap),
			backoff.WithMaxElapsedTime(s.limit),
			backoff.WithJitter(s.jitter),
			backoff.WithRandomizationFactor(s.factor),
			backoff.WithRand(rand.New(source)),
			backoff.WithClockProvider(t),
		),
	}
	limited := backoff.WithStopCause(policy, errLimit)
	limited = backoff.WithMaxRetries(limited, uint64(s.retries))

	var result schedule
	attempt := func() error {
		return backoff.RetryAfter(errBusy, server)
	}
	notify := func(_ error, drawn time.Duration) {
		result.waits = append(result.waits, wait{
			shortest: policy.shortest,
			longest:  policy.longest,
			drawn:    drawn,
			total:    result.total() + drawn,
		})
	}
	err := backoff.RetryNotifyWithTimer(attempt, limited, notify, t)
	result.limited = errors.Is(err, errLimit)
	return result
}

// lowest and highest are sources of randomness that give the shortest and the longest waits.
const (
	lowest  = constant(0)
	highest = constant(math.MaxUint64)
)

// constant is a rand.Source that always returns the same number.
type constant uint64

// Uint64 returns the number.
func (c constant) Uint64() uint64 {
	return uint64(c)
}

// watched is a decorator that finds the range of each wait just before it is drawn. With DecorrelatedJitter,
// that depends on the wait before.
type watched struct {
	policy   *backoff.ExponentialBackOff
	shortest time.Duration
	longest  time.Duration
}

// NextBackOff returns the policy's wait.
func (w *watched) NextBackOff() time.Duration {
	w.shortest = w.peek(lowest)
	w.longest = w.peek(highest)
	return w.policy.NextBackOff()
}

// peek returns the wait that the policy would draw next from source. It asks a copy, so the policy itself
// does not move on.
func (w *watched) peek(source rand.Source) time.Duration {
	policy := *w.policy
	policy.Rand = rand.New(source)
	policy.MaxElapsedTime = 0 // the range is that before the limit
	return policy.NextBackOff()
}

// Reset resets the policy.
func (w *watched) Reset() {
	w.policy.Reset()
}

// Unwrap returns the policy. Without it, the policy would not know of the server's wait.
func (w *watched) Unwrap() backoff.BackOff {
	return w.policy
}

// simulatedTime is a Clock and a Timer. A wait is over immediately, and moves the clock on.
type simulatedTime struct {
	now  time.Time
	over chan time.Time
}

// Now returns the time of the clock.
func (t *simulatedTime) Now() time.Time {
	return t.now
}

// Start begins a wait, and ends it.
func (t *simulatedTime) Start(d time.Duration) {
	t.now = t.now.Add(d)
	t.over = make(chan time.Time, 1)
	t.over <- t.now
}

// Stop has nothing to stop.
func (t *simulatedTime) Stop() {}

// C returns the channel of the last wait.
func (t *simulatedTime) C() <-chan time.Time {
	return t.over
}
