package interval

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

func late() time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Millisecond // want `InitialInterval has no effect before the next Reset, and there is none \[interval\]`
	b.MaxElapsedTime = 0
	return b.NextBackOff() + b.NextBackOff()
}

type client struct{ policy *backoff.ExponentialBackOff }

func newClient() *client {
	c := &client{policy: backoff.NewExponentialBackOff()}
	c.policy.InitialInterval = time.Second // want `InitialInterval has no effect`
	return c
}

func (c *client) next() time.Duration { return c.policy.NextBackOff() }

func reset() time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Second
	b.Reset()
	return b.NextBackOff()
}

func looped() {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Second
	_ = backoff.Retry(func() error { _ = b.NextBackOff(); return nil }, b)
}

func others() time.Duration {
	b, given := backoff.NewExponentialBackOff(), backoff.NewExponentialBackOff()
	b.MaxInterval = time.Second
	given.InitialInterval = time.Second
	start(given)
	literal := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	return b.NextBackOff() + given.NextBackOff() + literal.NextBackOff()
}

func newPolicy() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.Reset()
	return b
}

func made() time.Duration {
	b := newPolicy()
	b.InitialInterval = time.Second
	return b.NextBackOff()
}

func start(b backoff.BackOff) { b.Reset() }

func options() time.Duration {
	b := backoff.NewExponentialBackOff(backoff.WithMaxInterval(time.Minute))
	b.InitialInterval = time.Second // want `InitialInterval has no effect`
	option := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second))
	return b.NextBackOff() + option.NextBackOff()
}
