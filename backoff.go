// Package backoff retries operations that may fail, and waits between the attempts.
//
//	err := backoff.Retry(operation, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
//
// A policy says how long to wait: it is a [BackOff]. A decorator ([WithContext], [WithMaxRetries],
// [WithRetryIf], [WithBudget]) wraps a policy and is a policy. A loop drives a policy: [Retry] and
// its relatives, [Attempts], or a [Ticker]. The package is a drop-in replacement for
// github.com/cenkalti/backoff/v4.
//
// # Which call to use
//
//   - [Retry] runs a function until it succeeds.
//   - [RetryWithData] does the same for a function that also returns a value.
//   - [RetryNotify] and [RetryNotifyWithData] report each wait as well, for logs and metrics.
//   - [RetryNotifyWithTimer] and [RetryNotifyWithTimerAndData] wait on a [Timer] of yours.
//   - [Attempts] is the loop as a range statement, without a callback.
//   - [NewTicker] delivers the attempts on a channel, for select loops.
//
// # Choosing a policy
//
// How many clients may fail at the same moment decides most of it:
//
//   - Few: the default, [NewExponentialBackOff].
//   - Many: [FullJitter], which spreads them over the whole interval.
//   - Very many: FullJitter, and one [Budget] for all that a process sends to the same service. It
//     bounds what retries add to the load of a service that is down.
//   - A wait that must not come out near zero: [EqualJitter].
//   - Background jobs that nobody waits for: [DecorrelatedJitter].
//   - A Google API: [AdditiveJitter] with an InitialInterval of 1 s, a Multiplier of 2 and a
//     MaxInterval of 32 s or 64 s, as Google's documentation asks.
//   - Polling, where nothing has failed: [ConstantBackOff] or [LinearBackOff].
//
// Then, what must not be retried. An error that will be the same next time is [Permanent], or is
// named by [WithRetryIf]; so is the error of an open circuit breaker, which has been put there to
// keep calls away. An operation that may have taken effect although it failed is safe to repeat
// only if it is idempotent, by its nature or by an idempotency key. And retry at one layer only:
// three layers that make four attempts each make 64 calls.
//
// # Cancellation
//
// Give the policy a context with [WithContext]. From the moment the context is done the operation
// is not called again, and a wait is cut short. A wait that could not end before the context's
// deadline is not begun: the loop gives up at once. The first call is made in any case. The
// operation is not interrupted; hand it the same context.
//
// # Errors
//
// A loop that the policy ends returns the operation's last error, unchanged. A loop that the
// context ends returns one error that [errors.Is] matches with the context's Err, with its
// [context.Cause] and with the operation's last error. [Permanent] marks an error that must not be
// retried; the mark is taken off before the error is returned. [RetryAfter] has an error ask for a
// wait; the one it wraps stays within reach.
//
// # Concurrency
//
// [ZeroBackOff], [StopBackOff], [ConstantBackOff] and [Budget] may be shared by any number of
// goroutines. Every other policy and every decorator holds the state of one loop: make a new one
// for each running loop. Two loops that run one after the other may use the same value, since each
// loop begins with Reset. The only goroutine that the package starts is a Ticker's.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. A policy that wants to know how the attempts end, to
// adapt to them, implements [BackOffObserver] as well. A decorator has the method
// Unwrap() BackOff, which returns what it wraps; through it the loops find contexts and observers
// anywhere below. (A decorator that changes a wait may change one that a server has asked for with
// it; the loops raise what is too short, and leave what is too long.)
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

import (
	"math"
	"time"
)

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

// LinearBackOff is a policy whose n-th wait is n × Interval.
//
// The zero value waits 0, like [ZeroBackOff]. It holds the state of one loop at a time.
type LinearBackOff struct {
	// Interval is the first wait, and what each further one adds to it. A negative Interval stops.
	Interval time.Duration

	// MaxInterval caps the wait. Zero or less means no cap but the longest that a Duration can be.
	MaxInterval time.Duration

	last time.Duration
}

// NewLinearBackOff returns a policy that waits d, 2d, 3d and so on, without a cap.
func NewLinearBackOff(d time.Duration) *LinearBackOff {
	return &LinearBackOff{Interval: d}
}

// Reset makes the next wait the first one again.
func (b *LinearBackOff) Reset() { b.last = 0 }

// NextBackOff returns a wait that is longer by Interval than the last one, up to MaxInterval.
func (b *LinearBackOff) NextBackOff() time.Duration {
	if b.Interval < 0 {
		return Stop
	}
	limit := b.MaxInterval
	if limit <= 0 {
		limit = math.MaxInt64
	}
	if b.last > limit-b.Interval { // the sum might be more than a Duration can be
		b.last = limit
	} else {
		b.last += b.Interval
	}
	return b.last
}

// orDefault is where a nil policy becomes the default one.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}
