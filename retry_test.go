package backoff

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryCallsUntilSuccess(t *testing.T) {
	for failures := range 4 {
		operation, calls := failing(failures)
		require.NoError(t, Retry(operation, &ZeroBackOff{}))
		require.Equal(t, failures+1, *calls)
	}
}

// Each of the six functions resets the policy, retries, and returns value and error.
func TestAllSixFunctions(t *testing.T) {
	type data = OperationWithData[int]
	withoutData := func(retry func(Operation, BackOff, Notify) error) func(data, BackOff, Notify) (int, error) {
		return func(o data, b BackOff, n Notify) (value int, err error) {
			err = retry(func() (err error) { value, err = o(); return err }, b, n)
			return value, err
		}
	}
	for name, test := range map[string]struct {
		retry    func(data, BackOff, Notify) (int, error)
		notifies bool
	}{
		"Retry": {withoutData(func(o Operation, b BackOff, _ Notify) error {
			return Retry(o, b)
		}), false},
		"RetryWithData": {func(o data, b BackOff, _ Notify) (int, error) {
			return RetryWithData(o, b)
		}, false},
		"RetryNotify":         {withoutData(RetryNotify), true},
		"RetryNotifyWithData": {RetryNotifyWithData[int], true},
		"RetryNotifyWithTimer": {withoutData(func(o Operation, b BackOff, n Notify) error {
			return RetryNotifyWithTimer(o, b, n, nil)
		}), true},
		"RetryNotifyWithTimerAndData": {func(o data, b BackOff, n Notify) (int, error) {
			return RetryNotifyWithTimerAndData(o, b, n, nil)
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
			require.Equal(t, 4, value, "the last call's value stands beside its error")
			require.Equal(t, 3, notified)
		})
	}
}

func TestPolicyStopsWithTheLastErrorUnchanged(t *testing.T) {
	errs := []error{errors.New("first"), errors.New("second"), errors.New("last")}
	calls := 0
	err := Retry(func() error { calls++; return errs[calls-1] }, waits(0, 0))
	require.Same(t, errs[2], err)
}

func TestTwoRetriesWithOnePolicyBehaveAlike(t *testing.T) {
	b := WithMaxRetries(NewExponentialBackOff(WithInitialInterval(0)), 3)
	for range 2 {
		operation, calls := failing(-1)
		require.Same(t, errFailed, Retry(operation, b))
		require.Equal(t, 4, *calls)
	}
}

func TestPanicOfTheOperationPassesThrough(t *testing.T) {
	timer := new(instantTimer)
	calls := 0
	require.PanicsWithValue(t, "boom", func() {
		_ = RetryNotifyWithTimer(func() error {
			if calls++; calls == 2 {
				panic("boom")
			}
			return errFailed
		}, &ZeroBackOff{}, nil, timer)
	})
	require.Equal(t, 1, timer.stops)
}

func TestAMillionFailuresKeepConstantMemory(t *testing.T) {
	operation, calls := failing(1_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, Retry(operation, &ZeroBackOff{}))
	runtime.ReadMemStats(&after)
	require.Equal(t, 1_000_001, *calls)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
}
