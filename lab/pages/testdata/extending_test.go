package page

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// The decorators wait what the page says, and hide no context.
func TestDecorators(t *testing.T) {
	spread := &Spread{BackOff: &Fibonacci{Unit: time.Second, Max: time.Minute}, Share: 0.5}
	for _, unit := range []time.Duration{1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 60} {
		wait := spread.NextBackOff()
		require.GreaterOrEqual(t, wait, unit*time.Second)
		require.LessOrEqual(t, wait, unit*time.Second*3/2)
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rounds := &Rounds{BackOff: backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), ctx), Pause: 25 * time.Second}
		calls := 0
		err := backoff.Retry(func() error { calls++; return errors.New("busy") }, rounds)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 9, calls)
	})
}

// An error type asks for its wait.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_ = backoff.Retry(func() error { return &Throttled{time.Hour} }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2))
		require.Equal(t, 2*time.Hour, time.Since(start))
	})
}
