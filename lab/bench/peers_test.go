// Package bench measures the library beside its peers, on the same work in the same run.
//
// Each peer is set up as its README says. What a peer documents as reusable is built once, and the
// rest for each call, so that no peer is shown slower than its users see it.
package bench_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	avast4 "github.com/avast/retry-go/v4"
	avast5 "github.com/avast/retry-go/v5"
	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"
	cenkalti7 "github.com/cenkalti/backoff/v7"
	"github.com/eapache/go-resiliency/retrier"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargo "github.com/sethvargo/go-retry"

	"example.com/backoff"
)

// Names of what is compared, as they stand in the benchmarks' names.
const (
	hand       = "hand-written"
	ours       = "backoff"
	attempts   = "backoff-Attempts"
	cenkaltiV4 = "cenkalti-v4"
	cenkaltiV5 = "cenkalti-v5"
	cenkaltiV7 = "cenkalti-v7"
	avastV4    = "avast-v4"
	avastV5    = "avast-v5"
	seth       = "sethvargo"
	failsafeG  = "failsafe-go"
	eapache    = "eapache"
)

var errFailed = errors.New("failed")

// A retry runs an operation until it succeeds. It may be called again, but not concurrently.
type retry func() error

// A peer is a library, or a loop written by hand.
type peer struct {
	name string

	// perCall retries op as programs do for a call: with the default policy or the nearest to it,
	// at most maxRetries retries, maxElapsed at most, and ctx. Whatever belongs to one call is
	// built for each call.
	perCall func(ctx context.Context, op func() error) retry

	// ready is perCall with all that can be reused built before.
	ready func(ctx context.Context, op func() error) retry

	// constant always waits the same time, without a limit, and is built before too. A nil ctx means none.
	constant func(ctx context.Context, wait time.Duration, op func() error) retry

	// concurrent reports whether the peer documents that what constant builds may be used by many
	// calls at once.
	concurrent bool
}

// The policy of perCall and ready: the defaults of this library and of cenkalti/backoff.
const (
	initialInterval     = 500 * time.Millisecond
	maxInterval         = time.Minute
	multiplier          = 1.5
	randomizationFactor = 0.5
	maxElapsed          = 15 * time.Minute
	maxRetries          = 5
)

var peers = []peer{
	{name: hand, perCall: handPerCall, ready: handPerCall, constant: handConstant, concurrent: true},
	{name: ours, perCall: oursPerCall, ready: oursReady, constant: oursConstant},
	{name: attempts, perCall: attemptsPerCall, ready: attemptsReady, constant: attemptsConstant},
	{name: cenkaltiV4, perCall: cenkalti4PerCall, ready: cenkalti4Ready, constant: cenkalti4Constant},
	{name: cenkaltiV5, perCall: cenkalti5PerCall, ready: cenkalti5Ready, constant: cenkalti5Constant},
	{name: cenkaltiV7, perCall: cenkalti7PerCall, ready: cenkalti7Ready, constant: cenkalti7Constant},
	{name: avastV4, perCall: avast4PerCall, ready: avast4Ready, constant: avast4Constant},
	{name: avastV5, perCall: avast5PerCall, ready: avast5Ready, constant: avast5Constant, concurrent: true},
	{name: seth, perCall: sethvargoPerCall, ready: sethvargoPerCall, constant: sethvargoConstant, concurrent: true},
	{name: failsafeG, perCall: failsafePerCall, ready: failsafeReady, constant: failsafeConstant, concurrent: true},
	{name: eapache, perCall: eapachePerCall, ready: eapachePerCall, constant: eapacheConstant, concurrent: true},
}

// others are all peers that are libraries.
var others = []string{cenkaltiV4, cenkaltiV5, cenkaltiV7, avastV4, avastV5, seth, failsafeG, eapache}

