package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func TestRetryIf(t *testing.T) {
	b := backoff.WithRetryIf(&backoff.ZeroBackOff{}, isEOF)
	for range 2 {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := results(io.EOF, fmt.Errorf("wrapped: %w", io.EOF), errFailed, io.EOF)
			require.Same(t, errFailed, retry(operation, b))
			require.Equal(t, 3, *calls)

			operation, calls = results(io.EOF, io.EOF, nil)
			require.NoError(t, retry(operation, b))
			require.Equal(t, 3, *calls)

			operation, calls = results(errFailed)
			require.Same(t, errFailed, retry(operation, b), "the first error, too")
			require.Equal(t, 1, *calls)
		})
	}
}

// If the context has ended as well, the error says so.
func TestRetryIfContext(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		err := retry(func() error { return errFailed }, backoff.WithRetryIf(backoff.WithContext(&backoff.ZeroBackOff{}, cancelled()), isEOF))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errFailed)
	})
}

func TestRetryIfByHand(t *testing.T) {
	inner := waits(1, 2)
	b := backoff.WithRetryIf(inner, func(error) bool { return false })
	b.(backoff.BackOffObserver).Observe(errFailed)
	require.Equal(t, backoff.Stop, b.NextBackOff())
	require.Zero(t, inner.next, "the policy below is not asked")
	b.(backoff.BackOffObserver).Observe(nil)
	require.EqualValues(t, 1, b.NextBackOff())
}

// A Ticker does not know the errors.
func TestRetryIfTicker(t *testing.T) {
	ticks := 0
	for range backoff.NewTicker(backoff.WithRetryIf(waits(0, 0), func(error) bool { return false })).C {
		ticks++
	}
	require.Equal(t, 3, ticks)
}
