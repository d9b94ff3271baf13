package bench

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
func TestIntervalsAreThoseOfCenkalti4(t *testing.T) {
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
		for range 50 {
			require.Equal(t, theirs.NextBackOff(), ours.NextBackOff(), "%v × %v up to %v", initial, multiplier, maximum)
		}
	}
}

// 100,000 calls that wait all return once they are cancelled, and leave no memory behind.
func TestWaitingCallsReturnAndLeaveNothing(t *testing.T) {
	for _, w := range Waiters {
		if w.Peer != Ours {
			continue
		}
		Weigh(100_000, w.Build) // the runtime keeps ended goroutines for later ones
		before := inUse()
		_, end := Weigh(100_000, w.Build)
		left := inUse() - before
		t.Logf("all returned within %v, %.0f bytes left", end, left)
		require.Less(t, end, 30*time.Second, "it takes a fraction of a second where nothing else runs")
		require.Less(t, left, 100_000*20.0)
	}
}
