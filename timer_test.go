//go:build go1.25

package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryWaitsWhatThePolicySays(t *testing.T) {
	for name, wrap := range map[string]func(context.Context, BackOff) BackOff{
		"without context": func(_ context.Context, b BackOff) BackOff { return b },
		"cancellable": func(ctx context.Context, b BackOff) BackOff {
			return WithContext(b, ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Duration
				start := time.Now()
				err := Retry(func() error {
					calls = append(calls, time.Since(start))
					return errFailed
				}, wrap(t.Context(), waits(time.Second, 0, time.Minute, 1)))
				require.Same(t, errFailed, err)
				require.Equal(t, []time.Duration{0, time.Second, time.Second, 61 * time.Second, 61*time.Second + 1}, calls)
			})
		})
	}
}

func TestNotifyComesBeforeTheWaitThatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		operation, _ := failing(-1)
		var told, at []time.Duration
		_ = RetryNotify(operation, waits(time.Second, 0, time.Minute), func(err error, wait time.Duration) {
			require.Same(t, errFailed, err)
			told = append(told, wait)
			at = append(at, time.Since(start))
		})
		require.Equal(t, []time.Duration{time.Second, 0, time.Minute}, told)
		require.Equal(t, []time.Duration{0, time.Second, time.Second}, at)
	})
}

func TestCustomTimerIsUsedForEveryWait(t *testing.T) {
	timer := new(instantTimer)
	operation, _ := failing(-1)
	err := RetryNotifyWithTimer(operation, waits(time.Hour, 0, 1), nil, timer)
	require.Same(t, errFailed, err)
	require.Equal(t, []time.Duration{time.Hour, 0, 1}, timer.started)
	require.Equal(t, 1, timer.stops)
}

func TestCustomTimerIsStoppedHoweverTheLoopEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		err    error
		policy BackOff
	}{
		"success":   {nil, waits()},
		"permanent": {Permanent(errFailed), waits(1)},
		"policy":    {errFailed, waits()},
		"context":   {errFailed, WithContext(waits(1), ctx)},
	} {
		timer := new(instantTimer)
		_ = RetryNotifyWithTimer(func() error { return test.err }, test.policy, nil, timer)
		require.Equal(t, 1, timer.stops, name)
		require.Empty(t, timer.started, name)
	}
}

func TestCustomTimerSwitchesOffTheDeadlineRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		operation, calls := failing(2)
		b := WithContext(NewConstantBackOff(time.Hour), ctx)
		require.NoError(t, RetryNotifyWithTimer(operation, b, nil, new(instantTimer)))
		require.Equal(t, 3, *calls)
	})
}

func TestContextCutsACustomTimerShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		operation, calls := failing(-1)
		start := time.Now()
		err := RetryNotifyWithTimer(operation, WithContext(waits(time.Millisecond), ctx), nil, new(brokenTimer))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errFailed)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, 1, *calls)
	})
}

func TestTimerWithoutChannelEndsTheLoop(t *testing.T) {
	operation, calls := failing(-1)
	err := RetryNotifyWithTimer(operation, waits(1, 1), nil, new(deafTimer))
	require.Same(t, errFailed, err)
	require.Equal(t, 1, *calls)
}

func TestMaxElapsedTimeEndsTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewExponentialBackOff(
			WithMultiplier(1),
			WithRandomizationFactor(0),
			WithInitialInterval(time.Second),
			WithMaxElapsedTime(3*time.Second),
		)
		for range 2 {
			time.Sleep(time.Hour) // does not count: Retry resets b
			start := time.Now()
			operation, calls := failing(-1)
			require.Same(t, errFailed, Retry(operation, b))
			require.Equal(t, 4, *calls)
			require.Equal(t, 3*time.Second, time.Since(start))
			require.Equal(t, 3*time.Second, b.GetElapsedTime())
		}
	})
}

func TestElapsedTimeIncludesTheOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		_ = Retry(func() error {
			calls++
			time.Sleep(20 * time.Second)
			return errFailed
		}, &ExponentialBackOff{Multiplier: 1, MaxElapsedTime: time.Minute})
		require.Equal(t, 3, calls)
	})
}
