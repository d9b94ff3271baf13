package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// max retries are max+1 calls, and each retry is notified. In early versions of
// cenkalti/backoff, zero meant no limit.
func TestMaxRetries(t *testing.T) {
	for _, max := range []uint64{0, 1, 2, 10} {
		operation, calls := failing(-1)
		notified := 0
		err := backoff.RetryNotify(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max),
			func(error, time.Duration) { notified++ })
		require.Same(t, errFailed, err)
		require.EqualValues(t, max+1, *calls)
		require.EqualValues(t, max, notified)

		operation, calls = failing(-1)
		require.Same(t, errFailed, attempt(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max)))
		require.EqualValues(t, max+1, *calls)
	}
}

func TestMaxRetriesReset(t *testing.T) {
	inner := waits(1, 2, 3)
	b := backoff.WithMaxRetries(inner, 2)
	for range 2 {
		b.Reset()
		require.EqualValues(t, 1, b.NextBackOff())
		require.EqualValues(t, 2, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, 2, inner.next, "the policy is not asked for a retry that the limit forbids")
	}
	require.Equal(t, 2, inner.resets)
}
