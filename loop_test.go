//go:build go1.25

package backoff_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// This file has what the loops do in time. What they do without it stands in retry_test.go, and runs with Go 1.23, too.

// eachLoopInBubble runs test with each loop that returns an error, in a bubble, where waits are
// exact and take no time.
func eachLoopInBubble(t *testing.T, test func(t *testing.T, retry retry)) {
	t.Helper()
	eachLoop(t, func(t *testing.T, retry retry) {
		synctest.Test(t, func(t *testing.T) { test(t, retry) })
	})
}

func TestWaits(t *testing.T) {
	for name, wrap := range map[string]func(context.Context, backoff.BackOff) backoff.BackOff{
		"without context": func(_ context.Context, b backoff.BackOff) backoff.BackOff { return b },
		"cancellable": func(ctx context.Context, b backoff.BackOff) backoff.BackOff {
			return backoff.WithContext(b, ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				var calls []time.Duration
				start := time.Now()
				err := retry(func() error {
					calls = append(calls, time.Since(start))
					return errFailed
				}, wrap(t.Context(), waits(time.Second, 0, time.Minute, 1)))
				require.Same(t, errFailed, err)
				require.Equal(t, []time.Duration{0, time.Second, time.Second, 61 * time.Second, 61*time.Second + 1}, calls)
			})
		})
	}
}

// Notify is called with the wait that starts, before it, and not for a wait that is refused.
func TestNotifyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		asked := backoff.RetryAfter(errFailed, time.Minute)
		operation, _ := results(errFailed, errFailed, asked, errFailed)
		start := time.Now()
		var notified, at []time.Duration
		_ = backoff.RetryNotify(operation, backoff.WithContext(waits(time.Second, 0, 1, time.Hour), ctx), func(err error, wait time.Duration) {
			require.ErrorIs(t, err, errFailed)
			notified = append(notified, wait)
			at = append(at, time.Since(start))
		})
		require.Equal(t, []time.Duration{time.Second, 0, time.Minute}, notified)
		require.Equal(t, []time.Duration{0, time.Second, time.Second}, at)
	})
}

func TestContextError(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		operation, calls := failing(-1)
		start := time.Now()
		err := retry(operation, backoff.WithContext(backoff.NewConstantBackOff(time.Hour), ctx))
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, 1, *calls)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, errFailed)
		require.EqualError(t, err, "context canceled: shutting down: failed")
	})
}

// A later wait would outlast the deadline. A wait of zero in between makes no difference.
func TestDeadlineRefusal(t *testing.T) {
	const first = time.Nanosecond
	for _, test := range []struct {
		wait, left time.Duration
		says       string // empty if the wait starts
	}{
		{10*time.Second - 1, 10 * time.Second, ""},
		{10 * time.Second, 10 * time.Second, "10s"},
		{13238984321, 10 * time.Second, "13.239s"},
		{time.Hour, 10 * time.Second, "1h0m0s"},
		{math.MaxInt64, 10 * time.Second, "2562047h47m16.854775807s"},
		{412345, 1, "412.345µs"},
	} {
		t.Run(test.wait.String(), func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), first+test.left, errCause)
				defer cancel()
				operation, calls := failing(3)
				start := time.Now()
				err := retry(operation, foreign{backoff.WithContext(waits(first, 0, test.wait), ctx)})
				if test.says == "" {
					require.NoError(t, err)
					require.Equal(t, first+test.wait, time.Since(start))
					return
				}
				require.Equal(t, first, time.Since(start), "no sleep")
				require.Equal(t, 3, *calls)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errFailed)
				require.NotErrorIs(t, err, errCause, "which there is not yet")
				require.EqualError(t, err, "context deadline exceeded: next attempt in "+test.says+" would be too late: failed")
				require.NoError(t, ctx.Err(), "the context has not ended")
			})
		})
	}
}

// The first wait above zero starts even if it is too long, so that each loop ends its context or has slept. A
// caller that retries as long as its context lives does not run without a pause.
func TestDeadlineFirstWait(t *testing.T) {
	for name, test := range map[string]struct {
		waits []time.Duration
		calls int
	}{
		"longer":     {[]time.Duration{time.Minute + 1}, 1},
		"longest":    {[]time.Duration{math.MaxInt64}, 1},
		"after zero": {[]time.Duration{0, 0, time.Hour}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errCause)
				defer cancel()
				operation, calls := failing(-1)
				start := time.Now()
				err := retry(operation, backoff.WithContext(waits(test.waits...), ctx))
				require.Equal(t, time.Minute, time.Since(start))
				require.Equal(t, test.calls, *calls)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, errCause)
				require.ErrorIs(t, err, errFailed)
			})
		})
	}
}

