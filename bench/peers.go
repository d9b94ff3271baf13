// Package bench measures the library beside its peers, on the same work in the same run.
//
// Each peer is set up as its README shows and at its best: what a peer lets its user build once is
// built once and used for every call (a policy for this library and for cenkalti/backoff v4, the
// list of options for cenkalti/backoff v5 and retry-go, the retrier for go-resiliency, the executor
// for failsafe-go). go-retry has no way to use a limited backoff twice, so there it is built for
// each call.
package bench

import (
	"context"
	"errors"
	"time"

	retrygo "github.com/avast/retry-go/v4"
	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"
	"github.com/eapache/go-resiliency/retrier"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	goretry "github.com/sethvargo/go-retry"

	"example.com/backoff"
)

// Names of those that are compared.
const (
	Hand      = "hand-written loop"
	Ours      = "backoff (this library)"
	Cenkalti4 = "cenkalti/backoff v4"
	Cenkalti5 = "cenkalti/backoff v5"
	RetryGo   = "avast/retry-go v4"
	GoRetry   = "sethvargo/go-retry"
	Failsafe  = "failsafe-go"
	Eapache   = "eapache/go-resiliency"
)

var errFailed = errors.New("failed")

// setup is what a retry is to go by. It always waits the same time.
type setup struct {
	wait  time.Duration
	ctx   context.Context // nil: none
	limit int             // of retries; 0: none
}

type peer struct {
	name string
	// build returns a function that retries op by s, ready to be called any number of times.
	build func(s setup, op func() error) func() error
}

var peers = []peer{
	{Hand, hand},
	{Ours, ours},
	{Cenkalti4, cenkaltiV4},
	{Cenkalti5, cenkaltiV5},
	{RetryGo, avast},
	{GoRetry, sethvargo},
	{Failsafe, failsafeGo},
	{Eapache, eapache},
}

func hand(s setup, op func() error) func() error {
	return func() error {
		for retries := 0; ; retries++ {
			err := op()
			if err == nil || s.limit > 0 && retries == s.limit {
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

func ours(s setup, op func() error) func() error {
	var b backoff.BackOff = backoff.NewConstantBackOff(s.wait)
	if s.limit > 0 {
		b = backoff.WithMaxRetries(b, uint64(s.limit))
	}
	if s.ctx != nil {
		b = backoff.WithContext(b, s.ctx)
	}
	return func() error { return backoff.Retry(op, b) }
}

func cenkaltiV4(s setup, op func() error) func() error {
	var b cenkalti4.BackOff = cenkalti4.NewConstantBackOff(s.wait)
	if s.limit > 0 {
		b = cenkalti4.WithMaxRetries(b, uint64(s.limit))
	}
	if s.ctx != nil {
		b = cenkalti4.WithContext(b, s.ctx)
	}
	return func() error { return cenkalti4.Retry(op, b) }
}

func cenkaltiV5(s setup, op func() error) func() error {
	options := []cenkalti5.RetryOption{
		cenkalti5.WithBackOff(cenkalti5.NewConstantBackOff(s.wait)),
		cenkalti5.WithMaxElapsedTime(0),
	}
	if s.limit > 0 {
		options = append(options, cenkalti5.WithMaxTries(uint(s.limit)+1))
	}
	ctx := orBackground(s.ctx)
	withData := func() (struct{}, error) { return struct{}{}, op() }
	return func() error {
		_, err := cenkalti5.Retry(ctx, withData, options...)
		return err
	}
}

func avast(s setup, op func() error) func() error {
	attempts := uint(0) // for ever
	if s.limit > 0 {
		attempts = uint(s.limit) + 1
	}
	options := []retrygo.Option{
		retrygo.Attempts(attempts),
		retrygo.Delay(s.wait),
		retrygo.DelayType(retrygo.FixedDelay),
		retrygo.LastErrorOnly(true),
		retrygo.Context(orBackground(s.ctx)),
	}
	return func() error { return retrygo.Do(op, options...) }
}

func sethvargo(s setup, op func() error) func() error {
	var b goretry.Backoff = goretry.BackoffFunc(func() (time.Duration, bool) { return s.wait, false })
	ctx := orBackground(s.ctx)
	retryable := func(context.Context) error { return goretry.RetryableError(op()) }
	return func() error {
		limited := b
		if s.limit > 0 {
			limited = goretry.WithMaxRetries(uint64(s.limit), b)
		}
		return goretry.Do(ctx, limited, retryable)
	}
}

func failsafeGo(s setup, op func() error) func() error {
	limit := -1 // none
	if s.limit > 0 {
		limit = s.limit
	}
	policy := retrypolicy.NewBuilder[any]().WithMaxRetries(limit).WithDelay(s.wait).Build()
	executor := failsafe.With[any](policy)
	if s.ctx != nil {
		executor = executor.WithContext(s.ctx)
	}
	return func() error { return executor.Run(op) }
}

func eapache(s setup, op func() error) func() error {
	r := retrier.New(retrier.ConstantBackoff(max(1, s.limit), s.wait), nil)
	if s.limit == 0 {
		r = r.WithInfiniteRetry()
	}
	if s.ctx == nil {
		return func() error { return r.Run(op) }
	}
	withContext := func(context.Context) error { return op() }
	return func() error { return r.RunCtx(s.ctx, withContext) }
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
