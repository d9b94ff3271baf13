//go:build go1.25

package backoff_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A process that has spent thousands of tokens while much failed is not in debt for hours after it.
func TestBudgetDebtHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var budget backoff.Budget
		requests(&budget, 500, time.Minute, 0.5)
		retries, refused := requests(&budget, 2, time.Hour, 0.05)
		t.Logf("%d of %d retries refused", refused, retries)
		require.Positive(t, retries)
		require.LessOrEqual(t, float64(refused), 0.03*float64(retries))
	})
}

// requests makes some each second, with three retries, and waits for them. A share of the attempts fails.
// It returns how many retries there were to make, and how many of these the budget refused.
func requests(budget *backoff.Budget, perSecond int, duration time.Duration, failing float64) (retries, refused int64) {
	operation := func() error {
		if rand.Float64() < failing {
			return errFailed
		}
		return nil
	}
	var made, unpaid atomic.Int64
	var group sync.WaitGroup
	for i := range perSecond * int(duration.Seconds()) {
		group.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / time.Duration(perSecond))
			calls := 0
			err := backoff.Retry(func() error {
				calls++
				return operation()
			}, backoff.WithBudget(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), budget))
			made.Add(int64(calls - 1))
			if errors.Is(err, backoff.ErrBudgetExhausted) {
				unpaid.Add(1)
			}
		})
	}
	group.Wait()
	return made.Load() + unpaid.Load(), unpaid.Load()
}
