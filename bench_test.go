//go:build go1.24

package backoff_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestRetryAllocs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	timed, cancelTimed := context.WithTimeout(ctx, time.Hour)
	defer cancelTimed()
	wrapped := fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", errFailed))
	zero := backoff.NewExponentialBackOff(backoff.WithInitialInterval(0))
	for name, policy := range map[string]backoff.BackOff{
		"zero":        &backoff.ZeroBackOff{},
		"constant":    backoff.NewConstantBackOff(0),
		"exponential": zero,
		"context":     backoff.WithContext(zero, ctx),
		"deadline":    backoff.WithContext(zero, timed),
		"everything":  backoff.WithMaxRetries(foreign{backoff.WithContext(zero, timed)}, 100),
	} {
		for _, failures := range []int{0, 1, 10} {
			operation := failingAgain(failures)
			withData := func() (int, error) { return failures, operation() }
			notified := 0
			notify := func(error, time.Duration) { notified++ }
			for call, run := range map[string]func() error{
				"Retry":       func() error { return backoff.Retry(operation, policy) },
				"RetryNotify": func() error { return backoff.RetryNotify(operation, policy, notify) },
				"RetryNotifyWithData": func() error {
					_, err := backoff.RetryNotifyWithData(withData, policy, notify)
					return err
				},
				"Attempts": func() error { return attempt(operation, policy) },
				"a closure and a wrapped error": func() error {
					calls := 0
					return backoff.Retry(func() error {
						if calls++; calls <= failures {
							return wrapped
						}
						return nil
					}, policy)
				},
			} {
				require.Zero(t, testing.AllocsPerRun(10, func() { require.NoError(t, run()) }),
					"%s, %s policy, %d failures", call, name, failures)
			}
		}
	}
}

// One timer serves all waits of a call: what a call allocates does not grow with its attempts.
func TestWaitAllocs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	policy := backoff.WithContext(backoff.NewConstantBackOff(1), ctx)
	allocs := func(failures int) float64 {
		operation := failingAgain(failures)
		return testing.AllocsPerRun(10, func() { require.NoError(t, backoff.Retry(operation, policy)) })
	}
	require.Positive(t, allocs(1))
	require.Equal(t, allocs(1), allocs(20))

	forever := backoff.NewConstantBackOff(1)
	operation := failingAgain(20)
	require.Zero(t, testing.AllocsPerRun(10, func() { require.NoError(t, backoff.Retry(operation, forever)) }),
		"a context that cannot end needs no timer at all")
}

// The call as programs make it: everything is built for it, and the first attempt succeeds.
func TestCallAllocs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	policy := func() backoff.BackOff {
		return backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), ctx)
	}
	succeeds := func() error { return nil }
	for name, call := range map[string]func() error{
		"Retry":    func() error { return backoff.Retry(succeeds, policy()) },
		"Attempts": func() error { return attempt(succeeds, policy()) },
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { require.NoError(t, call()) }), 2.0, name)
	}
}

func TestBudgetAllocs(t *testing.T) {
	var budget backoff.Budget
	require.Zero(t, testing.AllocsPerRun(100, func() {
		budget.Withdraw()
		budget.Deposit()
	}))
}

// Many goroutines at once; the other speeds are measured in lab/bench.
func BenchmarkBudget(b *testing.B) {
	var budget backoff.Budget
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			budget.Withdraw()
			budget.Deposit()
		}
	})
}
