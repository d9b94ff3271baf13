// Package backoff calls an operation again when it fails, and waits longer before each new attempt.
//
//	var users = backoff.Retrier{ // shared by all calls to the service
//		AttemptTimeout: 2 * time.Second,
//		Slots:          new(backoff.Slots),  // in trouble, limits the calls in progress
//		Budget:         new(backoff.Budget), // limits the retries of all calls
//	}
//
//	err := users.Do(ctx, func(ctx context.Context) error {
//		return db.PingContext(ctx)
//	})
//
// That makes at most four attempts of two seconds each. It waits about 0.5 s after the first failure, and 1.5
// times as long after each further one. It gives up earlier if ctx ends, or if the next attempt would come too late.
//
// The package is a drop-in replacement for github.com/cenkalti/backoff/v4.
//
// # Services
//
// A [Retrier] is for calls to a service: [Retrier.Do], or [DoWithData] for a function that returns a value. It puts the
// parts together in the right order: the timeout of an attempt, the [Slots], the waits, the number of retries, and the
// [Budget] that pays for them. With slots, retries do not keep a service down that has got into trouble; how many calls
// it can take then, the slots find out by themselves. A program that makes few calls, such as a command or a cron job,
// needs neither slots nor a budget.
//
// The packages httpretry, sqlretry and grpcretry do the same for HTTP clients, SQL transactions and gRPC clients.
//
// # Policies and loops
//
// Below it are policies, decorators and loops, for everything else:
//
//	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
//
//	err := backoff.Retry(operation, backoff.WithContext(policy, ctx))
//
// A policy says how long to wait: [ExponentialBackOff], [LinearBackOff], [ConstantBackOff], [ZeroBackOff] and
// [StopBackOff] are those of this package. A decorator wraps a policy and adds a limit: [WithContext] or
// [WithMaxRetries], in any order. A loop makes the attempts:
//
//   - [Retry] calls a function until it succeeds; [RetryWithData] also returns the function's value.
//   - [RetryNotify] and [RetryNotifyWithData] call another function before each wait, to log it.
//   - [Attempts] is the same loop as a range statement.
//   - [NewTicker] sends a tick for each attempt on a channel, for select loops.
//
// Retry in one layer only: three layers that each make three retries turn one request into 64. Mark what will
// fail again with [Permanent]. Retry only what may be done twice.
//
// The page docs/choosing.md has the code for each kind of program.
//
// # Cancellation
//
// When the context of Do, or the one given to [WithContext], is done, a wait is cut short and no further attempt
// is made. A running attempt is not interrupted: the operation must use the context. With [Retry] and [Attempts],
// give each attempt a timeout of its own.
//
// # Errors
//
// A loop that gives up returns the error of the last attempt. If a context ended the loop, the error matches that
// too, by [errors.Is]; see [Retry]. The error of [Retrier.Do] also tells whether no retries were left, the budget
// was empty, or there was no slot. [Permanent] marks an error that must not be retried. [RetryAfter] makes an error
// ask for a minimum wait.
//
// # Concurrency
//
// Share a [Retrier]. Make a new policy, with its decorators, for each call: a policy remembers how far a loop has
// got, so it must not be used by two loops at once. Loops that run one after the other may share one, since
// each loop starts with Reset. [Slots], [Budget], [ZeroBackOff], [StopBackOff] and [ConstantBackOff] are safe for
// concurrent use. Only a [Ticker] starts a goroutine.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. A decorator embeds a BackOff and has a method that returns it:
//
//	func (b myDecorator) Unwrap() BackOff { return b.BackOff }
//
// Through this method a loop finds the contexts further in. A decorator without it works, but around
// [WithContext] it hides the context: the loop then notices a cancellation only after the wait.
package backoff

import (
	"math"
	"time"
)

// BackOff is a policy: it says how long to wait before each retry. Where this package takes a BackOff, nil
// means [NewExponentialBackOff].
//
// A loop calls Reset before the first attempt and NextBackOff before each retry, never concurrently. A
// BackOff usually holds the state of one loop, and must then not be used by two loops at once.
type BackOff interface {
	// NextBackOff returns how long to wait before the next attempt. Zero means no wait. Stop, or any
	// other negative value, means that there is no next attempt.
	NextBackOff() time.Duration

	// Reset returns the policy to its initial state.
	Reset()
}

// Stop is what NextBackOff returns to say that there is no next attempt.
const Stop time.Duration = -1

// ZeroBackOff is a policy without waits: it retries immediately, forever. Use it in tests, and limit it with
// [WithMaxRetries]. A ZeroBackOff is safe for concurrent use.
type ZeroBackOff struct{}

// Reset does nothing.
func (b *ZeroBackOff) Reset() {}

// NextBackOff returns 0.
func (b *ZeroBackOff) NextBackOff() time.Duration { return 0 }

// StopBackOff is a policy that never retries. Use it to turn retries off. A StopBackOff is safe for
// concurrent use.
type StopBackOff struct{}

// Reset does nothing.
func (b *StopBackOff) Reset() {}

// NextBackOff returns [Stop].
func (b *StopBackOff) NextBackOff() time.Duration { return Stop }

// ConstantBackOff is a policy whose waits are all the same. It retries forever, so limit it, for example with
// [WithMaxRetries] or [WithContext]. It has no jitter: clients that failed together retry together.
//
// The zero value does not wait. A ConstantBackOff is safe for concurrent use as long as Interval does not
// change.
type ConstantBackOff struct {
	// Interval is the wait. Zero means no wait; a negative value means no retries.
	Interval time.Duration
}

// NewConstantBackOff returns a policy that always waits d.
func NewConstantBackOff(d time.Duration) *ConstantBackOff { return &ConstantBackOff{Interval: d} }

// Reset does nothing.
func (b *ConstantBackOff) Reset() {}

// NextBackOff returns Interval.
func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }

// LinearBackOff is a policy whose n-th wait is n × Interval. It retries forever, so limit it, for example with
// [WithMaxRetries] or [WithContext]. It has no jitter: clients that failed together retry together.
//
// The zero value does not wait. A LinearBackOff holds the state of one loop; it must not be used by two loops
// at once.
type LinearBackOff struct {
	// Interval is the first wait, and what each further wait adds. Zero means no waits; a negative
	// value means no retries.
	Interval time.Duration

	// MaxInterval is the longest wait. Zero or negative means no cap.
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

// orDefault returns b, or the default policy if b is nil.
func orDefault(b BackOff) BackOff {
	if b == nil {
		return NewExponentialBackOff()
	}
	return b
}
