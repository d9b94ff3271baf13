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
// to wait before the next call.
//
// It returns nil once o succeeds, even if b's context has ended meanwhile. Otherwise it gives up as
// soon as one of these happens:
//
//   - o's error is marked by [Permanent]. It is returned without the mark. If the mark is deeper in
//     the error's tree, the result has the text of the whole error and matches everything in it but
//     the mark, so that an enclosing Retry goes on. If there are several marks, all are removed.
//   - b returns a negative wait, such as [Stop]. o's last error is returned unchanged, unless b has a
//     reason to add: see [WithStopCause] and [WithBudget].
//   - b's context is done (see [WithContext]). o is not called again, and a wait is cut short. The
//     error matches the context's Err, its [context.Cause] (less a mark by Permanent) and o's last
//     error. Its methods Timeout and Temporary answer as those of the context's own error. If the
//     three are the same value, that value is returned.
//   - The wait would outlast the deadline of b's context. The error matches
//     [context.DeadlineExceeded] and o's last error; the context itself is not done then. The first
//     wait above zero is begun nonetheless: a caller that calls Retry again while its context lives
//     could otherwise do so without a pause. But if a server asked for a wait that long (see
//     [RetryAfter]), the first is refused too; look at the error before you call Retry again.
//
// o may call Reset on b, or on the outermost decorator around it: the intervals, the number of
// retries and the elapsed time start over. An operation that keeps a connection open does so if the
// connection lasted for a while.
//
// A nil b means [NewExponentialBackOff]. If o panics, the panic passes through; nothing is left
// running. b must not be used by two loops at once.
func Retry(o Operation, b BackOff) error {
	return retry(o, b, nil, nil)
}

// RetryWithData is like [Retry] and returns the value of o's last call, even with an error.
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, nil, nil)
}

// RetryNotify is like [Retry] and calls notify before each wait. A nil notify is not called.
func RetryNotify(o Operation, b BackOff, notify Notify) error {
	return retry(o, b, notify, nil)
}

// RetryNotifyWithData is like [RetryNotify] and returns the value of o's last call, even with an
// error.
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, notify, nil)
}

// RetryNotifyWithTimer is like [RetryNotify] and waits on timer. A custom timer is used for every
// wait, even a zero one, and is stopped when the loop ends, whichever way. It turns off the deadline
// check, since its time may not be real. A nil timer means the default one.
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	if timer != nil {
		defer timer.Stop()
	}
	return retry(o, b, notify, timer)
}

// RetryNotifyWithTimerAndData is like [RetryNotifyWithTimer] and returns the value of o's last call,
// even with an error.
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	var data T
	err := RetryNotifyWithTimer(func() (err error) {
		data, err = o()
		return err
	}, b, notify, timer)
	return data, err
}

// retry is the loop. The first attempt stands before it, since most often it is the only one.
func retry(o Operation, b BackOff, notify Notify, timer Timer) error {
	b = orDefault(b)
	b.Reset()
	err := o()
	observe(b, err)
	if err == nil {
		return nil
	}
	l := loop{policy: b, timer: timer}
	for err != nil {
		wait, stop := l.next(err)
		if stop != nil {
			return stop
		}
		if notify != nil {
			notify(err, wait)
		}
		if stop := l.wait(wait, err); stop != nil {
			return stop
		}
		err = o()
		observe(b, err)
	}
	return nil
}
