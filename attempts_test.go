//go:build go1.25

package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// attemptsOf ranges over Attempts(b), and returns the time of each attempt and of the end.
func attemptsOf(t *testing.T, b BackOff) (at []time.Duration, end time.Duration) {
	t.Helper()
	start := time.Now()
	for attempt := range Attempts(b) {
		at = append(at, time.Since(start))
		require.Equal(t, len(at), attempt, "attempts are numbered from 1")
	}
	return at, time.Since(start)
}

func TestAttemptsWaitAsThePolicySays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, end := attemptsOf(t, waits(time.Second, 0, time.Minute))
		require.Equal(t, []time.Duration{0, time.Second, time.Second, 61 * time.Second}, at)
		require.Equal(t, 61*time.Second, end)
	})
}

func TestAttemptsYieldOnceWhenThePolicyStops(t *testing.T) {
	at, _ := attemptsOf(t, &StopBackOff{})
	require.Len(t, at, 1)
}

func TestAttemptsEndWithTheContext(t *testing.T) {
	for name, test := range map[string]struct {
		wait, timeout time.Duration
		cancel        bool
		attempts      int
		end           time.Duration
	}{
		"cancelled while waiting": {time.Hour, time.Minute, true, 1, time.Minute},
		"cancelled between waits": {time.Second, 2500 * time.Millisecond, true, 3, 2500 * time.Millisecond},
		"deadline too near":       {time.Hour, time.Minute, false, 1, 0},
		"deadline after two":      {time.Second, 2500 * time.Millisecond, false, 3, 2 * time.Second},
		"done from the start":     {0, 0, true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := 24 * time.Hour
				if !test.cancel {
					far = test.timeout
				}
				ctx, cancel := context.WithTimeout(t.Context(), far)
				defer cancel()
				if test.cancel {
					time.AfterFunc(test.timeout, cancel)
					synctest.Wait()
				}
				at, end := attemptsOf(t, foreign{WithContext(NewConstantBackOff(test.wait), ctx)})
				require.Len(t, at, test.attempts)
				require.Equal(t, test.end, end)
			})
		})
	}
}

func TestAttemptsAfterCancelInTheBody(t *testing.T) {
	for _, wait := range []time.Duration{0, 1} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		attempts := 0
		for range Attempts(WithContext(NewConstantBackOff(wait), ctx)) {
			attempts++
			cancel()
		}
		require.Equal(t, 1, attempts)
	}
}

func TestAttemptsBreakAndRangeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := waits(time.Second, time.Second)
		attempts := Attempts(WithContext(policy, t.Context()))
		for range attempts {
			break
		}
		require.Equal(t, 1, policy.resets)
		require.Zero(t, policy.next, "the policy is not asked after a break")
		for range 2 {
			last := 0
			for last = range attempts {
			}
			require.Equal(t, 3, last)
		}
		require.Equal(t, 3, policy.resets)
	})
}

func TestAttemptsWithNilPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for attempt := range Attempts(nil) {
			if attempt == 2 {
				break
			}
		}
		require.GreaterOrEqual(t, time.Since(start), DefaultInitialInterval/2)
	})
}

func TestAttemptsWithBudget(t *testing.T) {
	budget := &Budget{Capacity: 10}
	at, _ := attemptsOf(t, WithBudget(&ZeroBackOff{}, budget))
	require.Len(t, at, 3)
	require.Zero(t, budget.Tokens())
}

// The loop's body may tell the policy what it knows.
func TestAttemptsWithAnObserverToldByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ExponentialBackOff{}
		b.Observe(RetryAfter(errFailed, time.Hour))
		require.Equal(t, time.Hour, b.NextBackOff(), "without a limit, too")
		require.Equal(t, 750*time.Millisecond, b.NextBackOff(), "and once only")

		b.MaxElapsedTime = 15 * time.Minute
		start := time.Now()
		for attempt := range Attempts(b) {
			switch attempt {
			case 1:
				b.Observe(RetryAfter(errFailed, time.Minute))
			case 2:
				require.Equal(t, time.Minute, time.Since(start))
				b.Observe(RetryAfter(errFailed, time.Hour))
			default:
				require.Fail(t, "an hour is beyond MaxElapsedTime")
			}
		}
		require.Equal(t, time.Minute, time.Since(start))
	})
}
