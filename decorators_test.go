package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// below returns what a decorator wraps.
func below(t *testing.T, name string, b backoff.BackOff) backoff.BackOff {
	decorator, ok := b.(interface{ Unwrap() backoff.BackOff })
	if !ok {
		t.Fatalf("give what %s returns a method Unwrap() BackOff", name)
	}
	return decorator.Unwrap()
}

// Every decorator has the method by which a context is found, passes waits and
// Reset on, and takes a nil policy for the default one.
func TestDecorator(t *testing.T) {
	for name, wrap := range decorators {
		t.Run(name, func(t *testing.T) {
			inner := waits(1, 2)
			b := wrap(inner, unlimited())
			require.Same(t, inner, below(t, name, b))
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))
			b.Reset()
			if inner.resets != 1 {
				t.Fatalf("let Reset of what %s returns reset the policy below", name)
			}
			require.Equal(t, []time.Duration{1, 2, backoff.Stop}, draws(b, 3))

			wait := func() time.Duration {
				defer func() { _ = recover() }()
				return wrap(nil, unlimited()).NextBackOff()
			}()
			if wait < backoff.DefaultInitialInterval/2 || wait > backoff.DefaultInitialInterval*3/2 {
				t.Errorf("let a nil policy mean the default one in %s", name)
			}
		})
	}
}

// A wait that a server asks for is seen by a limit of time below a decorator, and by one that a decorator
// has itself: it is not waited for.
func TestDecoratorServerWait(t *testing.T) {
	policies := map[string]backoff.BackOff{}
	l := unlimited()
	l.elapsed = time.Second
	for name, wrap := range decorators {
		policies[name] = wrap(&backoff.ExponentialBackOff{MaxElapsedTime: l.elapsed}, unlimited())
	}
	source(t, func(decl ast.Decl) {
		if f, ok := decl.(*ast.FuncDecl); ok && decorators[f.Name.Name] != nil {
			for _, parameter := range f.Type.Params.List {
				if types.ExprString(parameter.Type) == "time.Duration" {
					policies[f.Name.Name+" alone"] = decorators[f.Name.Name](&backoff.ZeroBackOff{}, l)
				}
			}
		}
	})
	for name, policy := range policies {
		timer := new(instantTimer)
		err := backoff.RetryNotifyWithTimer(func() error {
			if len(timer.started) > 0 {
				return nil
			}
			return backoff.RetryAfter(errFailed, time.Minute)
		}, policy, nil, timer)
		if err == nil {
			t.Errorf("%s: a wait of %v in spite of a limit of %v: let what it returns have a method calledBy, as ExponentialBackOff does",
				name, timer.started, l.elapsed)
		}
	}
}

// However deep a policy is, it is found.
func TestDecoratorDepth(t *testing.T) {
	var b backoff.BackOff = backoff.WithContext(&backoff.ZeroBackOff{}, cancelled())
	for range 10_000 {
		b = foreign{b}
	}
	err := backoff.Retry(func() error { return errFailed }, b)
	require.ErrorIs(t, err, context.Canceled)
}

// Whatever the order of the decorators: the same calls, the same error.
func TestDecoratorOrder(t *testing.T) {
	near, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	names := slices.Sorted(maps.Keys(decorators))
	random := seeded()
	for name, test := range map[string]struct {
		ctx   context.Context
		asked time.Duration
		calls int
		ends  error
	}{
		"retries used up":   {context.Background(), 0, 5, errFailed},
		"context done":      {cancelled(), 0, 1, context.Canceled},
		"deadline too near": {near, 2 * time.Hour, 1, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				for range 10 {
					random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
					l := limits{test.ctx, 4, 3 * time.Hour}
					var b backoff.BackOff = &backoff.ZeroBackOff{}
					for _, name := range names {
						b = decorators[name](b, l)
					}
					calls := 0
					err := retry(func() error {
						calls++
						return backoff.RetryAfter(errFailed, test.asked)
					}, foreign{b})
					require.Equal(t, test.calls, calls, "order %v", names)
					require.ErrorIs(t, err, test.ends, "order %v", names)
				}
			})
		})
	}
}

// max retries are max+1 calls, and each retry is notified. In early versions of
// cenkalti/backoff, zero meant no limit.
func TestMaxRetries(t *testing.T) {
	for _, max := range []uint64{0, 1, 2, 10} {
		operation, calls := failing(-1)
		notified := 0
		err := backoff.RetryNotify(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max),
			func(error, time.Duration) { notified++ })
		require.Same(t, errFailed, err)
		require.EqualValues(t, max+1, *calls)
		require.EqualValues(t, max, notified)

		operation, calls = failing(-1)
		require.Same(t, errFailed, attempt(operation, backoff.WithMaxRetries(&backoff.ZeroBackOff{}, max)))
		require.EqualValues(t, max+1, *calls)
	}
}

func TestMaxRetriesReset(t *testing.T) {
	inner := waits(1, 2, 3)
	b := backoff.WithMaxRetries(inner, 2)
	for range 2 {
		b.Reset()
		require.EqualValues(t, 1, b.NextBackOff())
		require.EqualValues(t, 2, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, backoff.Stop, b.NextBackOff())
		require.Equal(t, 2, inner.next, "the policy is not asked for a retry that the limit forbids")
	}
	require.Equal(t, 2, inner.resets)
}

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
