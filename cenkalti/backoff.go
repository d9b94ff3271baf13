// Package backoff gives the names of github.com/cenkalti/backoff/v4 v4.3.0 to the types and
// functions of [example.com/backoff]. A replace line in the main module's go.mod points the old path
// here, and then code that imports either path shares one set of types: an error marked by
// [Permanent] under one name ends a loop that runs under the other.
//
// It has the names of v4.3.0 and no others. The code that imports them was written for v4, so the loops
// return what those of v4.3.0 return: see [Retry]. The page docs/migrating.md lists what is different all
// the same. New code should import [example.com/backoff], which documents each name in full and has more.
package backoff

import (
	"context"
	"errors"
	"time"

	"example.com/backoff"
)

// Stop is [backoff.Stop], the wait that means: do not retry.
const Stop = backoff.Stop

// Defaults for the fields of [ExponentialBackOff].
const (
	DefaultInitialInterval     = backoff.DefaultInitialInterval
	DefaultRandomizationFactor = backoff.DefaultRandomizationFactor
	DefaultMultiplier          = backoff.DefaultMultiplier
	DefaultMaxInterval         = backoff.DefaultMaxInterval
	DefaultMaxElapsedTime      = backoff.DefaultMaxElapsedTime
)

// SystemClock is [backoff.SystemClock], the [Clock] that reads time.Now.
var SystemClock = backoff.SystemClock

// BackOff is [backoff.BackOff], a policy that says how long to wait between attempts.
type BackOff = backoff.BackOff

// BackOffContext is [backoff.BackOffContext], a policy with a context that ends the loop.
type BackOffContext = backoff.BackOffContext

// Clock is [backoff.Clock], a source of the current time.
type Clock = backoff.Clock

// ConstantBackOff is [backoff.ConstantBackOff], a policy whose waits are all the same.
type ConstantBackOff = backoff.ConstantBackOff

// ExponentialBackOff is [backoff.ExponentialBackOff], a policy whose waits grow by a factor.
type ExponentialBackOff = backoff.ExponentialBackOff

// ExponentialBackOffOpts is [backoff.ExponentialBackOffOpts], an option of [NewExponentialBackOff].
type ExponentialBackOffOpts = backoff.ExponentialBackOffOpts

// Notify is [backoff.Notify], a function that is called before each wait.
type Notify = backoff.Notify

// Operation is [backoff.Operation], a function to retry.
type Operation = backoff.Operation

// OperationWithData is a function to retry that also returns a value. It is a type of its own, as
// Go 1.23 has no generic aliases. A function literal can be passed under either name, but a
// variable of this type must be converted to [backoff.OperationWithData] for
// [backoff.RetryWithData].
type OperationWithData[T any] func() (T, error)

// PermanentError is [backoff.PermanentError], which marks an error that must not be retried.
type PermanentError = backoff.PermanentError

// StopBackOff is [backoff.StopBackOff], a policy that never retries.
type StopBackOff = backoff.StopBackOff

// Ticker is [backoff.Ticker], which sends a tick on a channel for each attempt.
type Ticker = backoff.Ticker

// Timer is [backoff.Timer], which a loop can wait with in place of a timer of package time.
type Timer = backoff.Timer

// ZeroBackOff is [backoff.ZeroBackOff], a policy that retries without waiting.
type ZeroBackOff = backoff.ZeroBackOff

// NewConstantBackOff calls [backoff.NewConstantBackOff].
func NewConstantBackOff(d time.Duration) *ConstantBackOff { return backoff.NewConstantBackOff(d) }

// NewExponentialBackOff calls [backoff.NewExponentialBackOff].
func NewExponentialBackOff(opts ...ExponentialBackOffOpts) *ExponentialBackOff {
	return backoff.NewExponentialBackOff(opts...)
}

// WithInitialInterval calls [backoff.WithInitialInterval].
func WithInitialInterval(d time.Duration) ExponentialBackOffOpts {
	return backoff.WithInitialInterval(d)
}

// WithRandomizationFactor calls [backoff.WithRandomizationFactor].
func WithRandomizationFactor(factor float64) ExponentialBackOffOpts {
	return backoff.WithRandomizationFactor(factor)
}

// WithMultiplier calls [backoff.WithMultiplier].
func WithMultiplier(multiplier float64) ExponentialBackOffOpts {
	return backoff.WithMultiplier(multiplier)
}

