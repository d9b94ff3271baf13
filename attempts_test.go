package backoff_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// What Attempts has in common with Retry is tested for both, by eachLoop.

func TestAttemptsNumbers(t *testing.T) {
	var err error
	var numbers []int
	for attempt := range backoff.Attempts(&backoff.ZeroBackOff{}, &err) {
		numbers = append(numbers, attempt)
		if err = errFailed; attempt == 3 {
			err = nil
		}
	}
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, numbers)
}

// A body that leaves the loop leaves nothing running. err stays what it was made, and observers and
// budgets learn of it.
func TestAttemptsLeave(t *testing.T) {
	type body func(l backoff.BackOff) error
	leave := map[string]func(outcome error) body{
		"break": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
				for range backoff.Attempts(b, &err) {
					err = outcome
					break
				}
				return err
			}
		},
		"return": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
				for range backoff.Attempts(b, &err) {
					return outcome
				}
				return io.ErrNoProgress
			}
		},
		"goto": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
				for range backoff.Attempts(b, &err) {
					err = outcome
					goto end
				}
			end:
				return err
			}
		},
		"continue outer": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
			outer:
				for range 1 {
					for range backoff.Attempts(b, &err) {
						err = outcome
						continue outer
					}
				}
				return err
			}
		},
		"panic": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
				defer func() { _ = recover() }()
				for range backoff.Attempts(b, &err) {
					err = outcome
					panic("boom")
				}
				return io.ErrNoProgress
			}
		},
		"Goexit": func(outcome error) body {
			return func(b backoff.BackOff) (err error) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range backoff.Attempts(b, &err) {
						err = outcome
						runtime.Goexit()
					}
				}()
				<-done
				return err
			}
		},
	}
	for name, leave := range leave {
		for _, outcome := range []error{nil, errFailed} {
			t.Run(name, func(t *testing.T) {
				policy := waits(1, 1)
				l := &listener{BackOff: policy}
				budget := &backoff.Budget{Capacity: 10}
				require.True(t, budget.Withdraw())
				require.Equal(t, outcome, leave(outcome)(backoff.WithBudget(l, budget)))
				require.Zero(t, policy.next, "the policy is not asked")
				if outcome == nil {
					require.Equal(t, []string{"<nil>"}, l.log)
					require.Equal(t, 6, budget.Tokens(), "a success at the first attempt")
				} else {
					require.Equal(t, []string{"failed"}, l.log)
					require.Equal(t, 5, budget.Tokens())
				}
			})
		}
	}
}

// Leaving a later pass with success gives the budget back what the retry cost.
func TestAttemptsLeaveLater(t *testing.T) {
	budget := &backoff.Budget{Capacity: 25}
	l := &listener{BackOff: &backoff.ZeroBackOff{}}
	var err error
	for attempt := range backoff.Attempts(backoff.WithBudget(l, budget), &err) {
		if attempt == 2 {
			err = nil
			break
		}
		err = errFailed
	}
	require.NoError(t, err)
	require.Equal(t, []string{"failed", "asked", "<nil>"}, l.log)
	require.Equal(t, 25, budget.Tokens())
}

// In later passes err is the last attempt's error until the body sets it. A body that does not set
// it has failed in the same way again.
func TestAttemptsLastError(t *testing.T) {
	l := &listener{BackOff: waits(0, 0)}
	var err error
	for attempt := range backoff.Attempts(l, &err) {
		if attempt == 1 {
			err = errFailed
		}
		require.Same(t, errFailed, err)
	}
	require.Same(t, errFailed, err)
	require.Equal(t, []string{"failed", "asked", "failed", "asked", "failed", "asked"}, l.log)

	l = &listener{BackOff: waits(0, 0)}
	for attempt := range backoff.Attempts(l, &err) {
		if attempt == 2 {
			break
		}
		err = io.EOF
	}
	require.Same(t, io.EOF, err)
	require.Equal(t, []string{"EOF", "asked", "EOF"}, l.log)
}

