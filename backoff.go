// Package backoff retries operations that may fail, with waits between the attempts.
//
//	policy := backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
//	err := backoff.Retry(operation, policy)
//
// A policy, a [BackOff], says how long to wait. A decorator ([WithContext], [WithMaxRetries],
// [WithRetryIf], [WithBudget], [WithStopCause]) wraps a policy and is a policy. A loop drives a
// policy: the [Retry] functions, [Attempts], or a [Ticker]. The package is a drop-in replacement for
// github.com/cenkalti/backoff/v4.
//
// # Which call to use
//
//   - [Retry] runs a function until it succeeds.
//   - [RetryWithData] does the same for a function that also returns a value.
//   - [RetryNotify] and [RetryNotifyWithData] report each wait as well, for logs and metrics.
//   - [RetryNotifyWithTimer] and [RetryNotifyWithTimerAndData] wait on a [Timer] that you provide.
//   - [Attempts] is the loop as a range statement, without a callback.
//   - [NewTicker] delivers the attempts on a channel, for select loops.
//
// # Choosing a policy
//
// This advice rests on simulations by the program examples/herd. Below it are their results, except
// those of the scenario retry-after, on which the last point rests:
//
//   - The default, [NewExponentialBackOff] with its [ProportionalJitter], makes the fewest calls in
//     contention, and loses the fewest operations in the outage (none with its 15 minutes).
//   - [DecorrelatedJitter] and [FullJitter] are faster in contention. But FullJitter waits half as
//     long on average, and puts the highest load of all jitters on a service that is down.
//   - Without jitter, contention takes ten times as long. [AdditiveJitter] is nearly as bad.
//   - Where an overload can bring a service down, share one [Budget] among all loops that call it.
//     After the blip, three retries of any kind keep the service down; waits and jitter do not help,
//     and a budget does.
//   - In a total outage a budget takes the load off, but it saves no operation: as many are lost as
//     without retries.
//   - If servers ask for a wait by [RetryAfter], make InitialInterval about as long: the waits are
//     spread over an interval.
//
// Contention: a hundred clients update one row of a database until each has succeeded; the calls of
// all clients, and the time until the last is done. Outage: a service with 100,000 clients is down
// for a minute, and clients give up after two minutes; the load on it meanwhile, in multiples of
// the usual one, and the operations lost. Blip: a service at 80 % of its capacity loses all of it
// for ten seconds, and each operation has three retries; the operations that succeed five minutes
// later.
//
//	                           contention          outage       blip
//	                        calls    time    load    lost    succeed
//	no retries                100       –    1.2×  22.5 %      100 %
//	ZeroBackOff              2424   2.0 s   11.5×  22.3 %        0 %
//	NoJitter                 1846  63.2 s   10.0×   8.5 %        0 %
//	ProportionalJitter        732   6.4 s   10.0×   6.9 %        0 %
//	FullJitter                796   5.0 s   11.9×   8.0 %        0 %
//	EqualJitter               813   6.7 s   10.7×   7.1 %        0 %
//	DecorrelatedJitter       1002   4.6 s    9.6×   7.4 %        0 %
//	AdditiveJitter           1650  54.4 s    9.7×   8.5 %        0 %
//	FullJitter and a Budget     –       –    2.8×  22.5 %      100 %
//
// Then decide what not to retry. Mark an error that will not go away as [Permanent], or exclude it
// with [WithRetryIf]; that includes an open circuit breaker's error. Retry an operation that may have
// taken effect only if it is idempotent, by nature or by an idempotency key. And retry at one layer
// only: three layers that make four attempts each make 64 calls.
//
// # Cancellation
//
// Give the policy a context with [WithContext]. Once the context is done, a wait is cut short and the
// operation is not called again; only the first call is always made. [Retry] and [Attempts] also
// refuse a wait that would outlast the context's deadline: they give up at once. The first wait is an
// exception, see Retry. A [Ticker] refuses no wait. A running operation is not interrupted: pass it
// the same context.
//
// # Errors
//
// If the policy ends the loop, the operation's last error is returned unchanged. If the context does,
// the error matches, by [errors.Is], the context's Err, its [context.Cause] and the operation's last
// error. [Permanent] marks an error that must not be retried; the mark is removed before the error is
// returned. [RetryAfter] makes an error ask for a minimum wait. [WithStopCause] adds to the error
// which limit was reached.
//
// # Concurrency
//
// [ZeroBackOff], [StopBackOff], [ConstantBackOff] and [Budget] are safe for concurrent use. Every
// other policy and every decorator holds the state of one loop; give each running loop its own.
// Consecutive loops may reuse one, since each begins with Reset. Only a Ticker starts a goroutine.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. A policy that adapts to the outcome of attempts also
// implements [BackOffObserver]. A decorator should have a method Unwrap() BackOff that returns what it
// wraps; loops use it to find contexts and observers. Without it, the end of a context below is
// noticed only after the wait; observers, budgets and stop causes below are not told what happens;
// and an [ExponentialBackOff] below does not know that a loop calls it (see its Stop). If a
// decorator makes a wait shorter than a [RetryAfter] asks for, the loop raises it again.
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
// A loop calls Reset before the first attempt and NextBackOff before each retry, never concurrently.
type BackOff interface {
	// NextBackOff returns how long to wait before the next attempt. Zero means no wait.
	// Stop, like any other negative value, means: do not retry.
	NextBackOff() time.Duration

	// Reset returns the policy to its initial state.
	Reset()
}

