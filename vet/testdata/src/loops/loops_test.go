package loops

import (
	"context"

	"github.com/cenkalti/backoff/v4"
)

//line generated.y:1
func inTest(ctx context.Context) error {
	return backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff())
}
