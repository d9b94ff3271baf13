package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// At least one call is made, and no more than one.
func TestContextDone(t *testing.T) {
	for name, b := range map[string]backoff.BackOff{
		"zero wait":     backoff.WithContext(&backoff.ZeroBackOff{}, cancelled()),
		"wait":          backoff.WithContext(backoff.NewConstantBackOff(time.Hour), cancelled()),
		"policy stops":  backoff.WithContext(&backoff.StopBackOff{}, cancelled()),
		"other context": mine{&backoff.ZeroBackOff{}, cancelled()},
		"decorated":     foreign{backoff.WithMaxRetries(backoff.WithContext(&backoff.ZeroBackOff{}, cancelled()), 9)},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				operation, calls := failing(-1)
				err := retry(operation, b)
				require.Equal(t, 1, *calls)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, errCause)
				require.ErrorIs(t, err, errFailed)

				operation, calls = failing(0)
				require.NoError(t, retry(operation, b), "a success is a success")
				require.Equal(t, 1, *calls)

				require.Same(t, errFailed, retry(func() error { return backoff.Permanent(errFailed) }, b), "so is a permanent error")
			})
			operation, _ := failing(-1)
			_ = backoff.RetryNotify(operation, b, func(error, time.Duration) { require.Fail(t, "no wait, no notification") })
		})
	}
}

func TestContextReplaced(t *testing.T) {
	b := backoff.WithContext(backoff.WithContext(waits(0, 0), cancelled()), context.Background())
	require.Equal(t, context.Background(), b.Context())
	operation, calls := failing(-1)
	require.Same(t, errFailed, backoff.Retry(operation, b))
	require.Equal(t, 3, *calls)
}

// Two contexts for one policy do not replace each other.
func TestContextTwice(t *testing.T) {
	b := backoff.WithMaxRetries(waits(0), 1)
	first := backoff.WithContext(b, context.Background())
	require.Error(t, backoff.WithContext(b, cancelled()).Context().Err())
	require.NoError(t, first.Context().Err())
}

// Of two contexts in a chain, the inner one is a policy that stops.
func TestContextOutermost(t *testing.T) {
	b := backoff.WithContext(foreign{backoff.WithContext(waits(0, 0), cancelled())}, context.Background())
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := failing(-1)
		require.Same(t, errFailed, retry(operation, b))
		require.Equal(t, 1, *calls)

		operation, calls = failing(-1)
		require.Same(t, errFailed, retry(operation, mine{foreign{mine{waits(0, 0), cancelled()}}, context.Background()}))
		require.Equal(t, 3, *calls, "and this one does not even stop")
	})
}

func TestContextByHand(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	inner := waits(1, 2)
	b := backoff.WithContext(inner, ctx)
	require.EqualValues(t, 1, b.NextBackOff())
	b.Reset()
	require.EqualValues(t, 1, b.NextBackOff())
	cancel()
	require.Equal(t, backoff.Stop, b.NextBackOff())
	require.Equal(t, 1, inner.resets)
}

func TestContextForeign(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := merged{parent, make(chan struct{})}
	close(done.done)
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := failing(-1)
		err := retry(operation, backoff.WithContext(backoff.NewConstantBackOff(time.Hour), done))
		require.EqualError(t, err, "context canceled: failed")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errFailed)
		require.Equal(t, 1, *calls)

		operation, calls = failing(-1)
		require.Same(t, errFailed, retry(operation, backoff.WithContext(backoff.NewConstantBackOff(time.Hour), silent{done})))
		require.Equal(t, 1, *calls, "no loop without waits")
	})
}

