package backoff

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"
)

// ExponentialBackOff is a policy whose interval grows by a factor after each failed attempt, up to
// a cap. Each wait is drawn at random from around the interval:
//
//	interval 1   = min(InitialInterval, MaxInterval)
//	interval n+1 = min(interval n × Multiplier, MaxInterval)
//	wait         = interval × a random factor from [1 − RandomizationFactor, 1 + RandomizationFactor]
//
// After a [RetryAfterError] the range of the wait moves up to start at the time that the server asked
// for; the intervals do not change. So with the default jitter, clients that received the same time are
// spread over one interval, half a second at first. To spread them further, make InitialInterval, and
// MaxInterval if it is shorter, about as long as the service needs for all of them: clients / capacity.
//
// With the defaults the first ten intervals are:
//
//	retry   interval (s)   wait (s)
//	    1          0.500   0.250 …  0.750
//	    2          0.750   0.375 …  1.125
//	    3          1.125   0.562 …  1.688
//	    4          1.688   0.844 …  2.531
//	    5          2.531   1.266 …  3.797
//	    6          3.797   1.898 …  5.695
//	    7          5.695   2.848 …  8.543
//	    8          8.543   4.271 … 12.814
//	    9         12.814   6.407 … 19.222
//	   10         19.222   9.611 … 28.833
//
// The zero value and partial literals are ready to use. No combination of fields makes a wait negative
// or overflow. A field other than Clock that is changed before the first NextBackOff after a Reset takes
// effect. The state is that of one loop. While that runs, other goroutines may call only GetElapsedTime.
type ExponentialBackOff struct {
	// InitialInterval is the first interval. A negative value means DefaultInitialInterval. So does
	// zero if Clock is nil; with a Clock, as NewExponentialBackOff sets, zero means no waits.
	InitialInterval time.Duration

	// RandomizationFactor is the largest deviation of a wait from the interval, as a fraction of
	// it: 0 is no randomness, 1 is anything from zero to twice the interval. Other values are
	// clamped to that range; NaN means 0.
	RandomizationFactor float64

	// Multiplier is the factor by which the interval grows. Zero and NaN mean DefaultMultiplier;
	// other values below 1 mean 1. Above 1, an interval grows by at least a nanosecond.
	Multiplier float64

	// MaxInterval caps the interval, not the wait. Zero or negative means DefaultMaxInterval.
	MaxInterval time.Duration

	// MaxElapsedTime limits the time from Reset to the end of the last wait. Zero means no
	// limit; a negative value is exceeded from the start.
	MaxElapsedTime time.Duration

	// Stop is what NextBackOff returns once a wait would exceed MaxElapsedTime; with a positive
	// value the loop goes on forever with that wait. Zero means the constant Stop in a loop. By
	// hand, or below a decorator without Unwrap, a policy with a Clock then returns 0, as in
	// cenkalti/backoff v4. NewExponentialBackOff sets Stop.
	Stop time.Duration

	// Clock measures the elapsed time, which starts over if Clock steps back to before its start.
	// Nil means SystemClock. Call Reset after replacing it.
	Clock Clock

	// Rand is the source of randomness; set it for a reproducible schedule. Nil means the global
	// source of math/rand/v2. Do not share one between policies that are in use at the same time.
	Rand *rand.Rand

	// Jitter selects how waits are randomized. The zero value is ProportionalJitter.
	Jitter Jitter

	started  bool          // the elapsed time has started
	looped   bool          // NextBackOff is called by a loop of this package
	current  time.Duration // the next interval; 0 after Reset
	previous time.Duration // the last wait of DecorrelatedJitter; 0 after Reset
	floor    time.Duration // the minimum of the next wait
	since    time.Duration // the time on Clock at the start of the elapsed time
	first    *time.Time    // the first reading of a Clock other than SystemClock
}

// Reset starts the sequence of intervals and the elapsed time over.
func (b *ExponentialBackOff) Reset() {
	b.current, b.previous, b.first = 0, 0, nil
	b.since, b.started = read(b.Clock, &b.first), true
}

// NextBackOff returns the next wait and advances the interval, or returns Stop if the wait would end
// later than MaxElapsedTime after Reset. If Reset has never been called, the elapsed time starts here.
func (b *ExponentialBackOff) NextBackOff() time.Duration {
	random := rand.Uint64()
	if b.Rand != nil {
		random = b.Rand.Uint64()
	}
	longest, interval := b.maxInterval(), b.current
	if interval != longest { // else step changes nothing
		interval = b.step(longest)
	}
	initial := min(b.initial(), longest)
	if b.Jitter == DecorrelatedJitter {
		interval = min(cmp.Or(b.previous, initial), longest)
	}
	low, width := b.Jitter.window(interval, initial, longest, b.RandomizationFactor)
	wait := low + draw(width, random)
	if b.Jitter == DecorrelatedJitter {
		wait = min(wait, longest)
		b.previous = wait
		width = min(width, longest-low)
	}
	if b.floor > low { // the window moves up to start there
		wait = b.floor + draw(min(width, math.MaxInt64-b.floor), random)
	}
	if b.MaxElapsedTime == 0 {
		return wait
	}
	elapsed := b.GetElapsedTime()
	switch {
	case elapsed <= b.MaxElapsedTime && wait <= b.MaxElapsedTime-elapsed: // elapsed+wait could overflow
		return wait
	case b.Stop == 0 && b.zeroStops():
		return Stop
	}
	return b.Stop
}

// zeroStops reports whether a zero Stop means the constant Stop.
func (b *ExponentialBackOff) zeroStops() bool { return b.looped || b.Clock == nil }

// GetElapsedTime returns the time since Reset, or since the first NextBackOff if there was no Reset.
// Before that it is zero. Another goroutine may call it while a loop uses b, but not during Reset, which
// a loop calls first. Clock must then be safe for concurrent use and not step back.
func (b *ExponentialBackOff) GetElapsedTime() time.Duration {
	if !b.started {
		return 0
	}
	now := read(b.Clock, &b.first)
	if now < b.since { // the Clock has stepped back to before the start: start over
		b.since = now
	}
	return max(0, now-b.since) // which may overflow
}

// step returns the current interval and advances it. Both are at most longest.
func (b *ExponentialBackOff) step(longest time.Duration) time.Duration {
	if !b.started {
		b.Reset()
	}
	if b.current == 0 {
		b.current = b.initial()
	}
	interval, multiplier := min(b.current, longest), b.Multiplier
	if multiplier == 0 || math.IsNaN(multiplier) {
		multiplier = DefaultMultiplier
	}
	switch {
	case interval == 0 || multiplier <= 1:
		b.current = interval
	case float64(interval) >= float64(longest)/multiplier:
		b.current = longest
	default: // rounded down, 1 ns × 1.5 would never grow
		b.current = max(interval+1, time.Duration(float64(interval)*multiplier))
	}
	return interval
}

func (b *ExponentialBackOff) initial() time.Duration {
	if b.InitialInterval < 0 || b.InitialInterval == 0 && b.Clock == nil {
		return DefaultInitialInterval
	}
	return b.InitialInterval
}

func (b *ExponentialBackOff) maxInterval() time.Duration {
	if b.MaxInterval <= 0 {
		return DefaultMaxInterval
	}
	return b.MaxInterval
}

// prepare accepts a nil b: a type that embeds an ExponentialBackOff may not have made it yet.
func (b *ExponentialBackOff) prepare(floor time.Duration) {
	if b != nil {
		b.floor, b.looped = floor, true
	}
}

func (b *ExponentialBackOff) end(bool) {
	if b != nil {
		b.floor, b.looped = 0, false
	}
}
