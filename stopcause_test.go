package backoff_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var (
	errTime  = errors.New("out of time")
	errTries = errors.New("out of tries")
)

func TestStopCause(t *testing.T) {
	retryable := func(error) bool { return false }
	for name, policy := range map[string]func() backoff.BackOff{
		"policy":         func() backoff.BackOff { return waits(0) },
		"negative wait":  func() backoff.BackOff { return backoff.NewConstantBackOff(-time.Hour) },
		"WithMaxRetries": func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2) },
		"WithRetryIf":    func() backoff.BackOff { return backoff.WithRetryIf(&backoff.ZeroBackOff{}, retryable) },
		"MaxElapsedTime": func() backoff.BackOff { return &backoff.ExponentialBackOff{MaxElapsedTime: -1} },
		"foreign":        func() backoff.BackOff { return foreign{waits(0, 0)} },
		"inner context": func() backoff.BackOff {
			return foreign{backoff.WithContext(&backoff.ZeroBackOff{}, cancelled())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				operation := func() error { return errFailed }
				if name != "inner context" {
					require.True(t, errFailed == retry(operation, policy()), "unchanged without a cause")
				}
				b := backoff.WithContext(backoff.WithStopCause(policy(), errTime), context.Background())
				for range 2 {
					err := retry(operation, b)
					require.ErrorIs(t, err, errTime)
					require.ErrorIs(t, err, errFailed)
					require.EqualError(t, err, "out of time: failed")
				}
			})
		})
	}
}

// The two labels of the documentation tell the two limits apart.
func TestStopCauseTwo(t *testing.T) {
	labelled := func(inner backoff.BackOff) backoff.BackOff {
		return backoff.WithStopCause(backoff.WithMaxRetries(backoff.WithStopCause(inner, errTime), 5), errTries)
	}
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := failing(-1)
		err := retry(operation, labelled(waits(0, 0)))
		require.EqualError(t, err, "out of time: failed")
		require.NotErrorIs(t, err, errTries)
		require.Equal(t, 3, *calls)

		operation, calls = failing(-1)
		err = retry(operation, labelled(&backoff.ZeroBackOff{}))
		require.EqualError(t, err, "out of tries: failed")
		require.NotErrorIs(t, err, errTime)
		require.Equal(t, 6, *calls)

		err = retry(operation, backoff.WithStopCause(backoff.WithStopCause(waits(), errTime), errTries))
		require.EqualError(t, err, "out of time: failed", "the innermost counts")
	})
}

// A budget's refusal is a cause like any other, and the innermost counts.
func TestStopCauseBudget(t *testing.T) {
	empty := &backoff.Budget{Capacity: -1}
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, _ := failing(-1)
		for name, test := range map[string]struct {
			policy backoff.BackOff
			want   error
		}{
			"inside, refused":   {backoff.WithStopCause(backoff.WithBudget(&backoff.ZeroBackOff{}, empty), errTime), backoff.ErrBudgetExhausted},
			"inside, stopped":   {backoff.WithStopCause(backoff.WithBudget(waits(), empty), errTime), errTime},
			"outside, refused":  {backoff.WithBudget(backoff.WithStopCause(&backoff.ZeroBackOff{}, errTime), empty), backoff.ErrBudgetExhausted},
			"outside, stopped":  {backoff.WithBudget(backoff.WithStopCause(waits(), errTime), empty), errTime},
			"tries, then money": {backoff.WithStopCause(backoff.WithMaxRetries(backoff.WithBudget(&backoff.ZeroBackOff{}, new(backoff.Budget)), 1), errTries), errTries},
		} {
			err := retry(operation, test.policy)
			require.ErrorIs(t, err, test.want, name)
			require.ErrorIs(t, err, errFailed, name)
			require.EqualError(t, err, test.want.Error()+": failed", name)
			for _, other := range []error{errTime, errTries, backoff.ErrBudgetExhausted} {
				require.Equal(t, other == test.want, errors.Is(err, other), name)
			}
		}
	})
}

