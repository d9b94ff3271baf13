// Package backoff retries operations that may fail, with waits between the attempts.
//
//	policy := backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
//	err := backoff.Retry(operation, policy)
//
// A policy, a [BackOff], says how long to wait. A decorator wraps a policy and is a policy. A loop
// drives a policy. The package is a drop-in replacement for github.com/cenkalti/backoff/v4.
//
// # Which call to use
//
//   - [Retry] calls a function until it succeeds; [RetryWithData] also returns its value.
//   - [RetryNotify] and [RetryNotifyWithData] report each wait as well, for logs and metrics.
//   - [RetryNotifyWithTimer] and [RetryNotifyWithTimerAndData] wait on a [Timer] that you provide.
//   - [Attempts] is the loop as a range statement, without a callback.
//   - [NewTicker] delivers the attempts on a channel, for select loops.
//
// [WithContext], [WithMaxRetries], [WithRetryIf] and [WithBudget] set limits. [WithBudgetWait] makes
// retries wait their turn. [WithStopCause] adds an error that says which limit was hit.
//
// # Choosing a policy
//
// Where somebody waits for the result, make two or three retries with a deadline and a shared [Budget].
// Give work that can wait a context, but no limit of time. Before a service that works through abandoned
// requests, or that does not refuse cheaply, also use [WithBudgetWait]. Keep some jitter wherever many
// clients can fail at the same moment. Retry at one layer only. The page docs/choosing.md has the figures.
//
// # Cancellation
//
// Give the policy a context with [WithContext]. Once the context is done, a wait is cut short and the
// operation is not called again; the first call is made even if the context is already done. A wait
// that would outlast the context's deadline is refused; see [Retry] for the first wait. A running
// operation is not interrupted: pass it the same context.
//
// # Errors
//
// A loop that gives up returns the operation's last error, or one that matches it, by [errors.Is], and
// also says what ended the loop; see [Retry]. [Permanent] marks an error that must not be retried.
// [RetryAfter] makes an error ask for a minimum wait.
//
// # Concurrency
//
// [ZeroBackOff], [StopBackOff], [ConstantBackOff] and [Budget] are safe for concurrent use. Every
// other policy and every decorator holds the state of one loop; give each running loop its own.
// Consecutive loops may reuse one, since each starts with Reset. Only a Ticker starts a goroutine.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. If it adapts to the outcome of attempts, it also
// implements [BackOffObserver]. A decorator embeds a policy and should have a method Unwrap() BackOff
// that always returns it; the outermost 1,000 policies are looked at. Without Unwrap, the end of a
// context below is noticed only after the wait and one more call, and the error does not match the
// context's. Observers, WithRetryIf and budgets below do not see the outcomes, the error names no budget
// and no stop cause, and an [ExponentialBackOff] neither spreads nor limits the wait that a
// [RetryAfterError] asks for (see also its Stop). BackOff has examples of both.
package backoff

import (
	"math"
	"time"
)

// BackOff is a policy for the waits between attempts. A loop calls Reset before the first attempt and
// NextBackOff before each retry, never concurrently. Unless its documentation says otherwise, a BackOff
// holds the state of one loop and is not safe for concurrent use. Where this package takes a BackOff, nil
// means [NewExponentialBackOff].
type BackOff interface {
	// NextBackOff returns how long to wait before the next attempt. Zero means no wait; Stop, like
	// any other negative value, means: do not retry.
	NextBackOff() time.Duration

	// Reset returns the policy to its initial state.
	Reset()
}

// Stop is returned by NextBackOff and means: do not retry.
const Stop time.Duration = -1

// ZeroBackOff is a policy without waits: it retries immediately, forever. Limit it, for example with
// [WithMaxRetries]. It is safe for concurrent use.
type ZeroBackOff struct{}

// Reset does nothing.
func (b *ZeroBackOff) Reset() {}

// NextBackOff returns 0.
func (b *ZeroBackOff) NextBackOff() time.Duration { return 0 }

// StopBackOff is a policy that never retries. It is safe for concurrent use.
type StopBackOff struct{}

// Reset does nothing.
func (b *StopBackOff) Reset() {}

// NextBackOff returns [Stop].
func (b *StopBackOff) NextBackOff() time.Duration { return Stop }

// ConstantBackOff is a policy whose waits are all the same. The zero value waits 0, like [ZeroBackOff].
// A ConstantBackOff is safe for concurrent use as long as Interval does not change.
type ConstantBackOff struct {
	// Interval is the wait. If negative, there are no retries.
	Interval time.Duration
}

// NewConstantBackOff returns a policy that always waits d.
func NewConstantBackOff(d time.Duration) *ConstantBackOff { return &ConstantBackOff{Interval: d} }

// Reset does nothing.
func (b *ConstantBackOff) Reset() {}

// NextBackOff returns Interval.
func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }

// LinearBackOff is a policy whose n-th wait is n × Interval. The zero value waits 0, like [ZeroBackOff].
// A LinearBackOff holds the state of one loop; it is not safe for concurrent use.
type LinearBackOff struct {
	// Interval is the first wait, and what each next one adds. If negative, there are no retries.
	Interval time.Duration

	// MaxInterval caps the wait. Zero or negative means no cap.
	MaxInterval time.Duration

	last time.Duration
}

// NewLinearBackOff returns a policy that waits d, 2d, 3d and so on, without a cap.
func NewLinearBackOff(d time.Duration) *LinearBackOff { return &LinearBackOff{Interval: d} }

// Reset starts the sequence over.
func (b *LinearBackOff) Reset() { b.last = 0 }

// NextBackOff returns the previous wait plus Interval, up to MaxInterval.
func (b *LinearBackOff) NextBackOff() time.Duration {
	if b.Interval < 0 {
		return Stop
	}
	longest := b.MaxInterval
	if longest <= 0 {
		longest = math.MaxInt64
	}
	b.last += min(b.Interval, longest-b.last)
	return b.last
}