// A body that declares an err of its own must not pass for a success.
func TestAttemptsShadowed(t *testing.T) {
	for _, former := range []error{nil, io.EOF} {
		l := &listener{BackOff: &backoff.ZeroBackOff{}}
		err := former
		passes := 0
		require.PanicsWithValue(t, "backoff: the body of a range over Attempts has not set err; does it declare its own err?", func() {
			for range backoff.Attempts(l, &err) {
				passes++
				_, err := io.WriteString(io.Discard, "")
				_ = err
			}
		})
		require.Equal(t, 1, passes)
		require.Equal(t, former, err)
		require.Empty(t, l.log)
	}
}

// A body that leaves the first pass before it sets err finds the former value restored.
func TestAttemptsRestored(t *testing.T) {
	for _, former := range []error{nil, io.EOF} {
		l := &listener{BackOff: &backoff.ZeroBackOff{}}
		err := former
		for range backoff.Attempts(l, &err) {
			require.Error(t, err)
			require.NotEqual(t, former, err)
			break
		}
		require.Equal(t, former, err)
		require.PanicsWithValue(t, "boom", func() {
			for range backoff.Attempts(l, &err) {
				panic("boom")
			}
		})
		require.Equal(t, former, err)
		require.Empty(t, l.log, "there was no attempt")
	}
}

// A former value does not count, not even nil.
func TestAttemptsFormer(t *testing.T) {
	err := backoff.Permanent(io.EOF)
	passes := 0
	for range backoff.Attempts(waits(0), &err) {
		passes++
		err = errFailed
	}
	require.Same(t, errFailed, err)
	require.Equal(t, 2, passes)
}

func TestAttemptsUncomparable(t *testing.T) {
	operation, calls := results(uncomparable{}, dressed{[]int{1}}, uncomparable{})
	require.Equal(t, uncomparable{}, attempt(operation, waits(0, 0)))
	require.Equal(t, 3, *calls)
}

func TestAttemptsAgain(t *testing.T) {
	policy := waits(0, 0)
	var err error
	attempts := backoff.Attempts(backoff.WithMaxRetries(policy, 2), &err)
	require.Zero(t, policy.resets, "nothing happens before the range")
	for range attempts {
		err = io.EOF
		break
	}
	require.Zero(t, policy.next)
	for range 2 {
		last := 0
		for last = range attempts {
			err = errFailed
		}
		require.Equal(t, 3, last)
		require.Same(t, errFailed, err)
	}
	require.Equal(t, 3, policy.resets)
}

func TestAttemptsNil(t *testing.T) {
	require.PanicsWithValue(t, "backoff: Attempts called with a nil err", func() {
		for range backoff.Attempts(&backoff.ZeroBackOff{}, nil) {
			require.Fail(t, "no pass")
		}
	})
}

// In the first pass err says that it has not been set.
func TestAttemptsUnset(t *testing.T) {
	var err error
	for range backoff.Attempts(&backoff.StopBackOff{}, &err) {
		require.EqualError(t, err, "backoff: the body of a range over Attempts has not set err")
		err = nil
	}
	require.NoError(t, err)
}

// A body that puts the first pass's error back has not set err. The loop ends like any other.
func TestAttemptsUnsetLater(t *testing.T) {
	budget := &backoff.Budget{Capacity: 500}
	for range 10 {
		budget.Withdraw()
	}
	b := backoff.WithBudget(&backoff.ZeroBackOff{}, budget)
	require.Panics(t, func() {
		var err, first error
		for attempt := range backoff.Attempts(b, &err) {
			if attempt == 1 {
				first, err = err, errFailed
			} else {
				err = first
			}
		}
	})
	require.NoError(t, attempt(func() error { return nil }, b))
	require.Equal(t, 500-11*5+1, budget.Tokens())
}

// A body that leaves the first pass at once has cost nothing, and nothing is returned.
func TestAttemptsLeaveUnset(t *testing.T) {
	budget := &backoff.Budget{Capacity: 500}
	require.True(t, budget.Withdraw())
	var err error
	for range backoff.Attempts(backoff.WithBudget(&backoff.ZeroBackOff{}, budget), &err) {
		break
	}
	require.Equal(t, 495, budget.Tokens())
}
