//go:build go1.25

package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// The README's connection loop starts over after a healthy connection, not after a short one, and
// goes on for as long as its context.
func TestReadmeReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, shutDown := context.WithCancel(context.Background())
		attempts := 0
		var ended time.Time
		var waits []time.Duration
		err := keepConnected(ctx, func(ctx context.Context) error {
			if attempts > 0 {
				waits = append(waits, time.Since(ended))
			}
			switch attempts++; attempts {
			case 100: // each of the last 80 waits is half a minute at least
				time.Sleep(time.Hour)
			case 102:
				shutDown()
			default:
				time.Sleep(time.Minute) // just not healthy
			}
			ended = time.Now()
			return errUnavailable
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errUnavailable)
		require.Equal(t, 102, attempts)
		first := func(wait time.Duration) bool { return wait >= 250*time.Millisecond && wait <= 750*time.Millisecond }
		require.True(t, first(waits[0]), waits[0])
		require.GreaterOrEqual(t, waits[98], 30*time.Second)
		require.True(t, first(waits[99]), waits[99])
	})
}

// The README's policy ends for each of its reasons, and the error says for which.
func TestReadmePolicy(t *testing.T) {
	defer func() {
		for budget.Tokens() < budget.Capacity {
			budget.Deposit()
		}
	}()
	retry := func(err error) (calls int, _ error) {
		err = backoff.Retry(func() error {
			calls++
			return err
		}, newPolicy(context.Background()))
		return calls, err
	}
	synctest.Test(t, func(t *testing.T) {
		calls, err := retry(errUnavailable)
		require.ErrorIs(t, err, errGivenUp)
		require.ErrorIs(t, err, errUnavailable)
		require.Equal(t, 6, calls)

		unauthorized := errors.New("unauthorized")
		calls, err = retry(unauthorized)
		require.Same(t, unauthorized, err)
		require.Equal(t, 1, calls)

		for retries := 5; retries < 60; retries += 5 {
			_, err = retry(errUnavailable)
			require.ErrorIs(t, err, errGivenUp)
		}
		calls, err = retry(errUnavailable)
		require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
		require.NotErrorIs(t, err, errGivenUp)
		require.Equal(t, 1, calls)
	})
}

// A bucket of 20 pays for four retries at the default cost.
func TestReadmeBudget(t *testing.T) {
	small := &backoff.Budget{Capacity: 20}
	calls := 0
	err := backoff.Retry(func() error {
		calls++
		return errUnavailable
	}, backoff.WithBudget(&backoff.ZeroBackOff{}, small))
	require.ErrorIs(t, err, backoff.ErrBudgetExhausted)
	require.Equal(t, 1+4, calls)
}
