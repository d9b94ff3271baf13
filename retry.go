package backoff

import "time"

// Operation is a function to retry. A nil error means success.
type Operation func() error

// OperationWithData is an [Operation] that also returns a value.
type OperationWithData[T any] func() (T, error)

// Notify is a function that a loop calls before each wait, with the error of the attempt that failed and the wait that
// follows. It is not called if no wait follows because the loop gives up. (A context may still cut the wait short.) It
// should return quickly: the wait starts after it, and the deadline is not checked again before that.
type Notify func(err error, wait time.Duration)

// Retry calls o until it succeeds, and returns nil; or gives up, and returns an error. It calls o at least
// once, even if the context is done already. It resets b first, and after each failure asks b how long to
// wait. A nil b means [NewExponentialBackOff].
//
// Retry gives up when one of these happens:
//
//   - o returns an error marked by [Permanent]. Retry returns that error, without the mark.
//   - b stops, because it allows no more retries or no more time. Retry returns o's last error.
//   - b's context is done (see [WithContext]). A wait is cut short, and o is not called again. The error
//     matches ctx.Err(), context.Cause(ctx) and o's last error. If the context ended while o was running, it also
//     matches the error of the attempt before.
//   - The next wait would outlast the context's deadline. Retry does not sleep until the deadline, but returns
//     immediately. The error matches [context.DeadlineExceeded] and o's last error; ctx.Err() is still nil. The first wait
//     of a loop above zero begins all the same, unless a server has asked for one that long, with [RetryAfter].
//
// To match means by [errors.Is]; do not compare these errors with ==.
//
// If o succeeds, Retry returns nil even if the context has ended meanwhile. o may call b.Reset, for example
// after a connection that lasted a while: the waits, the count of retries and the elapsed time then start over.
func Retry(o Operation, b BackOff) error { return retry(o, b, nil, nil) }

// RetryWithData is like [Retry] and also returns the value of o's last call, even if that failed.
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, nil, nil)
}

// RetryNotify is like [Retry] and calls notify before each wait, for a log or a metric. A nil notify is not
// called.
func RetryNotify(o Operation, b BackOff, notify Notify) error { return retry(o, b, notify, nil) }

// RetryNotifyWithData is like [RetryNotify] and also returns a value, as [RetryWithData] does.
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, notify, nil)
}

// RetryNotifyWithTimer is like [RetryNotify], but waits on timer instead of real time, for example in
// tests. It starts timer for each wait, even a wait of zero, and stops it when the loop ends. A wait is not
// compared with the context's deadline, since the time of timer may not be real. A nil timer means real time.
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	if timer != nil {
		defer timer.Stop()
	}
	return retry(o, b, notify, timer)
}

// RetryNotifyWithTimerAndData is like [RetryNotifyWithTimer] and also returns a value, as [RetryWithData]
// does.
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	var data T
	err := RetryNotifyWithTimer(func() (err error) {
		data, err = o()
		return err
	}, b, notify, timer)
	return data, err
}
