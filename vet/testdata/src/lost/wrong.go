package lost

import (
	"fmt"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func find(policy backoff.BackOff, err error) error {
	backoff.WithMaxRetries(policy, 3) // want `WithMaxRetries does nothing but return a value, which is lost here \[lost\]`
	return backoff.Retry(func() error {
		backoff.Permanent(err) // want `Permanent does nothing but return a value`
		if err := checked(err); err != nil {
			return fmt.Errorf("%d: %v", 1, err) // want `what Permanent returns is only text under %v: use %w \[lost\]`
		}
		return fmt.Errorf("%s", own.RetryAfter(err, 1)) // want `what RetryAfter returns is only text under %s`
	}, policy)
}

func checked(err error) error { return backoff.Permanent(err) }
