package pages_test

import (
	"bytes"
	"context"
	"errors"
	"expvar"
	"fmt"
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

// withLog returns r with a log of each retry, and of the end of each call that needed one or failed.
func withLog(service string, r backoff.Retrier) backoff.Retrier {
	r.Notify = func(ctx context.Context, attempt int, err error, wait time.Duration) {
		slog.WarnContext(ctx, "retrying",
			"service", service, "attempt", attempt, "wait", wait.Round(time.Millisecond), "err", err)
	}
	r.Done = func(ctx context.Context, attempts int, err error) {
		switch {
		case err != nil:
			slog.ErrorContext(ctx, "giving up", "service", service, "attempts", attempts, "err", err)
		case attempts > 1:
			slog.InfoContext(ctx, "succeeded after retries", "service", service, "attempts", attempts)
		}
	}
	return r
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

// The page shows what withLog logs.
func TestOperatingLog(t *testing.T) {
	var output bytes.Buffer
	logTo(t, &output, "15:04:05.000")

	synctest.Test(t, func(t *testing.T) {
		time.Sleep(9 * time.Hour)
		refused := errors.New("connection refused")
		random := rand.New(rand.NewPCG(1, 4)) // so that the output is the same each time
		do := func(ctx context.Context, service string, failures int, budget *backoff.Budget) error {
			r := withLog(service, backoff.Retrier{
				AttemptTimeout: 2 * time.Second,
				MaxRetries:     3,
				Policy:         func() backoff.BackOff { return backoff.NewExponentialBackOff(backoff.WithRand(random)) },
				Budget:         budget,
			})
			return r.Do(ctx, failTimes(failures, refused))
		}
		require.NoError(t, do(t.Context(), "users", 2, nil))

		time.Sleep(time.Minute)
		require.Same(t, refused, do(t.Context(), "orders", 4, nil))

		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, do(ctx, "mail", 4, nil), context.DeadlineExceeded)

		time.Sleep(time.Minute)
		empty := &backoff.Budget{Capacity: -1}
		require.ErrorIs(t, do(t.Context(), "payments", 4, empty), backoff.ErrBudgetExhausted)

		time.Sleep(time.Minute)
		taken := backoff.NewSlots(1)
		require.NoError(t, taken.Acquire(t.Context(), 0))
		search := withLog("search", backoff.Retrier{AttemptTimeout: 2 * time.Second, Slots: taken})
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, search.Do(ctx, failTimes(0, nil)), backoff.ErrNoSlot)
	})

	block := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(read(t, "docs/operating.md"))
	require.NotNil(t, block)
	require.Equal(t, output.String(), block[1])
}

var (
	operations = expvar.NewMap("retry.operations") // by retry.outcome
	attempts   = expvar.NewInt("retry.attempts")
)

// callCounted is like r.Do, and counts operations and attempts.
func callCounted(ctx context.Context, r *backoff.Retrier, op func(context.Context) error) error {
	n := 0
	err := r.Do(ctx, func(ctx context.Context) error {
		n++
		attempts.Add(1)
		return op(ctx)
	})
	operations.Add(retryOutcome(n, err), 1)
	return err
}

// retryOutcome names how an operation ended, after so many attempts.
func retryOutcome(attempts int, err error) string {
	switch {
	case errors.Is(err, backoff.ErrNoSlot):
		return "no_slot"
	case errors.Is(err, backoff.ErrBudgetExhausted):
		return "refused_by_budget"
	case err != nil:
		return "failed"
	case attempts > 1:
		return "succeeded_after_retry"
	}
	return "succeeded"
}

// publishSlots makes the number of slots in use a variable of expvar.
func publishSlots(service string, slots *backoff.Slots) {
	expvar.Publish("retry.slots.in_use."+service, expvar.Func(func() any { return slots.InUse() }))
}

func TestOperatingCounters(t *testing.T) {
	operations.Init()
	attempts.Set(0)
	r := backoff.Retrier{
		AttemptTimeout: time.Second,
		MaxRetries:     3,
		Policy:         func() backoff.BackOff { return &backoff.ZeroBackOff{} },
	}
	poor := r
	poor.Budget = &backoff.Budget{Capacity: -1}
	full := r
	full.Slots = backoff.NewSlots(1)
	publishSlots(t.Name(), full.Slots)
	require.NoError(t, full.Slots.Acquire(t.Context(), 0))
	soon, cancel := context.WithTimeout(t.Context(), time.Second/2) // leaves no attempt its second
	defer cancel()

	require.NoError(t, callCounted(t.Context(), &r, failTimes(0, errBusy)))
	require.NoError(t, callCounted(t.Context(), &r, failTimes(1, errBusy)))
	require.Error(t, callCounted(t.Context(), &r, failTimes(9, errBusy)))
	require.Error(t, callCounted(t.Context(), &poor, failTimes(9, errBusy)))
	require.Error(t, callCounted(soon, &full, failTimes(0, errBusy)))
	require.EqualValues(t, 1+2+4+1, attempts.Value())
	for _, outcome := range []string{"succeeded", "succeeded_after_retry", "failed", "refused_by_budget", "no_slot"} {
		require.Equal(t, "1", operations.Get(outcome).String(), outcome)
	}
	require.Equal(t, "1", expvar.Get("retry.slots.in_use."+t.Name()).String())
}

// Done gets 0 attempts if the call was not made.
func TestOperatingNotMade(t *testing.T) {
	made := -1
	r := backoff.Retrier{
		AttemptTimeout: time.Second,
		Done:           func(_ context.Context, attempts int, _ error) { made = attempts },
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Do(ended, failTimes(0, nil)), context.Canceled)
	require.Zero(t, made)
}

var retriesOff atomic.Bool

var reports = backoff.Retrier{
	AttemptTimeout: 2 * time.Second,
	Retryable:      func(error) bool { return !retriesOff.Load() },
}

// The switch ends calls that are running already.
func TestOperatingSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer retriesOff.Store(false)
		calls := 0
		err := reports.Do(t.Context(), func(context.Context) error {
			if calls++; calls == 3 {
				retriesOff.Store(true)
			}
			return errBusy
		})
		require.Same(t, errBusy, err)
		require.Equal(t, 3, calls)
	})
}

// The errors that begin with a reason, and those that are the last attempt's alone.
func TestOperatingReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := func(error) bool { return false }
		brief := func() backoff.BackOff { return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Second)) }
		for name, r := range map[string]backoff.Retrier{
			"retries":        {},
			"Retryable":      {Retryable: gone},
			"MaxElapsedTime": {Policy: brief},
		} {
			require.Same(t, errBusy, r.Do(t.Context(), failTimes(99, errBusy)), name)
		}
		require.Same(t, errBusy, new(backoff.Retrier).Do(t.Context(), failTimes(99, backoff.Permanent(errBusy))))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, new(backoff.Retrier).Do(ctx, failTimes(99, errBusy)), "context deadline exceeded: ")
		poor := backoff.Retrier{Budget: &backoff.Budget{Capacity: -1}}
		require.EqualError(t, poor.Do(t.Context(), failTimes(99, errBusy)), "retry budget exhausted: busy")
	})
}

// In the body of Attempts err is that of the attempt before.
func TestOperatingAttempts(t *testing.T) {
	var before []string
	err := func() (err error) {
		for attempt := range backoff.Attempts(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), &err) {
			if attempt > 1 {
				before = append(before, err.Error())
			}
			err = fmt.Errorf("attempt %d", attempt)
		}
		return err
	}()
	require.EqualError(t, err, "attempt 3")
	require.Equal(t, []string{"attempt 1", "attempt 2"}, before)
}
