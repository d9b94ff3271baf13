package backoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listener is an observer that notes what it is told, and when it is asked.
type listener struct {
	BackOff
	log []string
}

func (l *listener) Observe(err error) { l.log = append(l.log, fmt.Sprint(err)) }

func (l *listener) NextBackOff() time.Duration {
	l.log = append(l.log, "asked")
	return l.BackOff.NextBackOff()
}

func TestObserverIsToldEveryOutcomeBeforeItIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		outcomes []error
		want     []string
	}{
		"success":           {[]error{nil}, []string{"<nil>"}},
		"failures":          {[]error{errFailed, io.EOF, nil}, []string{"failed", "asked", "EOF", "asked", "<nil>"}},
		"permanent":         {[]error{errFailed, Permanent(io.EOF)}, []string{"failed", "asked", "EOF"}},
		"the policy's stop": {[]error{io.EOF, io.EOF, io.EOF}, []string{"EOF", "asked", "EOF", "asked", "EOF", "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wrap := range []func(BackOff) BackOff{
				func(b BackOff) BackOff { return b },
				func(b BackOff) BackOff { return foreign{WithContext(foreign{b}, context.Background())} },
				func(b BackOff) BackOff {
					always := func(error) bool { return true }
					return WithMaxRetries(WithBudget(WithRetryIf(b, always), new(Budget)), 9)
				},
			} {
				l := &listener{BackOff: waits(0, 0)}
				outcomes := test.outcomes
				_ = Retry(func() error {
					err := outcomes[0]
					outcomes = outcomes[1:]
					return err
				}, wrap(l))
				require.Equal(t, test.want, l.log)
			}
		})
	}
}

func TestEveryObserverInAChainIsTold(t *testing.T) {
	inner := &listener{BackOff: waits(0)}
	outer := &unwrapping{listener{BackOff: foreign{inner}}}
	_ = Retry(func() error { return errFailed }, outer)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, inner.log)
	require.Equal(t, []string{"failed", "asked", "failed", "asked"}, outer.log)
}

type unwrapping struct{ listener }

func (u *unwrapping) Unwrap() BackOff { return u.BackOff }

func TestWithRetryIfGivesUpAtOnce(t *testing.T) {
	errs := []error{io.EOF, fmt.Errorf("wrapped: %w", io.EOF), errFailed, io.EOF}
	isEOF := func(err error) bool { return errors.Is(err, io.EOF) }
	b := WithRetryIf(&ZeroBackOff{}, isEOF)
	for range 2 {
		calls := 0
		err := Retry(func() error { calls++; return errs[calls-1] }, b)
		require.Same(t, errFailed, err)
		require.Equal(t, 3, calls)
	}
	calls := 0
	require.NoError(t, Retry(func() error {
		if calls++; calls < 3 {
			return io.EOF
		}
		return nil
	}, b))
}

func TestWithRetryIfStartsAfreshAfterReset(t *testing.T) {
	inner := waits(1, 2)
	b := WithRetryIf(inner, func(error) bool { return false })
	b.(BackOffObserver).Observe(errFailed)
	require.Equal(t, Stop, b.NextBackOff())
	require.Zero(t, inner.next, "the policy below is not asked")
	b.(BackOffObserver).Observe(nil)
	require.EqualValues(t, 1, b.NextBackOff())
	b.(BackOffObserver).Observe(errFailed)
	b.Reset()
	require.EqualValues(t, 1, b.NextBackOff())
}

func TestNilArgumentsOfDecorators(t *testing.T) {
	require.PanicsWithValue(t, "backoff: WithRetryIf called with a nil function", func() { WithRetryIf(nil, nil) })
	require.PanicsWithValue(t, "backoff: WithBudget called with a nil budget", func() { WithBudget(nil, nil) })
	require.Positive(t, WithRetryIf(nil, func(error) bool { return true }).NextBackOff())
	require.Positive(t, WithBudget(nil, new(Budget)).NextBackOff())
}

// permutations calls f with each order of 0 … n-1.
func permutations(n int, f func([]int)) {
	order := make([]int, 0, n)
	var extend func()
	extend = func() {
		if len(order) == n {
			f(order)
			return
		}
	next:
		for i := range n {
			for _, taken := range order {
				if taken == i {
					continue next
				}
			}
			order = append(order, i)
			extend()
			order = order[:len(order)-1]
		}
	}
	extend()
}

// Whatever the order of the decorators: the same calls, the same error, the same charge.
func TestDecoratorsInAnyOrder(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithTimeout(context.Background(), time.Hour)
	defer cancelLate()
	live := context.Background()
	poor := Budget{Capacity: 12}
	for name, test := range map[string]struct {
		ctx    context.Context
		budget *Budget
		wait   time.Duration
		fatal  int // the call whose error is not retryable
		calls  int
		spent  int
		ends   error
	}{
		"retries used up":     {live, &Budget{}, 0, 0, 5, 20, errFailed},
		"not retryable":       {live, &Budget{}, 0, 3, 3, 10, io.EOF},
		"budget used up":      {live, &poor, 0, 0, 3, 10, errFailed},
		"context done":        {done, &Budget{}, 0, 0, 1, 0, context.Canceled},
		"deadline too near":   {late, &Budget{}, 2 * time.Hour, 0, 1, 0, context.DeadlineExceeded},
		"first not retryable": {live, &Budget{}, 0, 1, 1, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			orders := 0
			permutations(5, func(order []int) {
				orders++
				budget := &Budget{Capacity: test.budget.Capacity}
				full := budget.Tokens()
				var b BackOff = NewConstantBackOff(test.wait)
				for _, i := range order {
					switch i {
					case 0:
						b = WithContext(b, test.ctx)
					case 1:
						b = WithMaxRetries(b, 4)
					case 2:
						b = WithRetryIf(b, func(err error) bool { return err != io.EOF })
					case 3:
						b = WithBudget(b, budget)
					case 4:
						b = foreign{b}
					}
				}
				calls := 0
				err := Retry(func() error {
					if calls++; calls == test.fatal {
						return io.EOF
					}
					return errFailed
				}, b)
				require.Equal(t, test.calls, calls, "%v", order)
				require.ErrorIs(t, err, test.ends, "%v", order)
				require.Equal(t, test.spent, full-budget.Tokens(), "%v", order)
			})
			require.Equal(t, 120, orders)
		})
	}
}
