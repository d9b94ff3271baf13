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

// An observer is told every outcome before it is asked for a wait.
func TestObserver(t *testing.T) {
	always := func(error) bool { return true }
	for name, test := range map[string]struct {
		outcomes []error
		want     []string
	}{
		"success":           {[]error{nil}, []string{"<nil>"}},
		"failures":          {[]error{errFailed, io.EOF, nil}, []string{"failed", "asked", "EOF", "asked", "<nil>"}},
		"permanent":         {[]error{errFailed, backoff.Permanent(io.EOF)}, []string{"failed", "asked", "EOF"}},
		"the policy's stop": {[]error{io.EOF}, []string{"EOF", "asked", "EOF", "asked", "EOF", "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wrap := range []func(backoff.BackOff) backoff.BackOff{
				func(b backoff.BackOff) backoff.BackOff { return b },
				func(b backoff.BackOff) backoff.BackOff {
					return foreign{backoff.WithContext(foreign{b}, context.Background())}
				},
				func(b backoff.BackOff) backoff.BackOff {
					b = backoff.WithBudget(backoff.WithRetryIf(b, always), new(backoff.Budget))
					return backoff.WithStopCause(backoff.WithMaxRetries(b, 9), errCause)
				},
			} {
				eachLoop(t, func(t *testing.T, retry retry) {
					l := &listener{BackOff: waits(0, 0)}
					operation, _ := results(test.outcomes...)
					_ = retry(operation, wrap(l))
					require.Equal(t, test.want, l.log)
				})
			}
		})
	}
}

func TestObserverChain(t *testing.T) {
	inner := &listener{BackOff: waits(0)}
	outer := &unwrapping{listener{BackOff: foreign{inner}}}
	_ = backoff.Retry(func() error { return errFailed }, outer)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, inner.log)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, outer.log)
}

type unwrapping struct{ listener }

func (u *unwrapping) Unwrap() backoff.BackOff { return u.BackOff }

// phased is a decorator that shows its next policy after each wait.
type phased struct {
	policies []backoff.BackOff
	at       int
}

func (p *phased) Unwrap() backoff.BackOff { return p.policies[p.at] }

func (p *phased) Reset() {
	p.at = 0
	for _, b := range p.policies {
		b.Reset()
	}
}

func (p *phased) NextBackOff() time.Duration {
	wait := p.policies[p.at].NextBackOff()
	p.at = min(p.at+1, len(p.policies)-1)
	return wait
}

// A policy that a decorator's Unwrap shows only later in the run is found as well.
func TestObserverLater(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		l := &listener{BackOff: waits(0, 0)}
		b := &phased{policies: []backoff.BackOff{&backoff.ZeroBackOff{}, &backoff.ZeroBackOff{}, l}}
		operation, _ := results(errFailed, errFailed, io.EOF, io.EOF, nil)
		require.NoError(t, retry(operation, foreign{b}))
		require.Equal(t, []string{"EOF", "asked", "EOF", "asked", "<nil>"}, l.log)

		b = &phased{policies: []backoff.BackOff{&backoff.ZeroBackOff{}, backoff.WithRetryIf(&backoff.ZeroBackOff{}, isEOF)}}
		operation, calls := results(errFailed, io.EOF, errFailed)
		require.Same(t, errFailed, retry(operation, backoff.WithMaxRetries(b, 12)))
		require.Equal(t, 3, *calls)

		b = &phased{policies: []backoff.BackOff{&backoff.ZeroBackOff{}, backoff.WithContext(&backoff.ZeroBackOff{}, cancelled())}}
		operation, calls = failing(-1)
		require.ErrorIs(t, retry(operation, b), context.Canceled, "so is a context")
		require.Equal(t, 2, *calls)

		budget := new(backoff.Budget)
		b = &phased{policies: []backoff.BackOff{&backoff.ZeroBackOff{}, backoff.WithBudget(waits(0, 0), budget)}}
		operation, _ = failing(-1)
		require.Error(t, retry(operation, b))
		require.Equal(t, 490, budget.Tokens(), "and a budget")
	})
}

// An observer can adapt its next wait to the outcome.
func TestObserverAdapts(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := results(errFailed, errFailed, io.EOF)
		require.Same(t, io.EOF, retry(operation, &learning{}))
		require.Equal(t, 3, *calls)
	})
}

// learning stops after io.EOF.
type learning struct{ last error }

func (l *learning) Reset()            {}
func (l *learning) Observe(err error) { l.last = err }

func (l *learning) NextBackOff() time.Duration {
	if l.last == io.EOF {
		return backoff.Stop
	}
	return 0
}

// Every decorator has the method by which contexts, observers and budgets are found.
func TestUnwrap(t *testing.T) {
	inner := waits()
	for _, b := range []backoff.BackOff{
		backoff.WithContext(inner, context.Background()),
		backoff.WithMaxRetries(inner, 1),
		backoff.WithRetryIf(inner, isEOF),
		backoff.WithBudget(inner, new(backoff.Budget)),
		backoff.WithStopCause(inner, errCause),
	} {
		require.Same(t, inner, b.(interface{ Unwrap() backoff.BackOff }).Unwrap())
		b.Reset()
	}
	require.Equal(t, 5, inner.resets)
}

// Whatever the order of the decorators: the same calls, the same error, the same charge.
func TestDecoratorOrder(t *testing.T) {
	near, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	live := context.Background()
	for name, test := range map[string]struct {
		ctx      context.Context
		capacity int
		asked    time.Duration
		fatal    int // the call whose error is not retryable
		calls    int
		spent    int
		ends     error
	}{
		"retries used up":     {live, 0, 0, 0, 5, 20, errFailed},
		"not retryable":       {live, 0, 0, 3, 3, 10, io.EOF},
		"budget used up":      {live, 12, 0, 0, 3, 10, backoff.ErrBudgetExhausted},
		"context done":        {cancelled(), 0, 0, 0, 1, 0, context.Canceled},
		"deadline too near":   {near, 0, 2 * time.Hour, 0, 1, 0, context.DeadlineExceeded},
		"first not retryable": {live, 0, 0, 1, 1, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			orders := 0
			permutations(6, func(order []int) {
				orders++
				for _, retry := range []retry{backoff.Retry, attempt} {
					budget := &backoff.Budget{Capacity: test.capacity}
					full := budget.Tokens()
					var b backoff.BackOff = &backoff.ZeroBackOff{}
					for _, i := range order {
						switch i {
						case 0:
							b = backoff.WithContext(b, test.ctx)
						case 1:
							b = backoff.WithMaxRetries(b, 4)
						case 2:
							b = backoff.WithRetryIf(b, func(err error) bool { return !isEOF(err) })
						case 3:
							b = backoff.WithBudget(b, budget)
						case 4:
							b = foreign{b}
						case 5:
							b = backoff.WithStopCause(b, errCause)
						}
					}
					calls := 0
					err := retry(func() error {
						if calls++; calls == test.fatal {
							return io.EOF
						}
						return backoff.RetryAfter(errFailed, test.asked)
					}, b)
					if test.calls != calls || !errors.Is(err, test.ends) || test.spent != full-budget.Tokens() {
						require.Fail(t, "another end", "order %v: %d calls, %v, %d spent", order, calls, err, full-budget.Tokens())
					}
				}
			})
			require.Equal(t, 720, orders)
		})
	}
}
