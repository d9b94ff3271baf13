package lost

import (
	"context"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func find(ctx context.Context, policy backoff.BackOff) error {
	backoff.WithMaxRetries(policy, 3) // want `WithMaxRetries does nothing but return a value, which is lost here \[lost\]`
	return backoff.Retry(func() error {
		err := ctx.Err()
		backoff.Permanent(err)           // want `Permanent does nothing but return a value`
		own.RetryAfter(err, time.Minute) // want `RetryAfter does nothing but return a value`
		return err
	}, policy)
}
