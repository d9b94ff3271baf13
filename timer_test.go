package backoff_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A custom timer is used for every wait, also for one of zero.
func TestTimer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, b := range []backoff.BackOff{waits(time.Hour, 0, 1), backoff.WithContext(waits(time.Hour, 0, 1), ctx)} {
		timer := new(instantTimer)
		operation, calls := failing(-1)
		require.Same(t, errFailed, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
		require.Equal(t, 4, *calls)
		require.Equal(t, []time.Duration{time.Hour, 0, 1}, timer.started)
		require.Equal(t, 1, timer.stops)
	}
	timer := new(instantTimer)
	asked := backoff.RetryAfter(errFailed, time.Minute)
	value, err := backoff.RetryNotifyWithTimerAndData(func() (int, error) { return 7, asked }, waits(1, time.Hour), nil, timer)
	require.Same(t, asked, err)
	require.Equal(t, 7, value)
	require.Equal(t, []time.Duration{time.Minute, time.Hour}, timer.started)
}

// However the loop ends, its timer is stopped once.
func TestTimerStop(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		policy backoff.BackOff
	}{
		"success":   {nil, waits()},
		"permanent": {backoff.Permanent(errFailed), waits(1)},
		"policy":    {errFailed, waits()},
		"context":   {errFailed, backoff.WithContext(waits(1), cancelled())},
		"budget":    {errFailed, backoff.WithBudget(waits(1), &backoff.Budget{Capacity: -1})},
	} {
		timer := new(instantTimer)
		_ = backoff.RetryNotifyWithTimer(func() error { return test.err }, test.policy, nil, timer)
		require.Equal(t, 1, timer.stops, name)
		require.Empty(t, timer.started, name)
	}
}

// A custom timer turns off the deadline check: its time need not be real.
func TestTimerDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	operation, calls := results(backoff.RetryAfter(errFailed, 9*time.Hour), errFailed, errFailed, nil)
	b := backoff.WithContext(backoff.NewConstantBackOff(2*time.Hour), ctx)
	timer := new(instantTimer)
	require.NoError(t, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
	require.Equal(t, 4, *calls)
	require.Equal(t, []time.Duration{9 * time.Hour, 2 * time.Hour, 2 * time.Hour}, timer.started)
}

// The context cuts a custom timer's wait short.
func TestTimerContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	timer := new(brokenTimer)
	operation, calls := failing(-1)
	err := backoff.RetryNotifyWithTimer(operation, backoff.WithContext(waits(1), ctx), nil, timer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, 1, *calls)
	require.Equal(t, 1, timer.stops)
}

// A Timer without a channel ends the loop, as if the policy had stopped. No limit is named, because
// none has been reached.
func TestTimerWithoutChannel(t *testing.T) {
	for name, b := range map[string]backoff.BackOff{
		"policy":   waits(1, 1),
		"label":    backoff.WithStopCause(waits(1, 1), errCause),
		"fallback": &fallback{foreign: foreign{backoff.WithStopCause(waits(), errCause)}, second: waits(1, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			timer := new(nilTimer)
			operation, calls := failing(-1)
			require.Same(t, errFailed, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
			require.Equal(t, 1, *calls)
			require.Equal(t, 1, timer.stops)
		})
	}
}

// order is a Timer that notes Stop among the waits, as -1.
type order struct{ instantTimer }

func (o *order) Stop() { o.Start(-1) }

func TestTimerStopLast(t *testing.T) {
	timer := new(order)
	require.Error(t, backoff.RetryNotifyWithTimer(func() error { return errFailed }, waits(1), nil, timer))
	require.Equal(t, []time.Duration{1, -1}, timer.started)

	timer = new(order)
	for range backoff.NewTickerWithTimer(waits(1), timer).C {
	}
	require.Equal(t, []time.Duration{1, -1}, timer.started)
}
