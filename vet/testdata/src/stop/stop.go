package stop

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

func spins() {
	b := &backoff.ExponentialBackOff{
		InitialInterval: time.Second,
		MaxElapsedTime:  10 * time.Second,
		Clock:           backoff.SystemClock,
	}
	_ = backoff.Retry(op, b)                            // want `this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop \[stop\]`
	_ = backoff.NewTicker(backoff.WithMaxRetries(b, 9)) // want `goes on without waits`
}

func ends(limit time.Duration) {
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{MaxElapsedTime: time.Second, Stop: backoff.Stop})
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{MaxElapsedTime: 0})
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{MaxElapsedTime: limit})
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{InitialInterval: time.Second})
	_ = backoff.Retry(op, backoff.NewExponentialBackOff())
	b := &backoff.ExponentialBackOff{MaxElapsedTime: time.Second}
	b.Stop = backoff.Stop
	_ = backoff.Retry(op, b)
}

// Its caller compares the waits with 0.
func byHand() time.Duration {
	b := &backoff.ExponentialBackOff{MaxElapsedTime: time.Second}
	return b.NextBackOff()
}

func op() error { return nil }