// Stop is returned by NextBackOff and means: do not retry.
const Stop time.Duration = -1

// ZeroBackOff is a policy without waits: it retries immediately, forever. It is meant for tests and,
// with [WithMaxRetries], for operations that are cheap to repeat.
//
// The zero value is ready to use. A ZeroBackOff is safe for concurrent use.
type ZeroBackOff struct{}

// Reset does nothing.
func (b *ZeroBackOff) Reset() {}

// NextBackOff returns 0.
func (b *ZeroBackOff) NextBackOff() time.Duration { return 0 }

// StopBackOff is a policy that never retries.
//
// The zero value is ready to use. A StopBackOff is safe for concurrent use.
type StopBackOff struct{}

// Reset does nothing.
func (b *StopBackOff) Reset() {}

// NextBackOff returns [Stop].
func (b *StopBackOff) NextBackOff() time.Duration { return Stop }

// ConstantBackOff is a policy whose waits are all the same.
//
// The zero value waits 0, like [ZeroBackOff]. A ConstantBackOff is safe for concurrent use as long as
// Interval does not change.
type ConstantBackOff struct {
	// Interval is the wait. A negative value means: do not retry.
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
// The zero value waits 0, like [ZeroBackOff]. A LinearBackOff holds the state of one loop.
type LinearBackOff struct {
	// Interval is the first wait and the step to each next one. A negative value means: do not
	// retry.
	Interval time.Duration

	// MaxInterval caps the wait. Zero or negative means no cap.
	MaxInterval time.Duration

	last time.Duration
}

// NewLinearBackOff returns a policy that waits d, 2d, 3d and so on, without a cap.
func NewLinearBackOff(d time.Duration) *LinearBackOff {
	return &LinearBackOff{Interval: d}
}

// Reset starts the sequence over.
func (b *LinearBackOff) Reset() { b.last = 0 }

// NextBackOff returns the previous wait plus Interval, up to MaxInterval.
func (b *LinearBackOff) NextBackOff() time.Duration {
	if b.Interval < 0 {
		return Stop
	}
	limit := b.MaxInterval
	if limit <= 0 {
		limit = math.MaxInt64
	}
	if b.last > limit-b.Interval { // the sum could overflow
		b.last = limit
	} else {
		b.last += b.Interval
	}
	return b.last
}

// orDefault returns b, or the default policy if b is nil.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}
