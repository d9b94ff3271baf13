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

// hiding is a decorator without Unwrap.
type hiding struct{ inner backoff.BackOff }

func (h hiding) NextBackOff() time.Duration { return h.inner.NextBackOff() }
func (h hiding) Reset()                     { h.inner.Reset() }

// Around a context it costs a whole wait and a call, and the error does not match the context's.
func TestWithoutUnwrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var ended []bool
		err := backoff.Retry(func() error {
			ended = append(ended, ctx.Err() != nil)
			return errors.New("busy")
		}, hiding{backoff.WithContext(backoff.NewConstantBackOff(time.Minute), ctx)})
		require.EqualError(t, err, "busy")
		require.Equal(t, []bool{false, true}, ended)
		require.Equal(t, time.Minute, time.Since(start))
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
