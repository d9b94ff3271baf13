package interval

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

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

func literal() time.Duration {
	b := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	return b.NextBackOff()
}

func given() time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Second
	start(b)
	return b.NextBackOff()
}

func start(b backoff.BackOff) { b.Reset() }
