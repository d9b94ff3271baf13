package pages_test

import (
	"bytes"
	"context"
	"errors"
	"expvar"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// call runs op until it succeeds or policy gives up. It logs each retry and the end.
func call(ctx context.Context, name string, policy backoff.BackOff, op func(context.Context) error) error {
	attempts := 0
	attempt := func() error {
		attempts++
		return op(ctx)
	}
	notify := func(err error, wait time.Duration) {
		slog.WarnContext(ctx, "retrying",
			"operation", name, "attempt", attempts, "wait", wait.Round(time.Millisecond), "err", err)
	}

	err := backoff.RetryNotify(attempt, backoff.WithContext(policy, ctx), notify)

	switch {
	case err != nil:
		slog.ErrorContext(ctx, "giving up", "operation", name, "attempts", attempts, "err", err)
	case attempts > 1:
		slog.InfoContext(ctx, "succeeded after retries", "operation", name, "attempts", attempts)
	}
	return err
}

// failTimes returns an operation that fails so many times.
func failTimes(times int, err error) func(context.Context) error {
	return func(context.Context) error {
		if times--; times < 0 {
			return nil
		}
		return err
	}
}

// The page shows what call logs.
func TestOperatingLog(t *testing.T) {
	var output bytes.Buffer
	logTo(t, &output, "15:04:05.000")

	synctest.Test(t, func(t *testing.T) {
		time.Sleep(9 * time.Hour)
		refused := errors.New("connection refused")
		random := rand.New(rand.NewPCG(1, 4)) // so that the output is the same each time
		policy := func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithRand(random)), 3)
		}

		require.NoError(t, call(t.Context(), "load user", policy(), failTimes(2, refused)))

		time.Sleep(time.Minute)
		require.Same(t, refused, call(t.Context(), "save user", policy(), failTimes(4, refused)))

		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, call(ctx, "send mail", policy(), failTimes(4, refused)), context.DeadlineExceeded)

		time.Sleep(time.Minute)
		empty := backoff.WithBudget(policy(), &backoff.Budget{Capacity: -1})
		require.ErrorIs(t, call(t.Context(), "charge card", empty, failTimes(4, refused)), backoff.ErrBudgetExhausted)
	})

	block := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(read(t, "docs/operating.md"))
	require.NotNil(t, block)
	require.Equal(t, output.String(), block[1])
}

var (
	operations = expvar.NewMap("retry.operations") // by retry.outcome
	attempts   = expvar.NewInt("retry.attempts")
)

// callCounted is like Retry, and counts operations and attempts.
func callCounted(ctx context.Context, policy backoff.BackOff, op func(context.Context) error) error {
	n := 0
	err := backoff.Retry(func() error {
		n++
		attempts.Add(1)
		return op(ctx)
	}, backoff.WithContext(policy, ctx))

	operations.Add(retryOutcome(n, err), 1)
	return err
}

// retryOutcome names how an operation ended, after so many attempts.
func retryOutcome(attempts int, err error) string {
	switch {
	case errors.Is(err, backoff.ErrBudgetExhausted):
		return "refused_by_budget"
	case err != nil:
		return "failed"
	case attempts > 1:
		return "succeeded_after_retry"
	}
	return "succeeded"
}

var retriesOff atomic.Bool

// switchable returns policy with a switch: while retriesOff is set, nothing is retried.
func switchable(policy backoff.BackOff) backoff.BackOff {
	return backoff.WithRetryIf(policy, func(error) bool { return !retriesOff.Load() })
}

func TestOperatingCounters(t *testing.T) {
	operations.Init()
	attempts.Set(0)
	policy := func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }
	empty := backoff.WithBudget(policy(), &backoff.Budget{Capacity: -1})

	require.NoError(t, callCounted(t.Context(), policy(), failTimes(0, errBusy)))
	require.NoError(t, callCounted(t.Context(), policy(), failTimes(1, errBusy)))
	require.Error(t, callCounted(t.Context(), policy(), failTimes(9, errBusy)))
	require.Error(t, callCounted(t.Context(), empty, failTimes(9, errBusy)))
	require.EqualValues(t, 1+2+4+1, attempts.Value())
	for _, outcome := range []string{"succeeded", "succeeded_after_retry", "failed", "refused_by_budget"} {
		require.Equal(t, "1", operations.Get(outcome).String(), outcome)
	}
}

// The switch ends loops that are running already.
func TestOperatingSwitch(t *testing.T) {
	defer retriesOff.Store(false)
	calls := 0
	err := backoff.Retry(func() error {
		if calls++; calls == 3 {
			retriesOff.Store(true)
		}
		return errBusy
	}, switchable(&backoff.ZeroBackOff{}))
	require.Same(t, errBusy, err)
	require.Equal(t, 3, calls)
}
