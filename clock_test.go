package backoff_test

import (
	"math"
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

func TestClockStepsBack(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		clock []time.Duration // at Reset, then at each NextBackOff
		want  []time.Duration
	}{
		"once":              {[]time.Duration{0, 8 * s, -100 * s, -99 * s, -98 * s}, []time.Duration{s, s, s, backoff.Stop}},
		"twice":             {[]time.Duration{0, 5 * s, 0, 4 * s, 0, s}, []time.Duration{s, s, s, s, backoff.Stop}},
		"beyond a Duration": {[]time.Duration{math.MaxInt64, math.MinInt64, math.MinInt64 + 9*s, math.MinInt64 + 10*s}, []time.Duration{s, s, backoff.Stop}},
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
	b := &backoff.ExponentialBackOff{Clock: clockOf(0, 3, 5, -9, 20, 24)}
	require.Zero(t, b.GetElapsedTime(), "before Reset")
	b.Reset()
	require.EqualValues(t, 3, b.GetElapsedTime())
	require.EqualValues(t, 5, b.GetElapsedTime())
	require.Zero(t, b.GetElapsedTime(), "never negative")
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

// A Clock that takes another's place in mid-run, against the advice, does no harm: the elapsed time
// starts over or stands still, and a limit stays in force.
func TestClockExchanged(t *testing.T) {
	b := backoff.NewExponentialBackOff()
	b.NextBackOff()
	b.Clock = clockOf(0, 0, time.Hour)
	require.Zero(t, b.GetElapsedTime())
	require.NotEqual(t, backoff.Stop, b.NextBackOff())
	for range 3 {
		b.NextBackOff()
	}
	require.Equal(t, backoff.Stop, b.NextBackOff())
	b.Clock = backoff.SystemClock
	require.GreaterOrEqual(t, b.GetElapsedTime(), time.Duration(0))
	b.NextBackOff()
	b.Reset()
	require.NotEqual(t, backoff.Stop, b.NextBackOff())
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
