package backoff

import "time"

// Operation is a function that may fail. A loop calls it until it returns nil, or until something
// ends the loop.
type Operation func() error

// OperationWithData is an [Operation] that also returns a value.
type OperationWithData[T any] func() (T, error)

// Notify is told of each retry before the wait for it: the error of the attempt that failed, and
// the wait that follows, which is the one really used. It is not called for an error that is not
// followed by a retry.
type Notify func(err error, wait time.Duration)

// Retry calls o until it succeeds, waiting between the calls as b says. It is shorthand for
// [RetryNotify] without a notify.
func Retry(o Operation, b BackOff) error {
	return retry(o, b, nil, nil)
}

// RetryWithData is [Retry] for an operation that returns a value.
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, nil, nil)
}

// RetryNotify is [Retry], and calls notify before each wait. It is shorthand for
// [RetryNotifyWithTimer] with a nil timer.
func RetryNotify(o Operation, b BackOff, notify Notify) error {
	return retry(o, b, notify, nil)
}

// RetryNotifyWithData is [RetryNotify] for an operation that returns a value.
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, notify, nil)
}

// RetryNotifyWithTimer resets b and calls o, once in any case. As long as o fails it asks b for a
// wait, calls notify with o's error and the wait, waits, and calls o again. It returns nil as soon
// as o succeeds. Otherwise it returns
//
//   - for an error marked by [Permanent], at once, that error without the mark. If the mark is
//     deeper in the error's tree, the error returned has the text of the whole tree and matches
//     whatever else is in it;
//   - when b returns a negative wait, the last error of o, unchanged;
//   - when b's context is done (see [WithContext]), an error that matches, with [errors.Is], the
//     context's Err, its [context.Cause] and o's last error. o is not called after the context is
//     done, save for the first call. A context that ends while o runs does not make a success a
//     failure;
//   - when the wait would last until b's context's deadline or longer, at once and without a call
//     of notify, an error that matches [context.DeadlineExceeded] and o's last error.
//
// A nil b means [NewExponentialBackOff], a nil notify none, and a nil timer the wall's time. A
// timer of the caller's is used for every wait, those of zero included; deadlines are then left
// to the context, as the timer's time need not be the wall's. A panic of o passes through, and
// timers are stopped.
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	if timer != nil {
		defer timer.Stop()
	}
	return retry(o, b, notify, timer)
}

// RetryNotifyWithTimerAndData is [RetryNotifyWithTimer] for an operation that returns a value. The
// value of o's last call is returned, also beside an error.
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	var data T
	err := RetryNotifyWithTimer(func() (err error) {
		data, err = o()
		return err
	}, b, notify, timer)
	return data, err
}

// retry makes the first attempt, which most often is the only one, and leaves the rest to keepTrying.
// Apart from that, an attempt that succeeds has no loop to pay for, which would take half as long
// again. The parameters do not escape, so that callers' closures need no heap.
func retry(o Operation, b BackOff, notify Notify, timer Timer) error {
	b = orDefault(b)
	b.Reset()
	err := o()
	observed := !deaf(b) && observe(b, err)
	if err == nil {
		return nil
	}
	l := loop{policy: b, timer: timer}
	return l.keepTrying(err, o, notify, observed)
}

// keepTrying is the one loop. It begins after an attempt that failed with err. observed says whether
// the policy has observers.
func (l *loop) keepTrying(err error, o Operation, notify Notify, observed bool) error {
	for err != nil {
		if err, ok := permanent(err); ok {
			return err
		}
		wait, ok := l.next(retryAfter(err))
		if !ok {
			return l.giveUp(err, wait)
		}
		if notify != nil {
			notify(err, wait)
		}
		if !l.wait(wait) {
			return l.giveUp(err, Stop)
		}
		if err = o(); observed {
			observe(l.policy, err)
		}
	}
	return nil
}
