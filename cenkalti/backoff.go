// Package backoff gives the names of github.com/cenkalti/backoff/v4 v4.3.0 to the types and
// functions of [example.com/backoff]. A replace line in the main module's go.mod points the old path
// here, and then code that imports either path shares one set of types: an error marked by
// [Permanent] under one name ends a loop that runs under the other.
//
// It has the names of v4.3.0 and no others. New code should import [example.com/backoff], which
// documents each of them in full and has more.
package backoff

import (
	"context"
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

// Permanent calls [backoff.Permanent].
func Permanent(err error) error { return backoff.Permanent(err) }

// Retry calls [backoff.Retry].
func Retry(o Operation, b BackOff) error { return backoff.Retry(o, b) }

// RetryWithData calls [backoff.RetryWithData].
func RetryWithData[T any](o OperationWithData[T], b BackOff) (T, error) {
	return backoff.RetryWithData(backoff.OperationWithData[T](o), b)
}

// RetryNotify calls [backoff.RetryNotify].
func RetryNotify(o Operation, b BackOff, notify Notify) error {
	return backoff.RetryNotify(o, b, notify)
}

// RetryNotifyWithData calls [backoff.RetryNotifyWithData].
func RetryNotifyWithData[T any](o OperationWithData[T], b BackOff, notify Notify) (T, error) {
	return backoff.RetryNotifyWithData(backoff.OperationWithData[T](o), b, notify)
}

// RetryNotifyWithTimer calls [backoff.RetryNotifyWithTimer].
func RetryNotifyWithTimer(o Operation, b BackOff, notify Notify, timer Timer) error {
	return backoff.RetryNotifyWithTimer(o, b, notify, timer)
}

// RetryNotifyWithTimerAndData calls [backoff.RetryNotifyWithTimerAndData].
func RetryNotifyWithTimerAndData[T any](o OperationWithData[T], b BackOff, notify Notify, timer Timer) (T, error) {
	return backoff.RetryNotifyWithTimerAndData(backoff.OperationWithData[T](o), b, notify, timer)
}

// NewTicker calls [backoff.NewTicker].
func NewTicker(b BackOff) *Ticker { return backoff.NewTicker(b) }

// NewTickerWithTimer calls [backoff.NewTickerWithTimer].
func NewTickerWithTimer(b BackOff, timer Timer) *Ticker { return backoff.NewTickerWithTimer(b, timer) }
