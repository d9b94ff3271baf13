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

// The decorator waits what the page says, and hides no context.
func TestDecorator(t *testing.T) {
	spread := &Spread{BackOff: &Fibonacci{Unit: time.Second, Max: time.Minute}, Share: 0.5}
	for _, unit := range []time.Duration{1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 60} {
		wait := spread.NextBackOff()
		require.GreaterOrEqual(t, wait, unit*time.Second)
		require.LessOrEqual(t, wait, unit*time.Second*3/2)
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		slow := &Spread{BackOff: backoff.WithContext(&Fibonacci{Unit: 40 * time.Second}, ctx)}
		calls := 0
		err := backoff.Retry(func() error { calls++; return errors.New("busy") }, slow)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2, calls)
		require.Equal(t, 40*time.Second, time.Since(start), "the wait that is too long is refused")
	})
}

// Throttled is the error of a client that knows how long to wait. The page has its method As.
type Throttled struct {
	Wait time.Duration
}

func (e *Throttled) Error() string { return "throttled" }

// An error type asks for its wait.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_ = backoff.Retry(func() error { return &Throttled{time.Hour} }, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2))
		require.Equal(t, 2*time.Hour, time.Since(start))
	})
}
