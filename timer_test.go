//go:build go1.25

package backoff

import (
	"context"
	"errors"
	"fmt"
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

func TestRetryAfterIsALeastWait(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		policy BackOff
		asked  []time.Duration
		want   []time.Duration // the waits that follow
	}{
		"longer than the policy":  {NewConstantBackOff(s), []time.Duration{s + 1, s}, []time.Duration{s + 1, s}},
		"shorter than the policy": {NewConstantBackOff(s), []time.Duration{s - 1, 1}, []time.Duration{s, s}},
		"zero asks for nothing":   {NewConstantBackOff(s), []time.Duration{0}, []time.Duration{s}},
		"less asks for nothing":   {&ZeroBackOff{}, []time.Duration{-s}, []time.Duration{0}},
		"the policy is not reset": {NewLinearBackOff(s), []time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 3 * s}},
		"exponential likewise": {&ExponentialBackOff{InitialInterval: s, Multiplier: 2, MaxElapsedTime: time.Hour},
			[]time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 4 * s}},
		"behind an opaque decorator": {opaque{&ExponentialBackOff{InitialInterval: s, Multiplier: 2}},
			[]time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 4 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notified, slept []time.Duration
				last := time.Now()
				calls := 0
				err := RetryNotify(func() error {
					if calls++; calls > 1 {
						slept = append(slept, time.Since(last))
						last = time.Now()
					}
					if calls > len(test.asked) {
						return nil
					}
					return fmt.Errorf("wrapped: %w", RetryAfter(errFailed, test.asked[calls-1]))
				}, test.policy, func(_ error, wait time.Duration) { notified = append(notified, wait) })
				require.NoError(t, err)
				require.Equal(t, test.want, notified)
				require.Equal(t, test.want, slept)
			})
		})
	}
}

func TestRetryAfterBeyondALimitReturnsAtOnce(t *testing.T) {
	for name, inContext := range map[string]bool{"MaxElapsedTime": false, "deadline": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var b BackOff = NewExponentialBackOff()
				if inContext {
					b = WithContext(NewExponentialBackOff(WithMaxElapsedTime(0)), ctx)
				}
				asking := RetryAfter(errFailed, time.Hour)
				calls, start := 0, time.Now()
				err := RetryNotify(func() error { calls++; return asking }, foreign{b},
					func(error, time.Duration) { require.Fail(t, "no notification before giving up") })
				require.Zero(t, time.Since(start))
				require.Equal(t, 1, calls)
				require.ErrorIs(t, err, errFailed)
				require.Equal(t, inContext, errors.Is(err, context.DeadlineExceeded))
				if !inContext {
					require.Same(t, asking, err)
				}
			})
		})
	}
}

// A wait asked for is for the next attempt alone, also where the policy is reset in between.
func TestRetryAfterIsForgottenAfterReset(t *testing.T) {
	b := &ExponentialBackOff{}
	b.Observe(RetryAfter(errFailed, time.Hour))
	b.Reset()
	require.Equal(t, DefaultInitialInterval, b.NextBackOff())
}
