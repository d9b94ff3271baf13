// Package versions shares a policy of every version, and runs a loop of each without its context.
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
	_ = v1.Retry(op, v1.WithContext(policy1, ctx))                 // want `share policy1, which`
	_ = v3.Retry(op, v3.WithContext(policy3, ctx))                 // want `share policy3, which`
	_ = v4.Retry(op, v4.WithContext(policy4, ctx))                 // want `share policy4, which`
	_, _ = v5.Retry(ctx, data, v5.WithBackOff(policy5))            // want `share policy5, which`
	_, _ = v6.Retry(ctx, data, v6.WithBackOff(policy6))            // want `share policy6, which`
	_, _ = v7.Retry(ctx, data, v7.WithBackOff(policy7))            // want `share policy7, which`
	_ = own.Retry(op, own.WithContext(policyOwn, ctx))             // want `share policyOwn, which`
	for range own.Attempts(own.WithContext(policyOwn, ctx), nil) { // want `share policyOwn, which`
	}
}

func endless(ctx context.Context) {
	_ = v1.Retry(func() error { return nil }, v1.NewExponentialBackOff())   // want `goes on when ctx is done`
	_ = v3.Retry(func() error { return nil }, v3.NewExponentialBackOff())   // want `goes on when ctx is done`
	_ = v4.Retry(func() error { return nil }, v4.NewExponentialBackOff())   // want `goes on when ctx is done`
	_ = own.Retry(func() error { return nil }, own.NewExponentialBackOff()) // want `goes on when ctx is done`
	_, _ = v5.Retry(ctx, data, v5.WithBackOff(v5.NewExponentialBackOff()))
	_, _ = v6.Retry(ctx, data, v6.WithBackOff(v6.NewExponentialBackOff()))
	_, _ = v7.Retry(ctx, data, v7.WithBackOff(v7.NewExponentialBackOff()))
}

// An ExponentialBackOff stops by itself up to v4, and in this library.
func spin() {
	b1, b3, b4 := v1.NewExponentialBackOff(), v3.NewExponentialBackOff(), v4.NewExponentialBackOff()
	b5, b6, b7 := v5.NewExponentialBackOff(), v6.NewExponentialBackOff(), v7.NewExponentialBackOff()
	b := own.NewExponentialBackOff()
	for {
		time.Sleep(b1.NextBackOff()) // want `Sleep does not wait then`
		time.Sleep(b3.NextBackOff()) // want `Sleep does not wait then`
		time.Sleep(b4.NextBackOff()) // want `Sleep does not wait then`
		time.Sleep(b.NextBackOff())  // want `Sleep does not wait then`
		time.Sleep(b5.NextBackOff())
		time.Sleep(b6.NextBackOff())
		time.Sleep(b7.NextBackOff())
	}
}

// InitialInterval needs a Reset up to v4.
func first() (sum time.Duration) {
	b1, b3, b4 := v1.NewExponentialBackOff(), v3.NewExponentialBackOff(), v4.NewExponentialBackOff()
	b1.InitialInterval = time.Second // want `InitialInterval has no effect`
	b3.InitialInterval = time.Second // want `InitialInterval has no effect`
	b4.InitialInterval = time.Second // want `InitialInterval has no effect`
	b5, b := v5.NewExponentialBackOff(), own.NewExponentialBackOff()
	b5.InitialInterval = time.Second
	b.InitialInterval = time.Second
	return b1.NextBackOff() + b3.NextBackOff() + b4.NextBackOff() + b5.NextBackOff() + b.NextBackOff()
}

// Only in v4 is a literal without Stop one that never stops.
func literal() {
	_ = v4.Retry(op, &v4.ExponentialBackOff{MaxElapsedTime: time.Second}) // want `goes on without waits`
	_ = v3.Retry(op, &v3.ExponentialBackOff{MaxElapsedTime: time.Second})
	_ = own.Retry(op, &own.ExponentialBackOff{MaxElapsedTime: time.Second})
	_ = v4.Retry(op, &own.ExponentialBackOff{MaxElapsedTime: time.Second}) // so v4's are aliases in cenkalti/
}

// Not every name that begins with Retry is a loop's.
func status(ctx context.Context, err error) (bool, error) {
	return own.RetryableStatus(503), own.RetryAfter(err, time.Second)
}

func op() error { return nil }

func data() (int, error) { return 0, nil }