// The first wait is refused if a server has asked for one that is too long.
func TestDeadlineServerWait(t *testing.T) {
	const minute = time.Minute
	for name, test := range map[string]struct {
		policy  backoff.BackOff
		asked   time.Duration
		refused bool
	}{
		"longer than the deadline":      {&backoff.ZeroBackOff{}, time.Hour, true},
		"as long as the deadline":       {&backoff.ZeroBackOff{}, minute, true},
		"shorter":                       {&backoff.ZeroBackOff{}, minute - 1, false},
		"the policy's wait is too long": {backoff.NewConstantBackOff(time.Hour), minute - 1, false},
		"asks for nothing":              {backoff.NewConstantBackOff(time.Hour), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithTimeout(t.Context(), minute)
				defer cancel()
				operation, calls := results(backoff.RetryAfter(errFailed, test.asked), nil)
				start := time.Now()
				err := retry(operation, backoff.WithContext(test.policy, ctx))
				if test.refused {
					require.Zero(t, time.Since(start))
					require.Equal(t, 1, *calls)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorIs(t, err, errFailed)
					require.NoError(t, ctx.Err())
					return
				}
				require.GreaterOrEqual(t, time.Since(start), minute-1)
			})
		})
	}
}

// The deadline has passed before the first attempt, and the context has not noticed yet: the first wait above zero
// starts, the next does not.
func TestDeadlinePassed(t *testing.T) {
	for _, first := range [][]time.Duration{{}, {0}, {0, 0}} {
		eachLoopInBubble(t, func(t *testing.T, retry retry) {
			operation, calls := failing(-1)
			policy := waits(append(first, time.Second, 1)...)
			err := retry(operation, backoff.WithContext(policy, unaware{t.Context(), time.Now()}))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, errFailed)
			require.Equal(t, len(first)+2, *calls)
		})
	}
}

// A connection has the context's deadline for its own, and notices it first. The error is the same as where the context
// has noticed: it tells that of the attempt before too. No further attempt begins.
func TestDeadlineInAttempt(t *testing.T) {
	for name, waited := range map[string][]time.Duration{
		"wait":         {time.Second, time.Second},
		"no wait":      {0, 0},
		"a first wait": {0, time.Second},
		"no retry":     {time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				requireCutOff(t, func(ctx context.Context, operation backoff.Operation) error {
					return retry(operation, backoff.WithContext(waits(waited...), ctx))
				})
			})
		})
	}
}

// requireCutOff requires that loop makes two attempts, of which the deadline of ctx ends the second before ctx is done.
func requireCutOff(t *testing.T, loop func(ctx context.Context, operation backoff.Operation) error) {
	t.Helper()
	ctx := unaware{t.Context(), time.Now().Add(time.Minute)}
	calls := 0
	err := loop(ctx, func() error {
		if calls++; calls == 1 {
			return errFailed
		}
		require.Equal(t, 2, calls)
		time.Sleep(time.Until(ctx.deadline))
		return os.ErrDeadlineExceeded
	})
	require.EqualError(t, err, "context deadline exceeded: i/o timeout: failed")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.ErrorIs(t, err, errFailed)
}

// The error answers as the context's own error does.
func TestContextErrorTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		cancel  bool
		waits   []time.Duration
		timeout bool
	}{
		"deadline reached": {false, []time.Duration{time.Hour}, true},
		"deadline refused": {false, []time.Duration{1, time.Hour}, true},
		"cancelled":        {true, []time.Duration{time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if test.cancel {
					time.AfterFunc(time.Second, cancel)
				}
				err := retry(func() error { return errFailed }, backoff.WithContext(waits(test.waits...), ctx))
				require.Equal(t, test.timeout, os.IsTimeout(err))
				require.Equal(t, test.timeout, (&url.Error{Err: err}).Timeout())
				require.Equal(t, test.timeout, (&url.Error{Err: err}).Temporary())
				var netErr net.Error
				require.ErrorAs(t, err, &netErr)
				require.Same(t, err, netErr)
				require.Equal(t, test.timeout, netErr.Timeout())
			})
		})
	}
}

func TestContextDecorators(t *testing.T) {
	for name, wrap := range decorators {
		if name == "WithContext" {
			continue // its context would be the one that counts
		}
		t.Run(name, func(t *testing.T) {
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				operation, calls := failing(-1)
				start := time.Now()
				err := retry(operation, foreign{wrap(backoff.WithContext(backoff.NewConstantBackOff(time.Hour), ctx), unlimited())})
				require.EqualError(t, err, "context canceled: failed")
				require.Equal(t, time.Second, time.Since(start))
				require.Equal(t, 1, *calls)
			})
		})
	}
}

// A decorator without Unwrap hides the context: it is noticed after the wait only.
func TestContextHidden(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		operation, calls := failing(-1)
		start := time.Now()
		require.Same(t, errFailed, retry(operation, opaque{backoff.WithContext(backoff.NewConstantBackOff(time.Minute), ctx)}))
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, 2, *calls)
	})
}

