//go:build go1.24

package backoff

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// failingAgain returns an operation that fails n times, succeeds once, and begins anew.
func failingAgain(n int) Operation {
	calls := 0
	return func() error {
		if calls++; calls <= n {
			return errFailed
		}
		calls = 0
		return nil
	}
}

func TestRetryDoesNotAllocate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	timed, cancelTimed := context.WithTimeout(ctx, time.Hour)
	defer cancelTimed()
	wrapped := fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", errFailed))
	zero := NewExponentialBackOff(WithInitialInterval(0))
	for name, policy := range map[string]BackOff{
		"zero":        &ZeroBackOff{},
		"constant":    NewConstantBackOff(0),
		"exponential": zero,
		"context":     WithContext(zero, ctx),
		"deadline":    WithContext(zero, timed),
		"everything": WithRetryIf(WithBudget(WithMaxRetries(foreign{WithContext(zero, timed)}, 100), &Budget{SuccessRefund: DefaultBudgetCapacity}),
			func(error) bool { return true }),
	} {
		for _, failures := range []int{0, 1, 10} {
			operation := failingAgain(failures)
			withData := func() (int, error) { return failures, operation() }
			notified := 0
			notify := func(error, time.Duration) { notified++ }
			for call, run := range map[string]func() error{
				"Retry":       func() error { return Retry(operation, policy) },
				"RetryNotify": func() error { return RetryNotify(operation, policy, notify) },
				"RetryNotifyWithData": func() error {
					_, err := RetryNotifyWithData(withData, policy, notify)
					return err
				},
				"a closure and a wrapped error": func() error {
					calls := 0
					return Retry(func() error {
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
func TestAllocationsDoNotGrowWithTheWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	policy := WithContext(NewConstantBackOff(1), ctx)
	allocs := func(failures int) float64 {
		operation := failingAgain(failures)
		return testing.AllocsPerRun(10, func() { require.NoError(t, Retry(operation, policy)) })
	}
	require.Positive(t, allocs(1))
	require.Equal(t, allocs(1), allocs(20))

	forever := NewConstantBackOff(1)
	operation := failingAgain(20)
	require.Zero(t, testing.AllocsPerRun(10, func() { require.NoError(t, Retry(operation, forever)) }),
		"a context that cannot end needs no timer at all")
}

func TestBudgetAndAttemptsDoNotAllocate(t *testing.T) {
	var budget Budget
	require.Zero(t, testing.AllocsPerRun(100, func() {
		budget.Withdraw()
		budget.Deposit()
	}))
	policy := &ZeroBackOff{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for attempt := range Attempts(policy) {
			if attempt == 10 {
				break
			}
		}
	}))
}

func BenchmarkRetry(b *testing.B) {
	for _, failures := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(failures, " failures"), func(b *testing.B) {
			operation, policy := failingAgain(failures), &ZeroBackOff{}
			b.ReportAllocs()
			for b.Loop() {
				_ = Retry(operation, policy)
			}
		})
	}
}

func BenchmarkNextBackOff(b *testing.B) {
	for _, jitter := range allJitters {
		policy := NewExponentialBackOff(WithMaxElapsedTime(0), WithJitter(jitter))
		b.Run(jitter.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				policy.NextBackOff()
			}
		})
	}
}

func BenchmarkBudget(b *testing.B) {
	var budget Budget
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			budget.Withdraw()
			budget.Deposit()
		}
	})
}
