package backoff

import (
	"math"
	"math/bits"
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

	// FullJitter waits U(0, I). It spreads clients the most, over the whole interval. (AWS
	// Architecture Blog, "Exponential Backoff And Jitter".)
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

// wait is the one place of the formulas: i, b, c, p and f are their letters in the comment on Jitter,
// with i and b at most c. random is a uniform draw from all of its type's numbers. The arithmetic
// is that of integers, exact to the nanosecond, and each sum and product stays in its type.
func (j Jitter) wait(i, b, c, p time.Duration, f float64, random uint64) time.Duration {
	low, width := i, time.Duration(0)
	switch j {
	case NoJitter:
	case FullJitter:
		low, width = 0, i
	case EqualJitter:
		low, width = i/2, i-i/2
	case DecorrelatedJitter:
		return min(c, b+draw(max(0, 3*min(p, math.MaxInt64/3)-b), random))
	case AdditiveJitter:
		low, width = min(i, c-b), b
	default:
		reach := time.Duration(0) // for NaN too
		if f >= 1 {
			reach = i
		} else if f > 0 {
			reach = time.Duration(f * float64(i))
		}
		low, width = i-reach, reach+min(reach, math.MaxInt64-i)
	}
	return low + draw(width, random)
}

// draw returns one of the durations from 0 to width, each with the same chance: the upper half of
// the product of their number and random, which is to say, random as a fraction of 2⁶⁴.
func draw(width time.Duration, random uint64) time.Duration {
	drawn, _ := bits.Mul64(uint64(width)+1, random)
	return time.Duration(drawn)
}
