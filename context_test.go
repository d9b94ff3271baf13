//go:build go1.25

package backoff

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errCause = errors.New("shutting down")

func TestContextEndsTheWaitWithThreeErrorsInOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		operation, calls := failing(-1)
		start := time.Now()
		err := Retry(operation, WithContext(NewConstantBackOff(time.Hour), ctx))
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, 1, *calls)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, errFailed)
		require.EqualError(t, err, "context canceled (shutting down): failed")
	})
}

func TestContextErrorIsOneLine(t *testing.T) {
	for want, last := range map[string]error{
		"context canceled: failed":       errFailed,
		"context canceled: failed; EOF":  errors.Join(errFailed, io.EOF),
		"context canceled":               context.Canceled,
		"context canceled: get: too bad": errors.New("get: too bad"),
	} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := Retry(func() error { return last }, WithContext(&ZeroBackOff{}, ctx))
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, last)
	}
}

func TestContextDoneBeforeTheFirstCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCause)
	for name, b := range map[string]BackOff{
		"zero wait":     WithContext(&ZeroBackOff{}, ctx),
		"wait":          WithContext(NewConstantBackOff(time.Hour), ctx),
		"policy stops":  WithContext(&StopBackOff{}, ctx),
		"other context": mine{&ZeroBackOff{}, ctx},
	} {
		t.Run(name, func(t *testing.T) {
			operation, calls := failing(-1)
			notified := 0
			err := RetryNotify(operation, b, func(error, time.Duration) { notified++ })
			require.Equal(t, 1, *calls)
			require.Zero(t, notified)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errCause)
			require.ErrorIs(t, err, errFailed)

			operation, calls = failing(0)
			require.NoError(t, Retry(operation, b), "a success is a success")
			require.Equal(t, 1, *calls)
		})
	}
}

// mine is a BackOffContext of a user's own, which does not look at its context itself.
type mine struct {
	BackOff
	ctx context.Context
}

func (m mine) Context() context.Context { return m.ctx }

func TestWaitPastTheDeadlineIsRefusedAtOnce(t *testing.T) {
	for wait, refused := range map[time.Duration]bool{
		10*time.Second - 1: false,
		10 * time.Second:   true,
		time.Hour:          true,
		1<<63 - 1:          true,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errCause)
			defer cancel()
			operation, calls := failing(1)
			notified := 0
			start := time.Now()
			err := RetryNotify(operation, WithContext(waits(wait), ctx),
				func(error, time.Duration) { notified++ })
			if !refused {
				require.NoError(t, err)
				require.Equal(t, wait, time.Since(start))
				return
			}
			require.Zero(t, time.Since(start))
			require.Equal(t, 1, *calls)
			require.Zero(t, notified)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, errFailed)
			require.EqualError(t, err, "context deadline exceeded (next attempt in "+wait.String()+" would be too late): failed")
			require.NoError(t, ctx.Err(), "the context has not ended")
		})
	}
}

func TestDeadlineThatHasPassedRefusesAZeroWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := late{t.Context()}
		operation, calls := failing(-1)
		err := Retry(operation, WithContext(&ZeroBackOff{}, ctx))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errFailed)
		require.Equal(t, 1, *calls)
	})
}

// late is a context whose deadline has passed and whose timer has not noticed yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

func TestNoCallAfterCancelFromWithin(t *testing.T) {
	for _, wait := range []time.Duration{0, 1} {
		for name, inNotify := range map[string]bool{"notify": true, "operation": false} {
			t.Run(name+" "+wait.String(), func(t *testing.T) {
				for range 10_000 {
					ctx, cancel := context.WithCancel(context.Background())
					calls := 0
					err := RetryNotify(func() error {
						if calls++; !inNotify {
							cancel()
						}
						return errFailed
					}, WithContext(NewConstantBackOff(wait), ctx), func(error, time.Duration) {
						cancel()
					})
					require.Equal(t, 1, calls)
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorIs(t, err, errFailed)
				}
			})
		}
	}
}

func TestNoCallWhenTimerAndContextAreReadyTogether(t *testing.T) {
	for range 1000 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			operation, calls := failing(-1)
			err := Retry(operation, WithContext(NewConstantBackOff(time.Second), ctx))
			if *calls == 1 {
				require.ErrorIs(t, err, context.Canceled)
			}
			require.LessOrEqual(t, *calls, 2, "the timer may come first, but only once")
		})
	}
	// The same with certainty: the timer's own goroutine ends the context before it fires.
	ctx, cancel := context.WithCancel(context.Background())
	operation, calls := failing(-1)
	err := RetryNotifyWithTimer(operation, WithContext(&ZeroBackOff{}, ctx), nil, &cancellingTimer{cancel: cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, *calls)
}

type cancellingTimer struct {
	instantTimer
	cancel func()
}

func (c *cancellingTimer) C() <-chan time.Time {
	c.cancel()
	return c.instantTimer.C()
}

func TestContextIsFoundThroughDecorators(t *testing.T) {
	inContext := func(ctx context.Context) BackOff {
		return WithContext(NewConstantBackOff(time.Hour), ctx)
	}
	for name, wrap := range map[string]func(BackOff) BackOff{
		"none":            func(b BackOff) BackOff { return b },
		"WithMaxRetries":  func(b BackOff) BackOff { return WithMaxRetries(b, 3) },
		"foreign":         func(b BackOff) BackOff { return foreign{b} },
		"foreign, thrice": func(b BackOff) BackOff { return foreign{foreign{foreign{b}}} },
		"mixed": func(b BackOff) BackOff {
			return foreign{WithMaxRetries(foreign{b}, 3)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				operation, calls := failing(-1)
				start := time.Now()
				err := Retry(operation, wrap(inContext(ctx)))
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, time.Second, time.Since(start))
				require.Equal(t, 1, *calls)
			})
		})
	}
}

func TestWithContextReplacesTheContextBelow(t *testing.T) {
	old, cancel := context.WithCancel(context.Background())
	cancel()
	b := WithContext(WithContext(waits(0, 0), old), context.Background())
	require.Equal(t, context.Background(), b.Context())
	operation, calls := failing(-1)
	require.Same(t, errFailed, Retry(operation, b))
	require.Equal(t, 3, *calls)
}

func TestOutermostOfTwoContextsIsWaitedOn(t *testing.T) {
	inner, cancel := context.WithCancel(context.Background())
	cancel()
	b := WithContext(foreign{WithContext(waits(0, 0), inner)}, context.Background())
	operation, calls := failing(-1)
	require.Same(t, errFailed, Retry(operation, b), "the inner context is a policy that stops")
	require.Equal(t, 1, *calls)
}

func TestWithContextByHand(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	inner := waits(1, 2)
	b := WithContext(inner, ctx)
	require.EqualValues(t, 1, b.NextBackOff())
	b.Reset()
	require.EqualValues(t, 1, b.NextBackOff())
	cancel()
	require.Equal(t, Stop, b.NextBackOff())
	require.Equal(t, 1, inner.resets)
}

func TestNilContextPanicsAndSaysSo(t *testing.T) {
	defer func() {
		require.True(t, strings.Contains(recover().(string), "WithContext called with a nil context"))
	}()
	var none context.Context
	WithContext(&ZeroBackOff{}, none)
}

func TestBackOffContextWithoutContextIsBackground(t *testing.T) {
	operation, calls := failing(-1)
	require.Same(t, errFailed, Retry(operation, mine{waits(0, 0), nil}))
	require.Equal(t, 3, *calls)
}
