package backoff_test

import (
	"errors"
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

// The policy stops: the last error is returned unchanged.
func TestRetryLastError(t *testing.T) {
	errs := []error{errors.New("first"), errors.New("second"), errors.New("last")}
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := results(errs...)
		require.Same(t, errs[2], retry(operation, waits(0, 0)))
		require.Equal(t, 3, *calls)
	})
}

// Two loops one after the other on the same policy behave identically.
func TestRetryTwice(t *testing.T) {
	b := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(0)), 3)
	for range 2 {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := failing(-1)
			require.Same(t, errFailed, retry(operation, b))
			require.Equal(t, 4, *calls)
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

	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = backoff.RetryNotifyWithTimer(func() error {
			runtime.Goexit()
			return nil
		}, &backoff.ZeroBackOff{}, nil, timer)
	}()
	<-done
	require.Equal(t, 2, timer.stops)
}

// Failing attempts keep constant memory.
func TestRetryMemory(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := failing(100_000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, retry(operation, &backoff.ZeroBackOff{}))
		runtime.ReadMemStats(&after)
		require.Equal(t, 100_001, *calls)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
	})
}