func handPerCall(ctx context.Context, op func() error) retry {
	return func() error {
		start := time.Now()
		interval := initialInterval
		for retries := 0; ; retries++ {
			err := op()
			if err == nil || retries == maxRetries {
				return err
			}
			wait := time.Duration(float64(interval) * (1 + randomizationFactor*(2*rand.Float64()-1)))
			interval = min(time.Duration(float64(interval)*multiplier), maxInterval)
			if time.Since(start)+wait > maxElapsed {
				return err
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

func handConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	return func() error {
		for {
			err := op()
			if err == nil {
				return nil
			}
			if wait > 0 {
				timer := time.NewTimer(wait)
				select {
				case <-timer.C:
				case <-orBackground(ctx).Done():
					timer.Stop()
				}
			}
			if ctx != nil && ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

func oursPerCall(ctx context.Context, op func() error) retry {
	return func() error { return backoff.Retry(op, oursPolicy(ctx)) }
}

func oursReady(ctx context.Context, op func() error) retry { return over(oursPolicy(ctx), op) }

func oursConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	return over(oursConstantPolicy(ctx, wait), op)
}

func over(b backoff.BackOff, op func() error) retry {
	return func() error { return backoff.Retry(op, b) }
}

func oursPolicy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), maxRetries), ctx)
}

func oursConstantPolicy(ctx context.Context, wait time.Duration) backoff.BackOff {
	b := backoff.NewConstantBackOff(wait)
	if ctx == nil {
		return b
	}
	return backoff.WithContext(b, ctx)
}

// The functions with Attempts must not be inlined: in a function literal that is inlined together with its parent, the
// compiler does not inline Attempts, and its iterator needs the heap.

//go:noinline
func attemptsPerCall(ctx context.Context, op func() error) retry {
	return func() (err error) {
		for range backoff.Attempts(oursPolicy(ctx), &err) {
			err = op()
		}
		return err
	}
}

func attemptsReady(ctx context.Context, op func() error) retry {
	return attemptsOver(oursPolicy(ctx), op)
}

func attemptsConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	return attemptsOver(oursConstantPolicy(ctx, wait), op)
}

//go:noinline
func attemptsOver(b backoff.BackOff, op func() error) retry {
	return func() (err error) {
		for range backoff.Attempts(b, &err) {
			err = op()
		}
		return err
	}
}

func cenkalti4PerCall(ctx context.Context, op func() error) retry {
	return func() error {
		b := cenkalti4.WithMaxRetries(cenkalti4.NewExponentialBackOff(), maxRetries)
		return cenkalti4.Retry(op, cenkalti4.WithContext(b, ctx))
	}
}

func cenkalti4Ready(ctx context.Context, op func() error) retry {
	b := cenkalti4.WithContext(cenkalti4.WithMaxRetries(cenkalti4.NewExponentialBackOff(), maxRetries), ctx)
	return func() error { return cenkalti4.Retry(op, b) }
}

func cenkalti4Constant(ctx context.Context, wait time.Duration, op func() error) retry {
	var b cenkalti4.BackOff = cenkalti4.NewConstantBackOff(wait)
	if ctx != nil {
		b = cenkalti4.WithContext(b, ctx)
	}
	return func() error { return cenkalti4.Retry(op, b) }
}

// v5 and v7 make a default policy in each call of Retry; an option for it would only make another.
func cenkalti5PerCall(ctx context.Context, op func() error) retry {
	withData := withNoData(op)
	return func() error {
		_, err := cenkalti5.Retry(ctx, withData, cenkalti5.WithMaxTries(maxRetries+1))
		return err
	}
}

func cenkalti5Ready(ctx context.Context, op func() error) retry {
	return cenkalti5Over(ctx, op, cenkalti5.WithMaxTries(maxRetries+1))
}

func cenkalti5Constant(ctx context.Context, wait time.Duration, op func() error) retry {
	return cenkalti5Over(orBackground(ctx), op,
		cenkalti5.WithBackOff(cenkalti5.NewConstantBackOff(wait)), cenkalti5.WithMaxElapsedTime(0))
}

func cenkalti5Over(ctx context.Context, op func() error, options ...cenkalti5.RetryOption) retry {
	withData := withNoData(op)
	return func() error {
		_, err := cenkalti5.Retry(ctx, withData, options...)
		return err
	}
}

func cenkalti7PerCall(ctx context.Context, op func() error) retry {
	withData := withNoData(op)
	return func() error {
		_, err := cenkalti7.Retry(ctx, withData, cenkalti7.WithMaxTries(maxRetries+1))
		return err
	}
}

func cenkalti7Ready(ctx context.Context, op func() error) retry {
	return cenkalti7Over(ctx, op, cenkalti7.WithMaxTries(maxRetries+1))
}

func cenkalti7Constant(ctx context.Context, wait time.Duration, op func() error) retry {
	return cenkalti7Over(orBackground(ctx), op,
		cenkalti7.WithBackOff(cenkalti7.NewConstantBackOff(wait)), cenkalti7.WithMaxElapsedTime(0))
}

func cenkalti7Over(ctx context.Context, op func() error, options ...cenkalti7.RetryOption) retry {
	withData := withNoData(op)
	return func() error {
		_, err := cenkalti7.Retry(ctx, withData, options...)
		return err
	}
}

func avast4PerCall(ctx context.Context, op func() error) retry {
	return func() error {
		return avast4.Do(op, avast4.Attempts(maxRetries+1), avast4.Delay(initialInterval),
			avast4.MaxDelay(maxInterval), avast4.Context(ctx))
	}
}