func TestMaxElapsedTimeLoop(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		b := backoff.NewExponentialBackOff(
			backoff.WithMultiplier(1),
			backoff.WithRandomizationFactor(0),
			backoff.WithInitialInterval(time.Second),
			backoff.WithMaxElapsedTime(3*time.Second),
		)
		for range 2 {
			time.Sleep(time.Hour) // does not count: the loop resets b
			start := time.Now()
			operation, calls := failing(-1)
			require.Same(t, errFailed, retry(operation, b))
			require.Equal(t, 4, *calls)
			require.Equal(t, 3*time.Second, time.Since(start))
			require.Equal(t, 3*time.Second, b.GetElapsedTime())
		}
	})
}

func TestMaxElapsedTimeOperation(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		calls := 0
		_ = retry(func() error {
			calls++
			time.Sleep(20 * time.Second)
			return errFailed
		}, &backoff.ExponentialBackOff{Multiplier: 1, MaxElapsedTime: time.Minute})
		require.Equal(t, 3, calls, "the operation's time counts")
	})
}

// A policy made long before its use by hand does not give up at its first failure, as it does in v4.
func TestMaxElapsedTimeConstruction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff.NewExponentialBackOff()
		time.Sleep(time.Hour)
		require.Positive(t, b.NextBackOff())
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, b.GetElapsedTime())
	})
}

func TestRetryAfterWait(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		policy backoff.BackOff
		asked  []time.Duration
		want   []time.Duration // the waits that follow
	}{
		"longer than the policy":  {backoff.NewConstantBackOff(s), []time.Duration{s + 1, s}, []time.Duration{s + 1, s}},
		"shorter than the policy": {backoff.NewConstantBackOff(s), []time.Duration{s - 1, 1}, []time.Duration{s, s}},
		"zero asks for nothing":   {backoff.NewConstantBackOff(s), []time.Duration{0}, []time.Duration{s}},
		"less asks for nothing":   {&backoff.ZeroBackOff{}, []time.Duration{-s}, []time.Duration{0}},
		"the policy is not reset": {backoff.NewLinearBackOff(s), []time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 3 * s}},
		"exponential likewise": {&backoff.ExponentialBackOff{InitialInterval: s, Multiplier: 2, MaxElapsedTime: time.Hour},
			[]time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 4 * s}},
		"behind an opaque decorator": {opaque{&backoff.ExponentialBackOff{InitialInterval: s, Multiplier: 2}},
			[]time.Duration{0, 10 * s, 0}, []time.Duration{s, 10 * s, 4 * s}},
		"a decorator that shortens": {alter(backoff.NewConstantBackOff(s), func(below backoff.BackOff) time.Duration { return below.NextBackOff() / 2 }),
			[]time.Duration{0, 10 * s}, []time.Duration{s / 2, 10 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			var errs []error
			for _, d := range test.asked {
				errs = append(errs, fmt.Errorf("wrapped: %w", backoff.RetryAfter(errFailed, d)))
			}
			eachLoopInBubble(t, func(t *testing.T, retry retry) {
				var slept []time.Duration
				operation, calls := results(append(errs, nil)...)
				last := time.Now()
				require.NoError(t, retry(func() error {
					if *calls > 0 {
						slept = append(slept, time.Since(last))
					}
					last = time.Now()
					return operation()
				}, test.policy))
				require.Equal(t, test.want, slept)
			})
		})
	}
}

// A server's wait that would pass MaxElapsedTime ends the loop at once.
func TestRetryAfterLimit(t *testing.T) {
	eachLoopInBubble(t, func(t *testing.T, retry retry) {
		asked := backoff.RetryAfter(errFailed, time.Hour)
		operation, calls := results(asked)
		start := time.Now()
		require.Same(t, asked, retry(operation, foreign{backoff.NewExponentialBackOff()}))
		require.Zero(t, time.Since(start))
		require.Equal(t, 1, *calls)
	})
}

// An operation may reset the policy of its own loop, as a reconnect loop does after a connection
// that has held for a while: intervals, retries and elapsed time start over.
func TestResetInOperation(t *testing.T) {
	const s = time.Second
	test := func(t *testing.T, wrap func(backoff.BackOff) backoff.BackOff) {
		eachLoopInBubble(t, func(t *testing.T, retry retry) {
			b := wrap(&backoff.ExponentialBackOff{InitialInterval: s, Multiplier: 2, MaxElapsedTime: 8 * s})
			var slept []time.Duration
			last, calls := time.Now(), 0
			err := retry(func() error {
				slept = append(slept, time.Since(last))
				switch calls++; {
				case calls == 10:
					return backoff.Permanent(errCause)
				case calls%3 == 0: // the connection has held for an hour
					time.Sleep(time.Hour)
					b.Reset()
				}
				last = time.Now()
				return errFailed
			}, b)
			require.Same(t, errCause, err, "it never gives up")
			require.Equal(t, []time.Duration{0, s, 2 * s, s, 2 * s, 4 * s, s, 2 * s, 4 * s, s}, slept)
		})
	}
	eachDecorator(t, test)
	test(t, func(b backoff.BackOff) backoff.BackOff { return foreign{backoff.WithMaxRetries(b, 3)} })
}
