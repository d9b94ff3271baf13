package backoff

import (
	"math"
	"strconv"
	"time"
)

// Jitter says how [ExponentialBackOff] draws a wait at random, so that clients which failed
// together do not come back together. In the formulas, I is the current interval, B the
// InitialInterval, C the MaxInterval, f the RandomizationFactor, P the previous wait (B after
// Reset), and U(a, b) a uniform draw from a to b.
//
// The zero value is [ProportionalJitter]; so are values that are not among the constants.
type Jitter uint8

const (
	// ProportionalJitter waits U(I·(1−f), I·(1+f)). It is the default, the only strategy that
	// RandomizationFactor has a say in, and the only one that may wait longer than MaxInterval.
	// (google-http-java-client, cenkalti/backoff.)
	ProportionalJitter Jitter = iota

	// NoJitter waits I. All clients that failed together retry together.
	NoJitter

	// FullJitter waits U(0, I). It spreads clients the most, and makes the fewest calls when many
	// compete. (AWS Architecture Blog, "Exponential Backoff And Jitter".)
	FullJitter

	// EqualJitter waits I/2 + U(0, I/2): never less than half of the interval. (AWS, as above.)
	EqualJitter

	// DecorrelatedJitter waits min(C, U(B, 3·P)), which grows by itself: Multiplier has no say in
	// it. As published, it cuts off at C, so that of the waits near the cap many are exactly C.
	// (AWS, as above.)
	DecorrelatedJitter

	// AdditiveJitter waits I + U(0, B). Once that could exceed C, the window of width B slides
	// down and ends at C: the wait is U(C−B, C), and clients at the cap stay spread. With B of
	// 1 s and a Multiplier of 2 it is the truncated exponential backoff of Google Cloud's
	// documentation, min(2ⁿ s + up to 1 s, maximum_backoff), save for that spread at the cap.
	AdditiveJitter
)

// String returns the name of the constant.
func (j Jitter) String() string {
	switch j {
	case ProportionalJitter:
		return "ProportionalJitter"
	case NoJitter:
		return "NoJitter"
	case FullJitter:
		return "FullJitter"
	case EqualJitter:
		return "EqualJitter"
	case DecorrelatedJitter:
		return "DecorrelatedJitter"
	case AdditiveJitter:
		return "AdditiveJitter"
	}
	return "Jitter(" + strconv.Itoa(int(j)) + ")"
}

// A drawing is all that a wait depends on besides chance.
type drawing struct {
	interval, initial, limit, previous time.Duration // I, B, C and P; I and B are at most C
	factor                             float64       // f, as the user has set it
}

// wait is the one place of the formulas. random is from [0, 1).
func (j Jitter) wait(d drawing, random float64) time.Duration {
	i, b, c := float64(d.interval), float64(d.initial), float64(d.limit)
	switch j {
	case NoJitter:
		return d.interval
	case FullJitter:
		return uniform(0, i, random)
	case EqualJitter:
		return uniform(i/2, i, random)
	case DecorrelatedJitter:
		return min(d.limit, uniform(b, 3*float64(d.previous), random))
	case AdditiveJitter:
		return min(d.limit, uniform(min(i, c-b), min(i+b, c), random))
	}
	if !(d.factor > 0) { // NaN too
		return d.interval // exactly, which a float64 of more than 104 days need not be
	}
	delta := min(d.factor, 1) * i
	return uniform(i-delta, i+delta, random)
}

// uniform returns a whole number of nanoseconds from low to high, each with the same chance. (The 1
// gives high its share: of 1, 2 and 3, each is drawn from [1, 3] a third of the time.)
func uniform(low, high, random float64) time.Duration {
	return duration(min(high, low+random*(high-low+1)))
}

// duration is f nanoseconds, f ≥ 0, or the longest that a Duration can be.
func duration(f float64) time.Duration {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
