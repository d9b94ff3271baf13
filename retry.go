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
//   - o's error is marked by [Permanent]. It is returned without the mark. If the mark is deeper in
//     the error's tree, the result has the text of the whole and matches everything in it but the
//     mark, so that an outer Retry goes on.
//   - b returns a negative wait, such as [Stop]. o's last error is returned unchanged, unless
//     [WithStopCause], [WithBudget] or [WithBudgetWait] adds a reason.
//   - b's context is done (see [WithContext]). o is not called again, and a wait is cut short. The
//     error matches the context's Err, its [context.Cause] (without a mark by Permanent) and o's last
//     error, or is Err itself if all three are equal. Its Timeout answers as Err's does, and
//     [errors.As] with an interface type looks at Err and the cause alone, not at o's error.
//   - The wait would outlast the deadline of b's context. The error matches
//     [context.DeadlineExceeded] and o's last error; the context itself is not done then. The first
//     wait above zero still happens, so that calling Retry repeatedly while the context lives does
//     not spin, unless a server asked for a wait that long (see [RetryAfter]).
//
// o may call b.Reset, for example after a connection that lasted for a while: the intervals, the number
// of retries and the elapsed time start over.
//
// A nil b means [NewExponentialBackOff]. A panic in o passes through. No two loops may use b at once,
// unless b is safe for concurrent use.
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

// retry is the loop. The first attempt stands before it: most often there is no other.
func retry(o Operation, b BackOff, notify Notify, timer Timer) error {
	b = orDefault(b)
	b.Reset()
	err := o()
	if err == nil {
		observe(b, nil)
		return nil
	}
	l := loop{notify: notify, timer: timer}
	l.start(b)
	defer l.end()
	for err != nil {
		observe(b, err)
		if err := l.next(err); err != nil {
			return err
		}
		err = o()
	}
	observe(b, nil)
	return nil
}