// A loop that ends for another reason returns what it would return without the cause, also when the
// same policy has stopped a loop before.
func TestStopCauseOthers(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		inner := waits()
		ctx, cancel := context.WithCancel(context.Background())
		labelled := backoff.WithStopCause(inner, errTime)
		b := backoff.WithContext(backoff.WithMaxRetries(foreign{labelled}, 1), ctx)
		require.ErrorIs(t, retry(func() error { return errFailed }, b), errTime)

		require.NoError(t, retry(func() error { return nil }, b))
		require.Same(t, errFailed, retry(func() error { return backoff.Permanent(errFailed) }, b))
		require.Same(t, errFailed, retry(func() error { return errFailed }, backoff.WithMaxRetries(labelled, 0)), "the limit above")
		require.Same(t, errFailed, retry(func() error { return errFailed }, backoff.WithRetryIf(labelled, isEOF)))
		require.Same(t, errFailed, retry(func() error { return errFailed }, veto(backoff.WithStopCause(waits(0), errTime))))
		require.Same(t, errFailed, retry(func() error { return errFailed }, veto(backoff.WithStopCause(waits(1), errTime))))

		cancel()
		err := retry(func() error { return errFailed }, b)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, errTime)
	})
}

// The policy stops and the context ends at the same time: the context's error comes back.
func TestStopCauseContext(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		ctx, cancel := context.WithCancel(context.Background())
		b := backoff.WithStopCause(asking(func() time.Duration { cancel(); return backoff.Stop }), errTime)
		err := retry(func() error { return errFailed }, backoff.WithContext(b, ctx))
		require.EqualError(t, err, "context canceled: failed")
		require.NotErrorIs(t, err, errTime)
	})
}

// A user's decorator goes on with a second policy where the first one has stopped. The first one's
// limit is not what stops the loop.
func TestStopCauseFallback(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		falling := func(second backoff.BackOff, asks bool) backoff.BackOff {
			first := backoff.WithStopCause(waits(0), errTime)
			return &fallback{foreign: foreign{first}, second: second, asks: asks}
		}
		operation, calls := failing(-1)
		require.Same(t, errFailed, retry(operation, falling(waits(0, 0), false)))
		require.Equal(t, 4, *calls)
		require.EqualError(t, retry(operation, backoff.WithStopCause(falling(waits(0, 0), false), errTries)), "out of tries: failed")
		require.Same(t, errFailed, retry(operation, backoff.WithMaxRetries(falling(&backoff.ZeroBackOff{}, true), 3)))

		operation, _ = results(errFailed, errFailed, errFailed, backoff.Permanent(io.EOF))
		require.Same(t, io.EOF, retry(operation, falling(&backoff.ZeroBackOff{}, true)))
		operation, _ = failing(5)
		require.NoError(t, retry(operation, falling(&backoff.ZeroBackOff{}, true)))
	})
}

// A label explains only the stop that ended the loop, as far as can be seen.
func TestStopCauseOverridden(t *testing.T) {
	empty := func(b backoff.BackOff) backoff.BackOff { return backoff.WithBudget(b, &backoff.Budget{Capacity: -1}) }
	// labelled stops at once, and the decorator around it goes on nonetheless.
	labelled := func() backoff.BackOff { return insist(backoff.WithStopCause(waits(), errTime), 1) }
	refused := func() backoff.BackOff { return insist(empty(&backoff.ZeroBackOff{}), 1) }
	for name, test := range map[string]struct {
		policy backoff.BackOff
		want   string
	}{
		"a budget above":                 {empty(labelled()), "retry budget exhausted: failed"},
		"a budget above a refusal":       {empty(refused()), "retry budget exhausted: failed"},
		"a decorator of ours, a refusal": {veto(backoff.WithMaxRetries(refused(), 9)), "failed"},
		"a label, and one that saw it":   {backoff.WithStopCause(backoff.WithMaxRetries(labelled(), 0), errTries), "out of tries: failed"},
		"our own stop":                   {backoff.WithMaxRetries(labelled(), 1), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				require.EqualError(t, retry(func() error { return errFailed }, test.policy), test.want)
			})
		})
	}
}

// A cause that is the last error itself adds nothing.
func TestStopCauseSame(t *testing.T) {
	require.Same(t, errFailed, backoff.Retry(func() error { return errFailed }, backoff.WithStopCause(waits(), errFailed)))
}

// The text is on one line.
func TestStopCauseText(t *testing.T) {
	err := backoff.Retry(func() error { return errors.Join(errFailed, io.EOF) }, backoff.WithStopCause(waits(), errors.Join(errTime, errTries)))
	require.EqualError(t, err, "out of time; out of tries: failed; EOF")
}
