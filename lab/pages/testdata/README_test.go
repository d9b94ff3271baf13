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

// getFunc is a client of a service.
type getFunc func(ctx context.Context) error

func (get getFunc) Get(ctx context.Context, _ string) (*User, error) { return nil, get(ctx) }

// However long the waits are, four attempts that fail at once fit into the five seconds of a call, and a call whose
// attempts hang takes no longer.
func TestWorstCase(t *testing.T) {
	attempts := 0
	fail := func(context.Context) error {
		attempts++
		return errors.New("busy")
	}
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			users.Budget = new(backoff.Budget)
			attempts = 0
			accounts = getFunc(fail)
			_, err := FetchUser(t.Context(), "42")
			require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			require.Equal(t, 4, attempts)

			accounts = getFunc(hang)
			start := time.Now()
			_, err = FetchUser(t.Context(), "42")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(start), 5*time.Second)
		})
	}
}
