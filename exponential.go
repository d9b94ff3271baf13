package backoff

import (
	"math"
	"math/rand/v2"
	"time"
)

// ExponentialBackOff is a policy whose interval grows by a factor after each failed attempt, up to
// a cap, and whose waits are drawn at random from around the interval:
//
//	interval 1   = min(InitialInterval, MaxInterval)
//	interval n+1 = min(interval n × Multiplier, MaxInterval)
//	wait         = interval × a random factor from [1 − RandomizationFactor, 1 + RandomizationFactor]
//
// (The formula is that of google-http-java-client and of cenkalti/backoff.) MaxInterval caps the
// interval, not the wait. Once a wait would end later than MaxElapsedTime after Reset, NextBackOff
// returns Stop.
//
// With the defaults, and if the attempts themselves take no time, the first ten are:
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
// The zero value and any partial literal are ready to use: each field says what it means unset or
// out of range. No combination of values makes a wait negative or makes it overflow. Fields may
// be changed until the first call of NextBackOff after Reset, and that call goes by them.
//
// The value holds the state of one loop at a time. GetElapsedTime alone may be called beside it.
type ExponentialBackOff struct {
	// InitialInterval is the first interval. A negative one means DefaultInitialInterval. Zero
	// means the default as well, as long as Clock is nil; under a Clock, such as
	// [NewExponentialBackOff] sets, it means waits of zero.
	InitialInterval time.Duration

	// RandomizationFactor is how far waits go below and above the interval, as a part of it: 0 is
	// no randomness, 1 is anything from zero to the doubled interval. Values below 0, and NaN,
	// mean 0; values above 1 mean 1.
	RandomizationFactor float64

	// Multiplier is what the interval grows by. Zero and NaN mean DefaultMultiplier; other values
	// below 1 mean 1, a constant interval. With a Multiplier above 1, an interval above zero grows
	// by a nanosecond at least.
	Multiplier float64

	// MaxInterval caps the interval, the first one too. Zero or less means DefaultMaxInterval.
	MaxInterval time.Duration

	// MaxElapsedTime is how long after Reset the last wait may end. Zero means no limit, a negative
	// time no retry at all.
	MaxElapsedTime time.Duration

	// Stop is what NextBackOff returns beyond MaxElapsedTime. Zero means [Stop]. A positive value
	// does not stop: the loop goes on, with Stop as its wait, for ever.
	Stop time.Duration

	// Jitter is how a wait is drawn at random from around the interval. The zero value is
	// [ProportionalJitter], the formula above.
	Jitter Jitter

	// Rand is where random numbers come from: set it for schedules that can be replayed. Nil means
	// the generator of [math/rand/v2], which is seeded at random and needs no lock. A Rand is not
	// safe for use by several goroutines: do not share one among policies that run at the same time.
	Rand *rand.Rand

	// Clock tells the time that MaxElapsedTime counts. Nil means [SystemClock]. It is read by
	// Reset, by GetElapsedTime and, if MaxElapsedTime is set, by NextBackOff. Time that a Clock
	// steps backwards is neither counted nor given back. A Clock of your own that takes the place of
	// another since Reset goes on from that one's start.
	Clock Clock

	first    time.Duration // interval since Reset
	interval time.Duration // the next one; 0 until begin has set it, or if all are 0
	previous time.Duration // wait, or first
	least    time.Duration // what the next wait must not fall below
	watch    stopwatch     // runs since Reset
}

// Reset sets the interval back to InitialInterval and starts the elapsed time anew.
func (b *ExponentialBackOff) Reset() {
	b.interval, b.least = 0, 0
	b.watch.start(b.Clock)
}

// NextBackOff returns the next wait, and lets the interval grow. It returns Stop if the wait would
// end later than MaxElapsedTime after Reset.
func (b *ExponentialBackOff) NextBackOff() time.Duration {
	var random uint64 // drawn first, while there is nothing else for the call to save
	if b.Rand == nil {
		random = rand.Uint64()
	} else {
		random = b.Rand.Uint64()
	}
	limit := b.maxInterval()
	interval := limit
	if b.interval != limit {
		interval = b.step(limit)
	}
	wait := b.Jitter.wait(interval, b.first, limit, b.previous, b.RandomizationFactor, random)
	b.previous = wait
	if b.MaxElapsedTime == 0 && b.least == 0 {
		return wait
	}
	return b.bounded(wait)
}

// Observe makes the next wait at least as long as a [RetryAfterError] in err asks for, so that a
// wait which a server asks for counts against MaxElapsedTime. The intervals take no notice of it.
// The Retry functions call Observe; the body of a loop over [Attempts] may.
func (b *ExponentialBackOff) Observe(err error) { b.least = retryAfter(err) }

// GetElapsedTime returns the time since Reset, or since the first NextBackOff of a literal that was
// never Reset. It is zero before that, and never negative. It may be called while a Ticker or
// another goroutine uses b, as long as b has been Reset, its fields stay as they are, and its Clock
// is safe for that and does not step backwards.
func (b *ExponentialBackOff) GetElapsedTime() time.Duration {
	return b.watch.read(b.Clock)
}

// step returns the interval that is next, and sets the one after it. Neither that nor first is above
// limit then, also where MaxInterval has been lowered.
func (b *ExponentialBackOff) step(limit time.Duration) time.Duration {
	if b.interval == 0 {
		b.begin()
	}
	b.first = min(b.first, limit)
	interval := min(b.interval, limit)
	b.interval = b.grow(interval, limit)
	return interval
}

// begin starts the sequence of intervals, and the elapsed time where Reset did not: for a literal
// that was never Reset, or for a Clock that has taken SystemClock's place since, or the reverse.
func (b *ExponentialBackOff) begin() {
	b.first = b.InitialInterval
	if b.first < 0 || b.first == 0 && b.Clock == nil {
		b.first = DefaultInitialInterval
	}
	b.interval, b.previous = b.first, b.first
	if !b.watch.runsOn(b.Clock) {
		b.watch.start(b.Clock)
	}
}

// grow returns the interval after interval.
func (b *ExponentialBackOff) grow(interval, limit time.Duration) time.Duration {
	multiplier := b.Multiplier
	switch {
	case interval == 0:
		return 0
	case multiplier == 0 || math.IsNaN(multiplier):
		multiplier = DefaultMultiplier
	case multiplier <= 1:
		return interval
	}
	next := float64(interval) * multiplier
	if float64(interval) >= float64(limit)/multiplier || next >= float64(limit) {
		return limit
	}
	return max(interval+1, time.Duration(next)) // a nanosecond would never grow by rounding down
}

func (b *ExponentialBackOff) maxInterval() time.Duration {
	if b.MaxInterval <= 0 {
		return DefaultMaxInterval
	}
	return b.MaxInterval
}

// bounded returns the longer of wait and what Observe has asked for, or Stop if that would end later
// than MaxElapsedTime. It never adds the elapsed time and the wait, whose sum may be too large.
func (b *ExponentialBackOff) bounded(wait time.Duration) time.Duration {
	wait = max(wait, b.least)
	b.least = 0
	if b.MaxElapsedTime == 0 {
		return wait
	}
	elapsed := b.watch.advance(b.Clock)
	switch {
	case elapsed <= b.MaxElapsedTime && wait <= b.MaxElapsedTime-elapsed:
		return wait
	case b.Stop == 0:
		return Stop
	}
	return b.Stop
}