// WithMaxInterval calls [backoff.WithMaxInterval].
func WithMaxInterval(d time.Duration) ExponentialBackOffOpts { return backoff.WithMaxInterval(d) }

// WithMaxElapsedTime calls [backoff.WithMaxElapsedTime].
func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts {
	return backoff.WithMaxElapsedTime(d)
}

// WithRetryStopDuration calls [backoff.WithRetryStopDuration].
func WithRetryStopDuration(d time.Duration) ExponentialBackOffOpts {
	return backoff.WithRetryStopDuration(d)
}

// WithClockProvider calls [backoff.WithClockProvider].
func WithClockProvider(clock Clock) ExponentialBackOffOpts { return backoff.WithClockProvider(clock) }

// WithContext calls [backoff.WithContext].
func WithContext(b BackOff, ctx context.Context) BackOffContext { return backoff.WithContext(b, ctx) }

// WithMaxRetries calls [backoff.WithMaxRetries].
func WithMaxRetries(b BackOff, max uint64) BackOff { return backoff.WithMaxRetries(b, max) }

// Permanent marks err as an error that must not be retried. A nil err gives nil. Unlike
// [backoff.Permanent] it marks what is marked already once more, as in v4: a loop takes one mark off,
// and the next one ends the loop around it.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// Retry calls o until it succeeds or b stops, like [backoff.Retry], but it returns what v4.3.0 returns:
//
//   - nil, if o succeeded.
//   - The Err of the [PermanentError] that [errors.As] finds in o's last error. It may be nil.
//   - ctx.Err() and nothing else, if the context of b has ended.
//   - o's last error otherwise.
//
// A wait that will outlast the context's deadline is not refused, but cut short when the deadline has passed.
func Retry(o Operation, b BackOff) error { return RetryNotifyWithTimer(o, b, nil, nil) }

// RetryWithData is like [Retry] and also returns the value of o's last call, even if that failed.
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, nil, nil)
}

// RetryNotify is like [Retry] and calls notify before each wait. A nil notify is not called.
func RetryNotify(o Operation, b BackOff, notify Notify) error {
	return RetryNotifyWithTimer(o, b, notify, nil)
}

// RetryNotifyWithData is like [RetryNotify] and also returns a value, as [RetryWithData] does.
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return RetryNotifyWithTimerAndData(o, b, notify, nil)
}

// RetryNotifyWithTimer is like [RetryNotify], but waits on timer. A nil timer means real time. A timer
// whose channel is nil ends the loop with o's last error.
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	_, err := RetryNotifyWithTimerAndData(func() (struct{}, error) { return struct{}{}, o() }, b, notify, timer)
	return err
}

// RetryNotifyWithTimerAndData is like [RetryNotifyWithTimer] and also returns a value, as
// [RetryWithData] does.
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	if timer == nil {
		timer = new(systemTimer)
	}
	var data T
	var last error
	err := backoff.RetryNotifyWithTimer(func() error {
		data, last = o()
		return last
	}, b, notify, timer)
	if err != nil {
		err = result(last, b)
	}
	return data, err
}

// result returns the error of a loop over b that has given up after last.
func result(last error, b BackOff) error {
	var mark *PermanentError
	if errors.As(last, &mark) && mark != nil {
		return mark.Err
	}
	err := contextOf(b).Err()
	if err != nil {
		return err
	}
	return last
}

// contextOf returns the context that a loop over b goes by: the outermost one in b, or the background.
func contextOf(b BackOff) context.Context {
	for b != nil {
		if c, ok := b.(BackOffContext); ok {
			return c.Context()
		}
		d, ok := b.(interface{ Unwrap() BackOff })
		if !ok {
			break
		}
		b = d.Unwrap()
	}
	return context.Background()
}

// systemTimer is a [Timer] of real time. With one, a loop does not compare its waits with the deadline.
type systemTimer struct{ timer *time.Timer }

func (t *systemTimer) Start(d time.Duration) {
	if t.timer == nil {
		t.timer = time.NewTimer(d)
		return
	}
	t.timer.Reset(d)
}

func (t *systemTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *systemTimer) C() <-chan time.Time { return t.timer.C }

// NewTicker calls [backoff.NewTicker].
func NewTicker(b BackOff) *Ticker { return backoff.NewTicker(b) }

// NewTickerWithTimer calls [backoff.NewTickerWithTimer].
func NewTickerWithTimer(b BackOff, timer Timer) *Ticker { return backoff.NewTickerWithTimer(b, timer) }