// The context ends in the operation, in notify or in the policy: no further call, and no
// notification once it has ended.
func TestNoCallAfterCancel(t *testing.T) {
	for _, wait := range []time.Duration{0, 1} {
		for _, where := range []string{"operation", "notify", "policy"} {
			t.Run(fmt.Sprint(where, " ", wait), func(t *testing.T) {
				for range 200 {
					ctx, cancel := context.WithCancelCause(context.Background())
					end := func(here string) {
						if here == where {
							cancel(errCause)
						}
					}
					b := backoff.WithContext(asking(func() time.Duration { end("policy"); return wait }), ctx)
					calls, notified := 0, 0
					operation := func() error { calls++; end("operation"); return errFailed }
					err := backoff.RetryNotify(operation, b, func(error, time.Duration) { notified++; end("notify") })
					require.Equal(t, 1, calls)
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorIs(t, err, errCause)
					require.ErrorIs(t, err, errFailed)
					if where == "notify" {
						require.Equal(t, 1, notified)
						continue
					}
					require.Zero(t, notified)
					require.ErrorIs(t, attempt(operation, b), context.Canceled)
					require.Equal(t, 2, calls)
				}
			})
		}
	}
}

// Where nothing would be lost, the context's error comes back bare. restic compares with ==.
func TestContextErrorBare(t *testing.T) {
	plain := cancelledFor(nil)
	past, cancelPast := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancelPast()
	for name, test := range map[string]struct {
		ctx  context.Context
		last error
		bare bool
	}{
		"cancelled":               {plain, context.Canceled, true},
		"deadline":                {past, context.DeadlineExceeded, true},
		"cause of its own":        {cancelled(), context.Canceled, false},
		"another error":           {plain, errFailed, false},
		"the other context error": {plain, context.DeadlineExceeded, false},
		"wrapped":                 {plain, fmt.Errorf("x: %w", context.Canceled), false},
		"uncomparable":            {plain, uncomparable{}, false},
		"uncomparable inside":     {plain, dressed{[]int{1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				err := retry(func() error { return test.last }, backoff.WithContext(&backoff.ZeroBackOff{}, test.ctx))
				require.Equal(t, test.bare, err == test.ctx.Err())
				require.ErrorIs(t, err, test.ctx.Err())
				require.ErrorIs(t, err, context.Cause(test.ctx))
				if !strings.HasPrefix(name, "uncomparable") {
					require.ErrorIs(t, err, test.last)
				}
			})
		})
	}
}

// A loop that never waits sees its context end, also on wasm, which has one thread.
func TestContextWithoutWaits(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	operation, _ := failing(10_000_000) // or the test would not end
	err := backoff.Retry(operation, backoff.WithContext(&backoff.ZeroBackOff{}, ctx))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// If the context ends in an attempt, the error tells that of the attempt before as well, and only that.
func TestContextInAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		errs []error // the context ends in the last of these attempts; nil stands for its error
		text string
	}{
		"first attempt":         {[]error{errFailed}, "context canceled: shutting down: failed"},
		"context's error":       {[]error{nil}, "context canceled: shutting down"},
		"second attempt":        {[]error{errFailed, io.EOF}, "context canceled: shutting down: EOF: failed"},
		"third attempt":         {[]error{os.ErrInvalid, errFailed, io.EOF}, "context canceled: shutting down: EOF: failed"},
		"context's error, then": {[]error{errFailed, nil}, "context canceled: shutting down: failed"},
		"context's cause":       {[]error{errFailed, errCause}, "context canceled: shutting down: failed"},
		"the same error":        {[]error{errFailed, errFailed}, "context canceled: shutting down: failed"},
		"the same text":         {[]error{errFailed, errors.New("failed")}, "context canceled: shutting down: failed"},
		"uncomparable":          {[]error{errFailed, uncomparable{}}, "context canceled: shutting down: []: failed"},
		"permanent":             {[]error{errFailed, backoff.Permanent(io.EOF)}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				ctx, cancel := context.WithCancelCause(context.Background())
				calls := 0
				err := retry(func() error {
					calls++
					if calls == len(test.errs) {
						cancel(errCause)
					}
					err := test.errs[calls-1]
					if err == nil {
						return ctx.Err()
					}
					return err
				}, backoff.WithContext(&backoff.ZeroBackOff{}, ctx))
				require.EqualError(t, err, test.text)
				if name == "permanent" {
					require.Equal(t, io.EOF, err)
					return
				}
				require.NotErrorIs(t, err, os.ErrInvalid)
				for _, want := range append(test.errs[max(0, len(test.errs)-2):], context.Canceled, errCause) {
					_, ok := want.(uncomparable)
					if want != nil && !ok {
						require.ErrorIs(t, err, want)
					}
				}
			})
		})
	}
}
