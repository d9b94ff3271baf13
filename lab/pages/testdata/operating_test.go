package page

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// failing returns an operation that fails so many times.
func failing(times int) func(context.Context) error {
	return func(context.Context) error {
		times--
		if times < 0 {
			return nil
		}
		return errors.New("connection refused")
	}
}

// calls makes a call for each way in which one can end.
func calls(t *testing.T, with func(service string, r backoff.Retrier) backoff.Retrier) {
	random := rand.New(rand.NewPCG(1, 4)) // so that the output is the same each time
	do := func(ctx context.Context, service string, failures int, r backoff.Retrier) {
		r.AttemptTimeout = 2 * time.Second
		r.Policy = func() backoff.BackOff { return backoff.NewExponentialBackOff(backoff.WithRand(random)) }
		r = with(service, r)
		_ = r.Do(ctx, failing(failures))
	}
	do(t.Context(), "users", 2, backoff.Retrier{})
	do(t.Context(), "orders", 4, backoff.Retrier{})

	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	do(soon, "mail", 4, backoff.Retrier{})
	do(t.Context(), "payments", 4, backoff.Retrier{Budget: &backoff.Budget{Capacity: -1}})

	taken := backoff.NewSlots(1)
	require.NoError(t, taken.Acquire(t.Context(), 0))
	later, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	do(later, "search", 0, backoff.Retrier{Slots: taken})
}

// The page shows what withLog logs.
func TestLog(t *testing.T) {
	var output bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&output, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.StringValue(a.Value.Time().UTC().Format("15:04:05.000"))
			}
			return a
		},
	})))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(9 * time.Hour)
		calls(t, withLog)
	})

	page, err := os.ReadFile("page.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "```text\n"+output.String()+"```\n")
}

// Each way in which a call ends has its outcome.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with := func(_ string, r backoff.Retrier) backoff.Retrier { return counted(r) }
		calls(t, with)
		r := counted(backoff.Retrier{MaxRetries: -1})
		require.NoError(t, r.Do(t.Context(), failing(0)))
		require.Error(t, r.Do(t.Context(), failing(1)))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, r.Do(ended, failing(0)))
	})

	for _, outcome := range []string{
		"succeeded", "succeeded_after_retry", "no_slot", "retries_exhausted", "budget_exhausted", "canceled",
		"deadline_exceeded", "refused",
	} {
		require.Equal(t, "1", operations.Get(outcome).String(), outcome)
	}
	require.Equal(t, int64(2+3+1), retries.Value())
}

// The switch ends calls that are running already.
func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := reports.Do(t.Context(), func(context.Context) error {
			attempts++
			retriesOff.Store(attempts == 2)
			return errors.New("busy")
		})
		require.EqualError(t, err, "busy")
		require.Equal(t, 2, attempts)
	})
}
