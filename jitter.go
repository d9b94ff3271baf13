package backoff

import (
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Jitter is how [ExponentialBackOff] randomizes waits, so that clients that failed together do not retry
// together. In the formulas, I is the current interval, B the InitialInterval, C the MaxInterval, f the
// RandomizationFactor, P the previous wait (B after Reset), and U(a, b) a uniform random duration
// between a and b.
//
// The zero value is [ProportionalJitter]. Unknown values behave like it.
type Jitter uint8

const (
	// ProportionalJitter waits U(I·(1−f), I·(1+f)). It is the default, and alone uses
	// RandomizationFactor and may exceed MaxInterval. (google-http-java-client, cenkalti/backoff.)
	ProportionalJitter Jitter = iota

	// NoJitter waits I. All clients that failed together retry together.
	NoJitter

	// FullJitter waits U(0, I). (AWS Architecture Blog, "Exponential Backoff And Jitter".)
	FullJitter

	// EqualJitter waits I/2 + U(0, I/2): never less than half of the interval. (AWS, as above.)
	EqualJitter

	// DecorrelatedJitter waits min(C, U(B, 3·P)). It ignores Multiplier. As published, it cuts
	// off at C, so many waits near the cap are exactly C. (AWS, as above.)
	DecorrelatedJitter

	// AdditiveJitter waits min(I, C−B) + U(0, B). Clients at the cap stay spread, between C−B and C.
	// With InitialInterval 1 s, Multiplier 2 and MaxInterval 32 s or 64 s it is otherwise Google
	// Cloud's truncated exponential backoff, min(2ⁿ s + up to 1 s, maximum_backoff).
	AdditiveJitter
)

var jitterNames = [...]string{
	"ProportionalJitter", "NoJitter", "FullJitter", "EqualJitter", "DecorrelatedJitter", "AdditiveJitter",
}

// String returns the name of the constant.
func (j Jitter) String() string {
	if int(j) < len(jitterNames) {
		return jitterNames[j]
	}
	return "Jitter(" + strconv.Itoa(int(j)) + ")"
}

// window returns the range of a wait, [low, low+width]. Its parameters are the letters of Jitter's
// formulas, with i and b at most c; for DecorrelatedJitter i is P, and the result is to be cut off at
// c. The arithmetic cannot overflow.
func (j Jitter) window(i, b, c time.Duration, f float64) (low, width time.Duration) {
	switch j {
	case NoJitter:
		return i, 0
	case FullJitter:
		return 0, i
	case EqualJitter:
		return i / 2, i - i/2
	case DecorrelatedJitter:
		return b, max(0, 3*min(i, math.MaxInt64/3)-b)
	case AdditiveJitter:
		return min(i, c-b), b
	}
	reach := time.Duration(0) // for NaN too
	if f >= 1 {
		reach = i
	} else if f > 0 {
		reach = time.Duration(f * float64(i))
	}
	return i - reach, reach + min(reach, math.MaxInt64-i)
}

// draw returns a uniform duration in [0, width]: random/2⁶⁴ of width+1, rounded down. random is
// uniform over the numbers of its type.
func draw(width time.Duration, random uint64) time.Duration {
	drawn, _ := bits.Mul64(uint64(width)+1, random)
	return time.Duration(drawn)
}
