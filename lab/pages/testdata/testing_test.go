package page

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// After a bubble with trouble, no call of the next one is limited.
func TestNextBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			go lookUp(t.Context(), func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
		}
		time.Sleep(5 * time.Second)
		require.Less(t, lookUps.Slots.Limit(), math.MaxInt)
	})
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			_, err := lookUp(t.Context(), func(context.Context) (string, error) {
				return "hello", nil
			})
			require.NoError(t, err)
			require.Equal(t, math.MaxInt, lookUps.Slots.Limit())
		}
	})
}
