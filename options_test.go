package backoff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestOptions(t *testing.T) {
	clock, random := clockOf(0), seeded()
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(1),
		backoff.WithRandomizationFactor(0.2),
		backoff.WithMultiplier(3),
		backoff.WithMaxInterval(4),
		backoff.WithMaxElapsedTime(5),
		backoff.WithRetryStopDuration(6),
		backoff.WithClockProvider(clock),
		backoff.WithJitter(backoff.EqualJitter),
		backoff.WithRand(random),
	)
	require.EqualValues(t, 1, b.InitialInterval)
	require.EqualValues(t, 0.2, b.RandomizationFactor)
	require.EqualValues(t, 3, b.Multiplier)
	require.EqualValues(t, 4, b.MaxInterval)
	require.EqualValues(t, 5, b.MaxElapsedTime)
	require.EqualValues(t, 6, b.Stop)
	require.Same(t, clock, b.Clock)
	require.Equal(t, backoff.EqualJitter, b.Jitter)
	require.Same(t, random, b.Rand)
}

func TestDefaults(t *testing.T) {
	b := backoff.NewExponentialBackOff()
	require.Equal(t, backoff.DefaultInitialInterval, b.InitialInterval)
	require.EqualValues(t, backoff.DefaultRandomizationFactor, b.RandomizationFactor)
	require.EqualValues(t, backoff.DefaultMultiplier, b.Multiplier)
	require.Equal(t, backoff.DefaultMaxInterval, b.MaxInterval)
	require.Equal(t, backoff.DefaultMaxElapsedTime, b.MaxElapsedTime)
	require.Equal(t, backoff.Stop, b.Stop)
	require.Equal(t, backoff.SystemClock, b.Clock)
	require.Equal(t, backoff.ProportionalJitter, b.Jitter)
	require.Nil(t, b.Rand)
}
