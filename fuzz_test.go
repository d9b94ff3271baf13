package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzExponentialBackOff holds, for arbitrary fields and an arbitrary clock, that a wait is never
// negative unless it stops, that it stays within its bounds, and that MaxElapsedTime stops.
func FuzzExponentialBackOff(f *testing.F) {
	nan, inf, most, least := math.NaN(), math.Inf(1), int64(math.MaxInt64), int64(math.MinInt64)
	f.Add(int64(500e6), 0.5, 1.5, int64(60e9), int64(900e9), int64(-1), int64(1e9), int64(2e9), byte(0))
	f.Add(int64(0), 0.0, 0.0, int64(0), int64(0), int64(0), int64(0), int64(0), byte(0))
	f.Add(most, 1.0, inf, most, most, most, most, most, byte(1))
	f.Add(least, -inf, -inf, least, least, least, least, least, byte(2))
	f.Add(int64(-1), nan, nan, int64(-1), int64(-1), int64(-1), int64(-1), int64(1), byte(3))
	f.Add(int64(1), 1e-300, 1.0000001, int64(2), int64(1), int64(5), most, least, byte(1))
	f.Fuzz(func(t *testing.T, initial int64, factor, multiplier float64, maximum, limit, stop, step1, step2 int64, mode byte) {
		b := &ExponentialBackOff{
			InitialInterval:     time.Duration(initial),
			RandomizationFactor: factor,
			Multiplier:          multiplier,
			MaxInterval:         time.Duration(maximum),
			MaxElapsedTime:      time.Duration(limit),
			Stop:                time.Duration(stop),
		}
		clock := &walkingClock{steps: [2]int64{step1, step2}}
		if mode&1 != 0 {
			b.Clock = clock
		}
		if mode&2 != 0 {
			b.Reset()
		}
		maxInterval := b.MaxInterval
		if maxInterval <= 0 {
			maxInterval = DefaultMaxInterval
		}
		stopWait := b.Stop
		if stopWait == 0 {
			stopWait = Stop
		}
		atRest := b.Clock != nil && initial == 0
		for range 50 {
			wait := b.NextBackOff()
			if limit != 0 && wait == stopWait {
				continue
			}
			require.GreaterOrEqual(t, wait, time.Duration(0), "a wait is not negative")
			require.LessOrEqual(t, float64(wait), 2*float64(maxInterval)+1, "nor far above MaxInterval")
			if limit != 0 {
				require.LessOrEqual(t, wait, b.MaxElapsedTime, "nor beyond MaxElapsedTime")
			}
			if atRest || !(factor > 0) {
				require.Equal(t, atRest, wait == 0, "waits are zero if they are meant to be")
			}
			require.GreaterOrEqual(t, b.GetElapsedTime(), time.Duration(0))
		}
	})
}

// walkingClock moves by each of its steps in turn, and wraps round where they carry it too far.
type walkingClock struct {
	steps [2]int64
	calls int
	now   int64
}

func (c *walkingClock) Now() time.Time {
	c.now += c.steps[c.calls%2]
	c.calls++
	return time.Unix(0, c.now)
}
