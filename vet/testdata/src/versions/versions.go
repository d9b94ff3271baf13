// Package versions shares a policy of every version.
package versions

import (
	"context"
	"time"

	own "example.com/backoff"
	v1 "github.com/cenkalti/backoff"
	v3 "github.com/cenkalti/backoff/v3"
	v4 "github.com/cenkalti/backoff/v4"
	v5 "github.com/cenkalti/backoff/v5"
	v6 "github.com/cenkalti/backoff/v6"
	v7 "github.com/cenkalti/backoff/v7"
)

var (
	policy1   = v1.NewExponentialBackOff()
	policy3   = v3.NewExponentialBackOff()
	policy4   = v4.NewExponentialBackOff()
	policy5   = v5.NewExponentialBackOff()
	policy6   = v6.NewExponentialBackOff()
	policy7   = v7.NewExponentialBackOff()
	policyOwn = own.NewExponentialBackOff()
)

func load(ctx context.Context, id string) {
	_ = v1.Retry(op, v1.WithContext(policy1, ctx))      // want `share policy1, which`
	_ = v3.Retry(op, v3.WithContext(policy3, ctx))      // want `share policy3, which`
	_ = v4.Retry(op, v4.WithContext(policy4, ctx))      // want `share policy4, which`
	_, _ = v5.Retry(ctx, data, v5.WithBackOff(policy5)) // want `share policy5, which`
	_, _ = v6.Retry(ctx, data, v6.WithBackOff(policy6)) // want `share policy6, which`
	_, _ = v7.Retry(ctx, data, v7.WithBackOff(policy7)) // want `share policy7, which`
	_ = own.Retry(op, own.WithContext(policyOwn, ctx))  // want `share policyOwn, which`
}

// From v5 on a policy does not stop, NewExponentialBackOff needs no Reset, and Retry has a context of its own.
func later(ctx context.Context) {
	b := v5.NewExponentialBackOff()
	b.InitialInterval = time.Second
	_, _ = v5.Retry(ctx, data, v5.WithBackOff(v5.NewExponentialBackOff()))
	for {
		time.Sleep(b.NextBackOff())
	}
}

// In this library InitialInterval counts from the first wait, and RetryAfter is no loop.
func first(err error) (time.Duration, error) {
	b := own.NewExponentialBackOff()
	b.InitialInterval = time.Second
	return b.NextBackOff(), own.RetryAfter(err, time.Second)
}

func op() error { return nil }

func data() (int, error) { return 0, nil }
