// Package backoff calls a function again when it fails, and waits longer before each new attempt.
//
//	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
//
//	err := backoff.Retry(func() error {
//		return db.PingContext(ctx)
//	}, backoff.WithContext(policy, ctx))
//
// [Retry] makes up to four attempts, and waits about 0.5 s, 0.75 s and 1.1 s between them. It gives up early if ctx
// ends, if a wait after the first would outlast the deadline of ctx, or if the function returns an error that
// [Permanent] marks. Its error is that of the last attempt. If ctx ended the loop, it matches the error of ctx too.
//
// Policies, decorators, loops and tickers have the names and the types of github.com/cenkalti/backoff/v4, which this
// package can replace. The page docs/migrating.md lists the few things that behave differently.
//
// To call a service, there is also a [Retrier]. It limits the time of each attempt, and with [Slots] it lets fewer calls
// through while many of them time out. HTTP clients, SQL transactions and gRPC clients have packages of their own, below
// the path of this one: httpretry, sqlretry and grpcretry.
//
// The page docs/choosing.md has the code for each kind of program.
//
// # Policies, decorators and loops
//
// A policy says how long to wait. [NewExponentialBackOff] returns the usual one, and gives up after 15 minutes. The
// others are [LinearBackOff], [ConstantBackOff], [ZeroBackOff] and [StopBackOff].
//
// A decorator wraps a policy and limits it: [WithMaxRetries] limits the number of retries, and [WithContext] ends
// them when a context ends. They may come in any order.
//
// A loop makes the attempts:
//
//   - [Retry] calls a function until it succeeds or the policy stops; [RetryWithData] also returns its value.
//   - [RetryNotify] and [RetryNotifyWithData] also call another function before each wait, to log it.
//   - [Attempts] is the same loop as a range statement.
//   - [NewTicker] sends a tick for each attempt on a channel, for select loops.
//
// With Attempts, the body of the loop makes the attempt and sets err. A nil err ends the loop. Here newPolicy makes a
// policy like the one at the top:
//
//	func load(ctx context.Context) (config *Config, err error) {
//		for range backoff.Attempts(newPolicy(ctx), &err) {
//			config, err = fetch(ctx)
//		}
//		return config, err
//	}
//
// A [Ticker] shares a select loop with other work. Its channel is closed when ctx ends or the policy stops:
//
//	ticker := backoff.NewTicker(newPolicy(ctx))
//	defer ticker.Stop()
//
//	ticks := ticker.C
//	for {
//		select {
//		case _, ok := <-ticks:
//			if !ok {
//				return errors.New("no answer")
//			}
//			if connect(ctx) == nil {
//				ticks = nil // no more ticks
//			}
//		case message := <-messages:
//			handle(message)
//		}
//	}
//
// Make a new policy, with its decorators, for each call. A policy remembers how far its loop has got, so it must not
// be used by two loops at once. Loops that run one after the other may share one, since each loop starts with Reset.
//
// # Services
//
// Declare one [Retrier] for each service, shared by all calls to it:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: time.Second,        // at least four times what a call usually takes
//		Slots:          new(backoff.Slots), // fewer calls at once while many attempts time out
//	}
//
//	func rename(ctx context.Context, id, name string) error {
//		ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // for all attempts and waits
//		defer cancel()
//
//		return users.Do(ctx, func(ctx context.Context) error {
//			return client.Rename(ctx, id, name) // this ctx ends after AttemptTimeout
//		})
//	}
//
// [Retrier.Do] makes up to four attempts, and this call returns within five seconds if client.Rename ends with its
// ctx. [DoWithData] is for a function that returns a value. A command-line tool or a cron job needs no Slots. Most
// programs need no [Budget].
//
// Retry only what may be done twice. Retry in one layer only: three layers that each make three retries turn one
// request into 64.
//
// # Errors
//
// [Permanent] marks an error that must not be retried. [RetryAfter] makes an error ask for a minimum wait.
//
// A loop that gives up returns the error of the last attempt. If a context ended the loop, the error matches that of
// the context too, by [errors.Is]; see [Retry]. The error of [Retrier.Do] also tells whether no attempts were left,
// there was no slot, or a Budget was empty. Ask for [context.Canceled] first, then for errors of your own: the error of a
// call that was cancelled also matches the cause of its context, which may be an error of another call.
//
// # Cancellation
//
// When the context of Do, or the one given to [WithContext], ends, a wait is cut short and no further attempt is
// made. A running attempt is not interrupted: the function must use the context. With [Retry] and [Attempts],
// give each attempt a timeout of its own.
//
// # Concurrency
//
// A [Retrier], [Slots], a [Budget], [ZeroBackOff], [StopBackOff] and [ConstantBackOff] are safe for concurrent use.
// Other policies, and decorators, are not. Only a [Ticker] starts a goroutine.
//
// # Writing a policy or a decorator
//
// A policy implements NextBackOff and Reset. A decorator embeds a BackOff and has a method that returns it:
//
//	func (b myDecorator) Unwrap() BackOff { return b.BackOff }
//
// Through this method a loop finds the contexts further in. A decorator without it works, but around [WithContext]
// it hides the context: the loop then notices a cancellation only after the wait, and makes one more attempt.
package backoff

import (
	"math"
	"time"
)

// BackOff is a policy: it says how long to wait before each retry. Where a function of this package takes a BackOff,
// nil means [NewExponentialBackOff].
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
