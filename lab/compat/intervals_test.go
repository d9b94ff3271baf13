package compat_test

import (
	"math/rand/v2"
	"testing"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Over 20,000 settings drawn at random, the intervals are those of cenkalti/backoff v4, to the
// nanosecond. Settings that v4 has trouble with are left out: an InitialInterval above MaxInterval,
// and intervals that its rounding keeps from growing.
func TestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		initial := time.Duration(100 + r.Int64N(1<<r.IntN(40)+1))
		maximum := initial + time.Duration(r.Int64N(1<<r.IntN(62)+1))
		multiplier := 1.01 + 4*r.Float64()
		theirs := cenkalti4.NewExponentialBackOff(
			cenkalti4.WithInitialInterval(initial), cenkalti4.WithMaxInterval(maximum),
			cenkalti4.WithMultiplier(multiplier), cenkalti4.WithRandomizationFactor(0), cenkalti4.WithMaxElapsedTime(0))
		ours := backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(initial), backoff.WithMaxInterval(maximum),
			backoff.WithMultiplier(multiplier), backoff.WithRandomizationFactor(0), backoff.WithMaxElapsedTime(0))
		for step := range 50 {
			if step == 20 { // it counts one wait later
				maximum = time.Duration(1 + r.Int64N(1<<r.IntN(62)+1))
				theirs.MaxInterval = maximum
				ours.MaxInterval = maximum
			}
			require.Equal(t, theirs.NextBackOff(), ours.NextBackOff(), "%v × %v up to %v", initial, multiplier, maximum)
		}
	}
}
