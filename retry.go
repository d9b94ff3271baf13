package backoff

import "time"

// Operation is a function to retry; nil means success.
type Operation func() error

// OperationWithData is an [Operation] that also returns a value.
type OperationWithData[T any] func() (T, error)

// Notify is called before each wait with the error of the failed attempt and the wait. It is not
// called when the loop gives up.
type Notify func(err error, wait time.Duration)

// Retry resets b and calls o until it succeeds, at least once. After each failure it asks b how long
// to wait before the next call. It returns nil once o succeeds, even if b's context has ended by then.
// Otherwise it gives up when one of these happens:
//
//   - o's error is marked by [Permanent]. It is returned without the mark, so that an outer Retry goes
//     on. If the mark is wrapped, the text stays and only the mark goes.
//   - b returns a negative wait, such as [Stop]. o's last error is returned unchanged, unless
//     [WithStopCause] adds a reason. [WithBudget] ends the loop too if it cannot pay, and adds its own.
//   - b's context is done (see [WithContext]). o is not called again, and a wait is cut short. The error
//     matches the context's Err, its [context.Cause] and o's last error, or is Err itself if all three
//     are equal. Its Timeout answers as Err's does. [errors.As] with an interface type does not look at
//     o's error, so that the result does not pass for it. Marks by Permanent in the cause are removed.
//   - The wait would outlast the deadline of b's context. The error matches
//     [context.DeadlineExceeded] and o's last error; the context itself is not done then. The first
//     wait above zero is not refused, or a loop around Retry would spin. One that a server asked for
//     is (see [RetryAfter]).
//
// o may call b.Reset, for example after a connection that lasted for a while: the intervals, the number
// of retries and the elapsed time start over. A panic in o passes through.
func Retry(o Operation, b BackOff) error { return retry(o, b, nil, nil) }

// RetryWithData is like [Retry] and returns the value of o's last call, even with an error.
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, nil, nil)
}

// RetryNotify is like [Retry] and calls notify before each wait. A nil notify is not called.
func RetryNotify(o Operation, b BackOff, notify Notify) error { return retry(o, b, notify, nil) }

// RetryNotifyWithData is like [RetryNotify] and returns a value as [RetryWithData] does.
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, notify, nil)
}

// RetryNotifyWithTimer is like [RetryNotify] and waits on timer. It is used for every wait, even a zero
// one, and stopped when the loop ends. It turns off the deadline check, since its time may not be real.
// A nil timer means the default one.
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	if timer != nil {
		defer timer.Stop()
	}
	return retry(o, b, notify, timer)
}

// RetryNotifyWithTimerAndData is like [RetryNotifyWithTimer] and returns a value as [RetryWithData] does.
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	var data T
	err := RetryNotifyWithTimer(func() (err error) {
		data, err = o()
		return err
	}, b, notify, timer)
	return data, err
}
