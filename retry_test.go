package backoff_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestRetry(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		for failures := range 4 {
			operation, calls := failing(failures)
			require.NoError(t, retry(operation, &backoff.ZeroBackOff{}))
			require.Equal(t, failures+1, *calls)
		}
	})
}

// The policy stops: the last error is returned unchanged.
func TestRetryLastError(t *testing.T) {
	errs := []error{errors.New("first"), errors.New("second"), errors.New("last")}
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := results(errs...)
		require.Same(t, errs[2], retry(operation, waits(0, 0)))
		require.Equal(t, 3, *calls)
	})
}

// What a policy remembers for a loop's decision does not reach the next loop, nor a caller by hand.
func TestLoopEnd(t *testing.T) {
	asked := backoff.RetryAfter(errFailed, 50)
	failing := func() error { return asked }
	for name, run := range map[string]func(t *testing.T, b backoff.BackOff, retry retry){
		"a decorator answers without asking": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, veto(insist(b, 0))))
		},
		"a policy panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			panicking := alter(b, func(backoff.BackOff) time.Duration { panic("boom") })
			require.Panics(t, func() { _ = retry(failing, panicking) })
		},
		"the operation panics": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Panics(t, func() { _ = retry(breaking(asked), insist(b, 0)) })
		},
		"the operation ends the goroutine": func(t *testing.T, b backoff.BackOff, retry retry) {
			done, calls := make(chan struct{}), 0
			go func() {
				defer close(done)
				_ = retry(func() error {
					if calls++; calls == 2 {
						runtime.Goexit()
					}
					return asked
				}, insist(b, 0))
			}()
			<-done
		},
		"the context ends": func(t *testing.T, b backoff.BackOff, retry retry) {
			require.Error(t, retry(failing, backoff.WithContext(b, cancelled())))
		},
		"success": func(t *testing.T, b backoff.BackOff, retry retry) {
			operation, _ := results(asked, nil)
			require.NoError(t, retry(operation, insist(b, 0)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLoop(t, func(t *testing.T, retry retry) {
				exp := &backoff.ExponentialBackOff{InitialInterval: 1, MaxElapsedTime: 10 * time.Millisecond, Clock: clockOf(0)}
				run(t, exp, retry)
				exp.Reset()
				require.EqualValues(t, 1, exp.NextBackOff())
				exp.MaxElapsedTime = 1
				require.Zero(t, draws(exp, 2)[1], "by hand, past the limit, it is v4's")
			})
		})
	}
}

// Each of the six functions resets the policy, retries, and returns value and error.
func TestRetryVariants(t *testing.T) {
	type data = backoff.OperationWithData[int]
	withoutData := func(retry func(backoff.Operation, backoff.BackOff, backoff.Notify) error) func(data, backoff.BackOff, backoff.Notify) (int, error) {
		return func(o data, b backoff.BackOff, n backoff.Notify) (value int, err error) {
			err = retry(func() (err error) { value, err = o(); return err }, b, n)
			return value, err
		}
	}
	for name, test := range map[string]struct {
		retry    func(data, backoff.BackOff, backoff.Notify) (int, error)
		notifies bool
	}{
		"Retry": {withoutData(func(o backoff.Operation, b backoff.BackOff, _ backoff.Notify) error {
			return backoff.Retry(o, b)
		}), false},
		"RetryWithData": {func(o data, b backoff.BackOff, _ backoff.Notify) (int, error) {
			return backoff.RetryWithData(o, b)
		}, false},
		"RetryNotify":         {withoutData(backoff.RetryNotify), true},
		"RetryNotifyWithData": {backoff.RetryNotifyWithData[int], true},
		"RetryNotifyWithTimer": {withoutData(func(o backoff.Operation, b backoff.BackOff, n backoff.Notify) error {
			return backoff.RetryNotifyWithTimer(o, b, n, nil)
		}), true},
		"RetryNotifyWithTimerAndData": {func(o data, b backoff.BackOff, n backoff.Notify) (int, error) {
			return backoff.RetryNotifyWithTimerAndData(o, b, n, nil)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(failures int, policy *scripted) (value, notified int, err error) {
				calls := 0
				value, err = test.retry(func() (int, error) {
					calls++
					if calls <= failures {
						return calls, errFailed
					}
					return calls, nil
				}, policy, func(err error, wait time.Duration) {
					notified++
					require.Same(t, errFailed, err)
					require.EqualValues(t, notified, wait)
				})
				require.Equal(t, 1, policy.resets)
				if !test.notifies {
					notified = calls - 1
				}
				return value, notified, err
			}
			value, notified, err := run(2, waits(1, 2, 3))
			require.NoError(t, err)
			require.Equal(t, 3, value)
			require.Equal(t, 2, notified)

			value, notified, err = run(9, waits(1, 2, 3))
			require.Same(t, errFailed, err)
			require.Equal(t, 4, value, "the last call's value comes with its error")
			require.Equal(t, 3, notified)

			_, err = test.retry(func() (int, error) { return 0, backoff.Permanent(errFailed) }, waits(1), nil)
			require.Same(t, errFailed, err, "a nil notify is none")
			value, err = test.retry(func() (int, error) { return 7, nil }, nil, nil)
			require.NoError(t, err)
			require.Equal(t, 7, value)
		})
	}
}

