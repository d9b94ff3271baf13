package lost

import "github.com/cenkalti/backoff/v4"

func mark(err error) error {
	policy := backoff.NewExponentialBackOff()
	policy.Reset()
	backoff.Retry(func() error { return nil }, policy)
	err = backoff.Permanent(err)
	return backoff.Permanent(err)
}
