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

	// constant always waits the same time, and is built before too.
	constant func(s setup, op func() error) retry

	// concurrent reports whether the peer documents that what constant builds may be used by many
	// calls at once.
	concurrent bool
}

// setup is what a constant loop is built from.
type setup struct {
	wait       time.Duration
	ctx        context.Context // nil means none
	maxRetries int             // 0 means no limit
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

// sameWork are the peers whose perCall does all that ours does: random exponential waits with a
// cap, a limit of retries, a limit of time and a context. (That go-retry can only double the interval
// makes no difference.) They are also those that have policies. retry-go and go-resiliency have no limit
// of time.
var sameWork = []string{cenkaltiV4, cenkaltiV5, cenkaltiV7, seth, failsafeG}

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

func handConstant(s setup, op func() error) retry {
	return func() error {
		for retries := 0; ; retries++ {
			err := op()
			if err == nil || s.maxRetries > 0 && retries == s.maxRetries {
				return err
			}
			if s.wait > 0 {
				if s.ctx == nil {
					time.Sleep(s.wait)
					continue
				}
				timer := time.NewTimer(s.wait)
				select {
				case <-timer.C:
				case <-s.ctx.Done():
					timer.Stop()
				}
			}
			if s.ctx != nil && s.ctx.Err() != nil {
				return s.ctx.Err()
			}
		}
	}
}

func oursPerCall(ctx context.Context, op func() error) retry {
	return func() error {
		return backoff.Retry(op, oursPolicy(ctx))
	}
}

func oursReady(ctx context.Context, op func() error) retry {
	b := oursPolicy(ctx)
	return func() error { return backoff.Retry(op, b) }
}

func oursPolicy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), maxRetries), ctx)
}

func oursConstant(s setup, op func() error) retry {
	b := oursConstantPolicy(s)
	return func() error { return backoff.Retry(op, b) }
}

func oursConstantPolicy(s setup) backoff.BackOff {
	var b backoff.BackOff = backoff.NewConstantBackOff(s.wait)
	if s.maxRetries > 0 {
		b = backoff.WithMaxRetries(b, uint64(s.maxRetries))
	}
	if s.ctx != nil {
		b = backoff.WithContext(b, s.ctx)
	}
	return b
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

func cenkalti4Constant(s setup, op func() error) retry {
	var b cenkalti4.BackOff = cenkalti4.NewConstantBackOff(s.wait)
	if s.maxRetries > 0 {
		b = cenkalti4.WithMaxRetries(b, uint64(s.maxRetries))
	}
	if s.ctx != nil {
		b = cenkalti4.WithContext(b, s.ctx)
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

func cenkalti5Constant(s setup, op func() error) retry {
	options := []cenkalti5.RetryOption{
		cenkalti5.WithBackOff(cenkalti5.NewConstantBackOff(s.wait)),
		cenkalti5.WithMaxElapsedTime(0),
	}
	if s.maxRetries > 0 {
		options = append(options, cenkalti5.WithMaxTries(uint(s.maxRetries)+1))
	}
	return cenkalti5Over(orBackground(s.ctx), op, options...)
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

func cenkalti7Constant(s setup, op func() error) retry {
	options := []cenkalti7.RetryOption{
		cenkalti7.WithBackOff(cenkalti7.NewConstantBackOff(s.wait)),
		cenkalti7.WithMaxElapsedTime(0),
	}
	if s.maxRetries > 0 {
		options = append(options, cenkalti7.WithMaxTries(uint(s.maxRetries)+1))
	}
	return cenkalti7Over(orBackground(s.ctx), op, options...)
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

func avast4Constant(s setup, op func() error) retry {
	options := []avast4.Option{
		avast4.Attempts(orUnlimited(s.maxRetries)), avast4.Delay(s.wait), avast4.DelayType(avast4.FixedDelay),
		avast4.LastErrorOnly(true), avast4.Context(orBackground(s.ctx)),
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

func avast5Constant(s setup, op func() error) retry {
	r := avast5.New(avast5.Attempts(orUnlimited(s.maxRetries)), avast5.Delay(s.wait), avast5.DelayType(avast5.FixedDelay),
		avast5.LastErrorOnly(true), avast5.Context(orBackground(s.ctx)))
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

func sethvargoConstant(s setup, op func() error) retry {
	constant := sethvargo.BackoffFunc(func() (time.Duration, bool) { return s.wait, false })
	ctx, retryable := orBackground(s.ctx), sethvargoRetryable(op)
	return func() error {
		var b sethvargo.Backoff = constant
		if s.maxRetries > 0 {
			b = sethvargo.WithMaxRetries(uint64(s.maxRetries), constant)
		}
		return sethvargo.Do(ctx, b, retryable)
	}
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

func failsafeConstant(s setup, op func() error) retry {
	limit := -1 // none
	if s.maxRetries > 0 {
		limit = s.maxRetries
	}
	executor := failsafe.With(retrypolicy.NewBuilder[any]().WithMaxRetries(limit).WithDelay(s.wait).Build())
	if s.ctx != nil {
		executor = executor.WithContext(s.ctx)
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

func eapacheConstant(s setup, op func() error) retry {
	r := retrier.New(retrier.ConstantBackoff(max(1, s.maxRetries), s.wait), nil)
	if s.maxRetries == 0 {
		r = r.WithInfiniteRetry()
	}
	if s.ctx == nil {
		return func() error { return r.Run(op) }
	}
	withContext := func(context.Context) error { return op() }
	return func() error { return r.RunCtx(s.ctx, withContext) }
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

// orUnlimited returns retry-go's number of attempts, where 0 means no limit.
func orUnlimited(maxRetries int) uint {
	if maxRetries == 0 {
		return 0
	}
	return uint(maxRetries) + 1
}
