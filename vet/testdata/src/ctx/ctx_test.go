package ctx

import (
	"context"

	"github.com/cenkalti/backoff/v4"
)

func wait(ctx context.Context) error {
	return backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff())
}
