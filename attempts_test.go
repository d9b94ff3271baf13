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
	for name, leave := range map[string]func(b backoff.BackOff, outcome error) error{
		"break": func(b backoff.BackOff, outcome error) (err error) {
			for range backoff.Attempts(b, &err) {
				err = outcome
				break
			}
			return err
		},
		"return": func(b backoff.BackOff, outcome error) (err error) {
			for range backoff.Attempts(b, &err) {
				return outcome
			}
			return io.ErrNoProgress
		},
		"panic": func(b backoff.BackOff, outcome error) (err error) {
			defer func() { _ = recover() }()
			for range backoff.Attempts(b, &err) {
				err = outcome
				panic("boom")
			}
			return io.ErrNoProgress
		},
		"Goexit": func(b backoff.BackOff, outcome error) (err error) {
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
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, outcome := range []error{nil, errFailed} {
				policy := waits(1, 1)
				require.Equal(t, outcome, leave(policy, outcome))
				require.Zero(t, policy.next, "the policy is not asked")
			}
		})
	}
}

// A body that leaves the first pass before it sets err leaves an error, not a success.
func TestAttemptsNotSet(t *testing.T) {
	const text = "backoff: the body of a range over Attempts has not set err"
	for _, former := range []error{nil, io.EOF} {
		err := former
		for range backoff.Attempts(waits(0), &err) {
			require.EqualError(t, err, text)
			break
		}
		require.EqualError(t, err, text)

		err = former
		require.PanicsWithValue(t, "boom", func() {
			for range backoff.Attempts(waits(0), &err) {
				panic("boom")
			}
		})
		require.EqualError(t, err, text)

		returned := func() (err error) {
			for range backoff.Attempts(waits(0), &err) {
				return err
			}
			return nil
		}
		require.EqualError(t, returned(), text)
	}
}

// In later passes err is the last attempt's error until the body sets it. A body that does not set
// it has failed in the same way again.
func TestAttemptsLastError(t *testing.T) {
	policy := waits(0, 0)
	var err error
	for attempt := range backoff.Attempts(policy, &err) {
		if attempt == 1 {
			err = errFailed
		}
		require.Same(t, errFailed, err)
	}
	require.Same(t, errFailed, err)
	require.Equal(t, 2, policy.next)

	policy = waits(0, 0)
	for attempt := range backoff.Attempts(policy, &err) {
		if attempt == 2 {
			break
		}
		err = io.EOF
	}
	require.Same(t, io.EOF, err)
	require.Equal(t, 1, policy.next)
}

// A body that declares an err of its own must not pass for a success.
func TestAttemptsShadowed(t *testing.T) {
	for _, former := range []error{nil, io.EOF} {
		err := former
		passes := 0
		require.PanicsWithValue(t, "backoff: the body of a range over Attempts has not set err; does it declare its own err?", func() {
			for range backoff.Attempts(&backoff.ZeroBackOff{}, &err) {
				passes++
				_, err := io.WriteString(io.Discard, "")
				_ = err
			}
		})
		require.Equal(t, 1, passes)
		require.Error(t, err)
	}
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