// A panic passes through, and so does runtime.Goexit. The timer is stopped.
func TestRetryPanic(t *testing.T) {
	timer := new(instantTimer)
	require.PanicsWithValue(t, "boom", func() {
		_ = backoff.RetryNotifyWithTimer(breaking(errFailed), &backoff.ZeroBackOff{}, nil, timer)
	})
	require.Equal(t, 1, timer.stops)

	timer = new(instantTimer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = backoff.RetryNotifyWithTimer(func() error {
			runtime.Goexit()
			return nil
		}, &backoff.ZeroBackOff{}, nil, timer)
	}()
	<-done
	require.Equal(t, 1, timer.stops)
}

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

// After a body that leaves the loop, err is what the body made it.
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

// A custom timer is used for every wait, also for one of zero.
func TestTimer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, b := range []backoff.BackOff{waits(time.Hour, 0, 1), backoff.WithContext(waits(time.Hour, 0, 1), ctx)} {
		timer := new(instantTimer)
		operation, calls := failing(-1)
		require.Same(t, errFailed, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
		require.Equal(t, 4, *calls)
		require.Equal(t, []time.Duration{time.Hour, 0, 1}, timer.started)
		require.Equal(t, 1, timer.stops)
	}
	timer := new(instantTimer)
	asked := backoff.RetryAfter(errFailed, time.Minute)
	value, err := backoff.RetryNotifyWithTimerAndData(func() (int, error) { return 7, asked }, waits(1, time.Hour), nil, timer)
	require.Same(t, asked, err)
	require.Equal(t, 7, value)
	require.Equal(t, []time.Duration{time.Minute, time.Hour}, timer.started)
}

// However the loop ends, its timer is stopped once.
func TestTimerStop(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		policy backoff.BackOff
	}{
		"success":   {nil, waits()},
		"permanent": {backoff.Permanent(errFailed), waits(1)},
		"policy":    {errFailed, waits()},
		"context":   {errFailed, backoff.WithContext(waits(1), cancelled())},
	} {
		timer := new(instantTimer)
		_ = backoff.RetryNotifyWithTimer(func() error { return test.err }, test.policy, nil, timer)
		require.Equal(t, 1, timer.stops, name)
		require.Empty(t, timer.started, name)
	}
}

// A custom timer turns off the deadline check: its time need not be real.
func TestTimerDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	operation, calls := results(backoff.RetryAfter(errFailed, 9*time.Hour), errFailed, errFailed, nil)
	b := backoff.WithContext(backoff.NewConstantBackOff(2*time.Hour), ctx)
	timer := new(instantTimer)
	require.NoError(t, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
	require.Equal(t, 4, *calls)
	require.Equal(t, []time.Duration{9 * time.Hour, 2 * time.Hour, 2 * time.Hour}, timer.started)
}

// The context cuts a custom timer's wait short.
func TestTimerContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	timer := new(brokenTimer)
	operation, calls := failing(-1)
	err := backoff.RetryNotifyWithTimer(operation, backoff.WithContext(waits(1), ctx), nil, timer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, 1, *calls)
	require.Equal(t, 1, timer.stops)
}

// A Timer without a channel ends the loop, as if the policy had stopped.
func TestTimerWithoutChannel(t *testing.T) {
	timer := new(nilTimer)
	operation, calls := failing(-1)
	require.Same(t, errFailed, backoff.RetryNotifyWithTimer(operation, waits(1, 1), nil, timer))
	require.Equal(t, 1, *calls)
	require.Equal(t, 1, timer.stops)
}
