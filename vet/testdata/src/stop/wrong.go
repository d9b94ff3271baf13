package stop

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

func spins() error {
	return backoff.Retry(op, &backoff.ExponentialBackOff{ // want `this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop \[stop\]`
		InitialInterval: time.Second,
		MaxElapsedTime:  time.Minute,
	})
}

func op() error { return nil }
