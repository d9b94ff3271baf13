package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestSystemClock(t *testing.T) {
	before := time.Now()
	now := backoff.SystemClock.Now()
	require.False(t, now.Before(before))
	require.False(t, now.After(time.Now()))
}

// In cenkalti/backoff v4 the elapsed time starts at construction, so that a policy that is made
// early gives up late, or at its first failure.
func TestClockReads(t *testing.T) {
	clock := clockOf(0, 1, 2, 3)
	b := backoff.NewExponentialBackOff(backoff.WithClockProvider(clock), backoff.WithInitialInterval(1))
	require.Zero(t, clock.reads, "the constructor does not read the clock")
	require.Zero(t, b.GetElapsedTime())
	require.Zero(t, clock.reads)
	require.NotEqual(t, backoff.Stop, b.NextBackOff())
	require.NotZero(t, clock.reads)

	clock = clockOf(time.Hour)
	b = backoff.NewExponentialBackOff(backoff.WithClockProvider(clock))
	clock.times = []time.Duration{24 * time.Hour}
	require.NotEqual(t, backoff.Stop, b.NextBackOff(), "a day between construction and use does not count")
}

// A Clock that steps back neither stops a policy early nor extends it without end.
func TestClockStepsBack(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		clock []time.Duration // at Reset and at each NextBackOff
		want  []time.Duration
	}{
		"after the start":  {[]time.Duration{0, 8 * s, 2 * s, 9 * s, 10 * s}, []time.Duration{s, s, s, backoff.Stop}},
		"before the start": {[]time.Duration{0, 8 * s, -100 * s, -91 * s, -90 * s}, []time.Duration{s, s, s, backoff.Stop}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backoff.ExponentialBackOff{
				InitialInterval: s, MaxInterval: s, MaxElapsedTime: 10 * s, Stop: backoff.Stop, Clock: clockOf(test.clock...),
			}
			b.Reset()
			require.Equal(t, test.want, draws(b, len(test.want)))
		})
	}
}

func TestGetElapsedTime(t *testing.T) {
	b := &backoff.ExponentialBackOff{Clock: clockOf(0, 3, 5, -9, -7, 20, 24)}
	require.Zero(t, b.GetElapsedTime(), "before Reset")
	b.Reset()
	require.EqualValues(t, 3, b.GetElapsedTime())
	require.EqualValues(t, 5, b.GetElapsedTime())
	require.Zero(t, b.GetElapsedTime(), "never negative")
	require.EqualValues(t, 2, b.GetElapsedTime(), "a clock before the start starts it over")
	b.Reset()
	require.EqualValues(t, 4, b.GetElapsedTime())

	for name, b := range map[string]*backoff.ExponentialBackOff{
		"New":     backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)),
		"literal": {},
	} {
		b.Clock = clockOf(5, 8)
		require.Zero(t, b.GetElapsedTime(), name)
		b.NextBackOff()
		require.EqualValues(t, 3, b.GetElapsedTime(), "%s: the time starts with the first wait", name)
	}

	for _, clock := range []backoff.Clock{nil, backoff.SystemClock} {
		b = &backoff.ExponentialBackOff{Clock: clock}
		require.Zero(t, b.GetElapsedTime())
		b.NextBackOff()
		elapsed := b.GetElapsedTime()
		require.GreaterOrEqual(t, elapsed, time.Duration(0))
		require.GreaterOrEqual(t, b.GetElapsedTime(), elapsed)
	}
}

// GetElapsedTime beside a running loop is no data race (with -race).
func TestGetElapsedTimeRace(t *testing.T) {
	b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(0))
	b.Reset()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			b.NextBackOff()
		}
	}()
	for range 1000 {
		b.GetElapsedTime()
	}
	<-done
}
