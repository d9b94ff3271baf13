package docs_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff"
)

// This is how to test code that retries: in a synctest bubble the waits take
// no time, and the clock is exact.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		fetch := func() error {
			if calls++; calls < 3 {
				return errors.New("busy")
			}
			return nil
		}

		start := time.Now()
		err := backoff.Retry(fetch, backoff.NewConstantBackOff(time.Minute))
		if elapsed := time.Since(start); err != nil || elapsed != 2*time.Minute {
			t.Errorf("got %v after %v, want success after 2m", err, elapsed)
		}
	})
}
