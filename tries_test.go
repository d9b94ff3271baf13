package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// max retries are max+1 calls, and each retry is notified: cenkalti/backoff issue 80 had 0 mean
// without limit.
func TestWithMaxRetriesCallsAndNotifications(t *testing.T) {
	for _, max := range []uint64{0, 1, 2, 10} {
		operation, calls := failing(-1)
		notified := 0
		err := RetryNotify(operation, WithMaxRetries(&ZeroBackOff{}, max),
			func(error, time.Duration) { notified++ })
		require.Same(t, errFailed, err)
		require.EqualValues(t, max+1, *calls)
		require.EqualValues(t, max, notified)
	}
}

func TestWithMaxRetriesStartsAfreshAfterReset(t *testing.T) {
	inner := waits(1, 2, 3)
	b := WithMaxRetries(inner, 2)
	for range 2 {
		b.Reset()
		require.EqualValues(t, 1, b.NextBackOff())
		require.EqualValues(t, 2, b.NextBackOff())
		require.Equal(t, Stop, b.NextBackOff())
		require.Equal(t, Stop, b.NextBackOff())
		require.Equal(t, 2, inner.next, "a policy is not asked for a retry that the limit forbids")
	}
	require.Equal(t, 2, inner.resets)
}

func TestWithMaxRetriesWithoutEnd(t *testing.T) {
	b := WithMaxRetries(&ZeroBackOff{}, math.MaxUint64)
	for range 1000 {
		require.Zero(t, b.NextBackOff())
	}
}
