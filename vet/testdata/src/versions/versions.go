// Package versions has what is a mistake in some versions.
package versions

import (
	"context"
	"time"

	own "example.com/backoff"
	v1 "github.com/cenkalti/backoff"
	v4 "github.com/cenkalti/backoff/v4"
	v7 "github.com/cenkalti/backoff/v7"
)

var (
	policy1 = v1.NewExponentialBackOff()
	policy7 = v7.NewExponentialBackOff()
)

func wrong(ctx context.Context, id string) {
	_ = v1.Retry(op, v1.WithContext(policy1, ctx))      // want `share policy1, which`
	_, _ = v7.Retry(ctx, data, v7.WithBackOff(policy7)) // want `share policy7, which`

	b := v4.NewExponentialBackOff()
	b.InitialInterval = time.Second // want `InitialInterval has no effect before the next Reset, and there is none \[interval\]`
	_ = b.NextBackOff()
	_ = v4.Retry(op, v4.WithContext(&v4.ExponentialBackOff{MaxElapsedTime: time.Minute}, ctx)) // want `this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop \[stop\]`
}

func right(ctx context.Context) {
	reset := v4.NewExponentialBackOff()
	reset.InitialInterval = time.Second
	reset.Reset()
	_ = reset.NextBackOff()
	_ = v4.Retry(op, v4.WithContext(&v4.ExponentialBackOff{MaxElapsedTime: time.Minute, Stop: v4.Stop}, ctx))

	// This library needs neither.
	ours := own.NewExponentialBackOff()
	ours.InitialInterval = time.Second
	_ = ours.NextBackOff()
	_ = own.Retry(op, own.WithContext(&own.ExponentialBackOff{MaxElapsedTime: time.Minute}, ctx))

	// From v5 on no policy stops, and Retry has a context of its own.
	_, _ = v7.Retry(ctx, data, v7.WithBackOff(v7.NewExponentialBackOff()))
	endless := v7.NewExponentialBackOff()
	for {
		time.Sleep(endless.NextBackOff())
	}
}

func op() error          { return nil }
func data() (int, error) { return 0, nil }
