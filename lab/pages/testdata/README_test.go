package page

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// With the longest waits, four attempts that hang take 11.6 s.
func TestWorstCase(t *testing.T) {
	longest := time.Duration(0)
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			users.Budget = new(backoff.Budget)
			attempts := 0
			start := time.Now()
			err := users.Do(t.Context(), func(ctx context.Context) error {
				attempts++
				<-ctx.Done()
				return ctx.Err()
			})
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.Equal(t, 4, attempts)
			longest = max(longest, time.Since(start))
		})
	}
	require.InDelta(t, 11, longest.Seconds(), 0.6)
}
