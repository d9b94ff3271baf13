// Package backoff retries operations that may fail, and waits between the attempts.
//
//	err := backoff.Retry(operation, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
//
// A policy says how long to wait: it is a [BackOff]. A decorator such as [WithContext] or
// [WithMaxRetries] wraps a policy and is a policy. A loop drives a policy: [Retry] and its
// relatives, or a [Ticker].
//
// # Which call to use
//
//   - [Retry] runs a function until it succeeds.
//   - [RetryWithData] does the same for a function that also returns a value.
//   - [RetryNotify] and [RetryNotifyWithData] report each wait as well, for logs and metrics.
//   - [RetryNotifyWithTimer] and [RetryNotifyWithTimerAndData] wait on a [Timer] of yours.
//   - [NewTicker] delivers the attempts on a channel, for select loops.
//
// # Cancellation
//
// Give the policy a context with [WithContext]. From the moment the context is done the operation
// is not called again, and a wait is cut short. A wait that could not end before the context's
// deadline is not begun: the loop gives up at once. The first call is made in any case.
//
// # Errors
//
// A loop that the policy ends returns the operation's last error, unchanged. A loop that the
// context ends returns one error that [errors.Is] matches with the context's Err, with its
// [context.Cause] and with the operation's last error. [Permanent] marks an error that must not be
// retried; the mark is taken off before the error is returned.
//
// # Concurrency
//
// [ZeroBackOff], [StopBackOff] and [ConstantBackOff] may be shared by any number of goroutines.
// Every other policy and every decorator holds the state of one loop: make a new one for each
// running Retry or Ticker. Two loops that run one after the other may use the same value, since
// each loop begins with Reset.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. A decorator has one method more, Unwrap() BackOff,
// that returns what it wraps; through it the loops find a context anywhere below.
//
//	type logged struct{ backoff.BackOff }
//
//	func (l logged) NextBackOff() time.Duration {
//		wait := l.BackOff.NextBackOff()
//		log.Println("next wait:", wait)
//		return wait
//	}
//
//	func (l logged) Unwrap() backoff.BackOff { return l.BackOff }
package backoff

import "time"

// BackOff is a policy for the waits between attempts.
//
// A loop calls Reset once before the first attempt, then NextBackOff after each failed one, all
// from one goroutine.
type BackOff interface {
	// NextBackOff returns how long to wait before the next attempt. Zero means no wait. [Stop],
	// or any other negative value, means that there is to be no next attempt.
	NextBackOff() time.Duration

	// Reset returns the policy to its initial state.
	Reset()
}

// Stop is returned by NextBackOff to say that no more attempts should be made.
const Stop time.Duration = -1

// ZeroBackOff is a policy without waits: it retries at once, for ever. It is meant for tests and,
// under [WithMaxRetries], for operations that cost their server nothing.
//
// The zero value is ready to use, by any number of goroutines.
type ZeroBackOff struct{}

// Reset does nothing.
func (b *ZeroBackOff) Reset() {}

// NextBackOff returns 0.
func (b *ZeroBackOff) NextBackOff() time.Duration { return 0 }

// StopBackOff is a policy that never retries.
//
// The zero value is ready to use, by any number of goroutines.
type StopBackOff struct{}

// Reset does nothing.
func (b *StopBackOff) Reset() {}

// NextBackOff returns [Stop].
func (b *StopBackOff) NextBackOff() time.Duration { return Stop }

// ConstantBackOff is a policy whose waits are all the same.
//
// The zero value waits 0, like [ZeroBackOff]. Any number of goroutines may use one value, as long
// as none of them changes Interval.
type ConstantBackOff struct {
	// Interval is the wait. A negative Interval stops.
	Interval time.Duration
}

// NewConstantBackOff returns a policy that always waits d.
func NewConstantBackOff(d time.Duration) *ConstantBackOff {
	return &ConstantBackOff{Interval: d}
}

// Reset does nothing.
func (b *ConstantBackOff) Reset() {}

// NextBackOff returns Interval.
func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }

// orDefault is where a nil policy becomes the default one.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}
