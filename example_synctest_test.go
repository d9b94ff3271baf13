//go:build go1.25

package backoff

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// How a user tests code that retries, as the README shows it.
func TestRetriesTakeNoTimeInABubble(t *testing.T) {
	calls := 0
	failingTwice := func() error {
		if calls++; calls < 3 {
			return errors.New("busy")
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := Retry(failingTwice, NewConstantBackOff(time.Minute))
		require.NoError(t, err)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}
