package backoff

import (
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Jitter is how an [ExponentialBackOff] randomizes its waits, so that clients that failed together do not
// retry together. If in doubt, keep the default. The zero value is [ProportionalJitter], and unknown values
// behave like it.
//
// In the formulas, U(a, b) is a random duration between a and b, all equally likely; I is the current interval,
// B the InitialInterval, C the MaxInterval, f the RandomizationFactor, and P the previous wait, or B for the
// first one.
type Jitter uint8

const (
	// ProportionalJitter waits the interval, more or less: with the default RandomizationFactor of 0.5,
	// anything between half of the interval and one and a half. It alone may exceed MaxInterval.
	// (google-http-java-client, cenkalti/backoff.)
	//
	//	U(I·(1−f), I·(1+f))
	ProportionalJitter Jitter = iota

	// NoJitter waits exactly the interval. Clients that failed together retry together.
	//
	//	I
	NoJitter

	// FullJitter waits anything between zero and the interval. (AWS Architecture Blog, "Exponential
	// Backoff And Jitter".)
	//
	//	U(0, I)
	FullJitter

	// EqualJitter waits anything between half of the interval and the interval. (AWS, as above.)
	//
	//	I/2 + U(0, I/2)
	EqualJitter

	// DecorrelatedJitter waits anything between InitialInterval and three times the previous wait, but
	// no longer than MaxInterval. It ignores Multiplier. As published, it cuts off at the cap, so that
	// many waits near the cap are equal to it. (AWS, as above.)
	//
	//	min(C, U(B, 3·P))
	DecorrelatedJitter

	// AdditiveJitter waits the interval and anything up to InitialInterval besides, but no longer than
	// MaxInterval. Clients at the cap stay spread over the last InitialInterval below it. With an
	// InitialInterval of 1 s, a Multiplier of 2 and a MaxInterval of 32 s or 64 s, it is Google Cloud's
	// truncated exponential backoff, min(2ⁿ s + up to 1 s, maximum_backoff), but for that spread.
	//
	//	min(I, C−B) + U(0, B)
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
