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

// loadV7 has options of v7, and loadHere what the page says for them.
func loadV7(ctx context.Context, load func() (string, error)) (string, error) {
	return v7.Retry(ctx, load,
		v7.WithBackOff(v7.NewConstantBackOff(time.Second)),
		v7.WithMaxTries(5),
	)
}

var loads = backoff.Retrier{
	AttemptTimeout: -1,
	MaxRetries:     4,
	Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) },
}

func loadHere(ctx context.Context, load func(context.Context) (string, error)) (string, error) {
	return backoff.DoWithData(ctx, &loads, load)
}

// fetchRetryGo has options of retry-go, and fetchHere what the page says for them.
func fetchRetryGo(ctx context.Context, fetch func() error) error {
	return retry.New(
		retry.Context(ctx),
		retry.Attempts(5),
		retry.Delay(200*time.Millisecond),
		retry.MaxDelay(time.Second),
		retry.DelayType(retry.BackOffDelay),
		retry.LastErrorOnly(true),
		retry.RetryIf(func(err error) bool { return !errors.Is(err, ErrNotFound) }),
	).Do(fetch)
}

var fetches = backoff.Retrier{
	AttemptTimeout: -1,
	MaxRetries:     4,
	Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(200*time.Millisecond),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(time.Second),
			backoff.WithJitter(backoff.NoJitter),
			backoff.WithMaxElapsedTime(0),
		)
	},
	Retryable: func(err error) bool { return !errors.Is(err, ErrNotFound) },
}

func fetchHere(ctx context.Context, fetch func(context.Context) error) error {
	return fetches.Do(ctx, fetch)
}

// The programs of each pair make the same calls at the same times, and end with an error that matches the last.
func TestPairs(t *testing.T) {
	busy := errors.New("busy")
	for _, pair := range [][2]func(ctx context.Context, op func() error) error{
		{
			func(ctx context.Context, op func() error) error {
				_, err := loadV7(ctx, func() (string, error) { return "", op() })
				return err
			},
			func(ctx context.Context, op func() error) error {
				_, err := loadHere(ctx, func(context.Context) (string, error) { return "", op() })
				return err
			},
		},
		{
			fetchRetryGo,
			func(ctx context.Context, op func() error) error {
				return fetchHere(ctx, func(context.Context) error { return op() })
			},
		},
	} {
		for _, failures := range []error{busy, ErrNotFound} {
			var calls [2][]time.Duration
			for i, program := range pair {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					err := program(t.Context(), func() error {
						calls[i] = append(calls[i], time.Since(start))
						return failures
					})
					require.ErrorIs(t, err, failures)
				})
			}
			require.Equal(t, calls[0], calls[1])
		}
	}
}

// A pair is a loop of v4 and the Retrier that the page names for it.
type pair struct {
	name  string
	there v4.BackOff
	here  backoff.Retrier
	final error         // an error that v4's operation marks as permanent
	hangs time.Duration // if not zero, attempts hang, and v4's operation ends them after so long
}

var errGone = errors.New("gone")

var pairs = []pair{
	{
		name:  "retries",
		there: v4.WithMaxRetries(exactV4(), 2),
		here:  backoff.Retrier{MaxRetries: cmp.Or(2, -1), Policy: exact()},
	},
	{
		name:  "no retries",
		there: v4.WithMaxRetries(exactV4(), 0),
		here:  backoff.Retrier{MaxRetries: cmp.Or(0, -1), Policy: exact()},
	},
	{
		name:  "15 minutes",
		there: exactV4(),
		here:  backoff.Retrier{MaxRetries: math.MaxInt, Policy: exact()},
	},
	{
		name:  "until the context ends",
		there: exactV4(v4.WithMaxElapsedTime(0)),
		here:  backoff.Retrier{MaxRetries: math.MaxInt, Policy: exact(backoff.WithMaxElapsedTime(0))},
	},
	{
		name:  "a timeout in the operation",
		there: v4.WithMaxRetries(exactV4(), 3),
		here:  backoff.Retrier{AttemptTimeout: time.Second, Policy: exact()},
		hangs: time.Second,
	},
	{
		name:  "a switch with Permanent",
		there: exactV4(),
		here:  backoff.Retrier{Retryable: func(err error) bool { return !errors.Is(err, errGone) }},
		final: errGone,
	},
}

func exact(options ...backoff.ExponentialBackOffOpts) func() backoff.BackOff {
	options = append(options, backoff.WithRandomizationFactor(0))
	return func() backoff.BackOff { return backoff.NewExponentialBackOff(options...) }
}

func exactV4(options ...v4.ExponentialBackOffOpts) v4.BackOff {
	return v4.NewExponentialBackOff(append(options, v4.WithRandomizationFactor(0))...)
}

// Both make the same calls at the same times, and Notify is called as often as there.
func TestRetrierForV4(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			there := record(t, p, p.runV4)
			here := record(t, p, p.run)
			require.Equal(t, there.calls, here.calls)
			if p.name != "until the context ends" { // there, Notify is called before a wait in which the context ends
				require.Equal(t, there.notified, here.notified)
			}
		})
	}
}

// A recording is what a loop did.
type recording struct {
	calls    []time.Duration
	notified int
}

// record runs a loop whose operation always fails, for an hour at most.
func record(t *testing.T, p pair, loop func(ctx context.Context, op func(context.Context) error, notify func()) error) (r recording) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := loop(ctx, func(ctx context.Context) error {
			r.calls = append(r.calls, time.Since(start))
			if p.hangs > 0 {
				<-ctx.Done()
			}
			return cmp.Or(p.final, errors.New("busy"))
		}, func() { r.notified++ })
		require.Error(t, err)
	})
	return r
}

func (p pair) run(ctx context.Context, op func(context.Context) error, notify func()) error {
	r := p.here
	r.Notify = func(context.Context, int, error, time.Duration) { notify() }
	return r.Do(ctx, op)
}

func (p pair) runV4(ctx context.Context, op func(context.Context) error, notify func()) error {
	return v4.RetryNotify(func() error {
		attempt := ctx
		if p.hangs > 0 {
			var cancel context.CancelFunc
			attempt, cancel = context.WithTimeout(ctx, p.hangs)
			defer cancel()
		}
		err := op(attempt)
		if err == p.final {
			return v4.Permanent(err)
		}
		return err
	}, v4.WithContext(p.there, ctx), func(error, time.Duration) { notify() })
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
