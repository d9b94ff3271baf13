package stop

import (
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func ends() {
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{MaxElapsedTime: time.Second, Stop: backoff.Stop})
	_ = backoff.Retry(op, &backoff.ExponentialBackOff{InitialInterval: time.Second})
	_ = backoff.Retry(op, backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Second)))

	// In this library a policy stops without a Stop, under v4's name too.
	_ = backoff.Retry(op, &own.ExponentialBackOff{MaxElapsedTime: time.Second})
}
