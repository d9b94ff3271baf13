package page

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avast/retry-go/v5"
	v4 "github.com/cenkalti/backoff/v4"
	v7 "github.com/cenkalti/backoff/v7"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var (
	errBusy = errors.New("busy")
	errGone = errors.New("gone")
)

// A loop makes calls of op until it gives up, and calls notify before each wait, if it can.
type loop func(ctx context.Context, op func(context.Context) error, notify func()) error

// A pair is a loop of another library and the Retrier that the page names for it.
type pair struct {
	name  string
	there loop
	here  backoff.Retrier
	quiet bool // Notify is not called there, or also before a wait in which the context ends
	final bool // the error is one that must not be retried
	hangs bool // attempts hang
}

var pairs = []pair{
	{
		name: "v7",
		there: func(ctx context.Context, op func(context.Context) error, notify func()) error {
			_, err := v7.Retry(ctx, func() (string, error) { return "", op(ctx) },
				v7.WithBackOff(v7.NewConstantBackOff(time.Second)),
				v7.WithMaxTries(5),
				v7.WithNotify(func(error, time.Duration) { notify() }),
			)
			return err
		},
		here: backoff.Retrier{
			AttemptTimeout: -1,
			MaxAttempts:    5,
			Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) },
		},
	},
	{name: "retry-go", there: retryGo, here: fetches, quiet: true},
	{name: "retry-go, RetryIf", there: retryGo, here: fetches, quiet: true, final: true},
	{
		name:  "retries",
		there: fromV4(v4.WithMaxRetries(exactV4(), 2)),
		here:  backoff.Retrier{MaxAttempts: 3, Policy: exact()},
	},
	{
		name:  "no retries",
		there: fromV4(v4.WithMaxRetries(exactV4(), 0)),
		here:  backoff.Retrier{MaxAttempts: 1, Policy: exact()},
	},
	{
		name:  "15 minutes",
		there: fromV4(exactV4()),
		here:  backoff.Retrier{MaxAttempts: -1, Policy: exact()},
	},
	{
		name:  "until the context ends",
		there: fromV4(exactV4(v4.WithMaxElapsedTime(0))),
		here:  backoff.Retrier{MaxAttempts: -1, Policy: exact(backoff.WithMaxElapsedTime(0))},
		quiet: true,
	},
	{
		name:  "a timeout in the operation",
		there: fromV4(v4.WithMaxRetries(exactV4(), 3)),
		here:  backoff.Retrier{AttemptTimeout: time.Second, Policy: exact()},
		hangs: true,
	},
	{
		name:  "a switch with Permanent",
		there: fromV4(exactV4()),
		here:  backoff.Retrier{Retryable: func(err error) bool { return !errors.Is(err, errGone) }},
		final: true,
	},
}

func retryGo(ctx context.Context, op func(context.Context) error, _ func()) error {
	return retry.New(
		retry.Context(ctx),
		retry.Attempts(5),
		retry.Delay(200*time.Millisecond),
		retry.MaxDelay(time.Second),
		retry.DelayType(retry.BackOffDelay),
		retry.LastErrorOnly(true),
		retry.RetryIf(func(err error) bool { return !errors.Is(err, errGone) }),
	).Do(func() error { return op(ctx) })
}

// fetches has the options of retryGo.
var fetches = backoff.Retrier{
	AttemptTimeout: -1,
	MaxAttempts:    5,
	Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(200*time.Millisecond),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(time.Second),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(0),
		)
	},
	Retryable: func(err error) bool { return !errors.Is(err, errGone) },
}

// fromV4 returns a loop of v4, whose operation ends attempts that hang after a second.
func fromV4(policy v4.BackOff) loop {
	return func(ctx context.Context, op func(context.Context) error, notify func()) error {
		return v4.RetryNotify(func() error {
			attempt, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := op(attempt)
			if err == errGone {
				return v4.Permanent(err)
			}
			return err
		}, v4.WithContext(policy, ctx), func(error, time.Duration) { notify() })
	}
}

func exact(options ...backoff.ExponentialBackOffOpts) func() backoff.BackOff {
	options = append(options, backoff.WithRandomizationFactor(0))
	return func() backoff.BackOff { return backoff.NewExponentialBackOff(options...) }
}

func exactV4(options ...v4.ExponentialBackOffOpts) v4.BackOff {
	return v4.NewExponentialBackOff(append(options, v4.WithRandomizationFactor(0))...)
}

// Both make the same calls at the same times, end with an error that matches the last, and call Notify as often.
func TestPairs(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			calls, notified := p.record(t, p.there)
			callsHere, notifiedHere := p.record(t, func(ctx context.Context, op func(context.Context) error, notify func()) error {
				r := p.here
				r.Notify = func(context.Context, int, error, time.Duration) { notify() }
				return r.Do(ctx, op)
			})
			require.Equal(t, calls, callsHere)
			if !p.quiet {
				require.Equal(t, notified, notifiedHere)
			}
		})
	}
}

// record runs a loop whose operation always fails, for an hour at most. It returns the times of the calls, and how often
// Notify was called.
func (p pair) record(t *testing.T, run loop) (calls []time.Duration, notified int) {
	failure := errBusy
	if p.final {
		failure = errGone
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := run(ctx, func(ctx context.Context) error {
			calls = append(calls, time.Since(start))
			if p.hangs {
				<-ctx.Done()
			}
			return failure
		}, func() { notified++ })
		if ctx.Err() == nil {
			require.ErrorIs(t, err, failure)
		}
		require.Error(t, err)
	})
	return calls, notified
}

// The error of a call without retries left is wrapped, and found by errors.As.
func TestErrorIsWrapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r backoff.Retrier
		err := r.Do(t.Context(), func(context.Context) error { return &net.OpError{Op: "dial", Err: errGone} })
		_, bare := err.(*net.OpError)
		require.False(t, bare)
		var found *net.OpError
		require.ErrorAs(t, err, &found)
		require.EqualError(t, err, "retries exhausted: dial: gone")
	})
}