func avast4Ready(ctx context.Context, op func() error) retry {
	options := []avast4.Option{
		avast4.Attempts(maxRetries + 1), avast4.Delay(initialInterval),
		avast4.MaxDelay(maxInterval), avast4.Context(ctx),
	}
	return func() error { return avast4.Do(op, options...) }
}

func avast4Constant(ctx context.Context, wait time.Duration, op func() error) retry {
	options := []avast4.Option{
		avast4.Attempts(0), avast4.Delay(wait), avast4.DelayType(avast4.FixedDelay), // 0 means no limit
		avast4.LastErrorOnly(true), avast4.Context(orBackground(ctx)),
	}
	return func() error { return avast4.Do(op, options...) }
}

// The context is an option of v5's Retrier, which otherwise could be shared by all calls.
func avast5PerCall(ctx context.Context, op func() error) retry {
	return func() error {
		return avast5.New(avast5.Attempts(maxRetries+1), avast5.Delay(initialInterval),
			avast5.MaxDelay(maxInterval), avast5.Context(ctx)).Do(op)
	}
}

func avast5Ready(ctx context.Context, op func() error) retry {
	r := avast5.New(avast5.Attempts(maxRetries+1), avast5.Delay(initialInterval),
		avast5.MaxDelay(maxInterval), avast5.Context(ctx))
	return func() error { return r.Do(op) }
}

func avast5Constant(ctx context.Context, wait time.Duration, op func() error) retry {
	r := avast5.New(avast5.Attempts(0), avast5.Delay(wait), avast5.DelayType(avast5.FixedDelay),
		avast5.LastErrorOnly(true), avast5.Context(orBackground(ctx)))
	return func() error { return r.Do(op) }
}

// A limited or growing Backoff of go-retry counts through once, so it is built for each call.
func sethvargoPerCall(ctx context.Context, op func() error) retry {
	retryable := sethvargoRetryable(op)
	return func() error {
		b := sethvargo.NewExponential(initialInterval)
		b = sethvargo.WithJitterPercent(100*randomizationFactor, b)
		b = sethvargo.WithCappedDuration(maxInterval, b)
		b = sethvargo.WithMaxRetries(maxRetries, b)
		b = sethvargo.WithMaxDuration(maxElapsed, b)
		return sethvargo.Do(ctx, b, retryable)
	}
}

func sethvargoConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	constant := sethvargo.BackoffFunc(func() (time.Duration, bool) { return wait, false })
	retryable := sethvargoRetryable(op)
	ctx = orBackground(ctx)
	return func() error { return sethvargo.Do(ctx, constant, retryable) }
}

func sethvargoRetryable(op func() error) sethvargo.RetryFunc {
	return func(context.Context) error { return sethvargo.RetryableError(op()) }
}

// Policies and executors of failsafe-go are safe for concurrent use. Only the context is the call's.
func failsafePerCall(ctx context.Context, op func() error) retry {
	executor := failsafeDefault()
	return func() error { return executor.WithContext(ctx).Run(op) }
}

func failsafeReady(ctx context.Context, op func() error) retry {
	executor := failsafeDefault().WithContext(ctx)
	return func() error { return executor.Run(op) }
}

func failsafeDefault() failsafe.Executor[any] {
	policy := retrypolicy.NewBuilder[any]().
		WithBackoffFactor(initialInterval, maxInterval, multiplier).WithJitterFactor(randomizationFactor).
		WithMaxRetries(maxRetries).WithMaxDuration(maxElapsed).Build()
	return failsafe.With(policy)
}

func failsafeConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	const unlimited = -1
	executor := failsafe.With(retrypolicy.NewBuilder[any]().WithMaxRetries(unlimited).WithDelay(wait).Build())
	if ctx != nil {
		executor = executor.WithContext(ctx)
	}
	return func() error { return executor.Run(op) }
}

// A Retrier of go-resiliency guards its random source by a mutex, to be shared by all calls.
func eapachePerCall(ctx context.Context, op func() error) retry {
	r := retrier.New(retrier.LimitedExponentialBackoff(maxRetries, initialInterval, maxInterval), nil)
	r.SetJitter(randomizationFactor)
	withContext := func(context.Context) error { return op() }
	return func() error { return r.RunCtx(ctx, withContext) }
}

func eapacheConstant(ctx context.Context, wait time.Duration, op func() error) retry {
	r := retrier.New(retrier.ConstantBackoff(1, wait), nil).WithInfiniteRetry()
	if ctx == nil {
		return func() error { return r.Run(op) }
	}
	withContext := func(context.Context) error { return op() }
	return func() error { return r.RunCtx(ctx, withContext) }
}

func withNoData(op func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, op() }
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
