package lost

import (
	"fmt"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func wrong(policy backoff.BackOff, err error) error {
	return backoff.Retry(func() error {
		if err := checked(err); err != nil {
			return fmt.Errorf("%d: %v", 1, err) // want `what Permanent returns is only text under %v: use %w \[lost\]`
		}
		err = own.RetryAfter(err, 1)
		return fmt.Errorf("%s", err) // want `what RetryAfter returns is only text under %s`
	}, policy)
}

func right(err error) error {
	if err = checked(err); err != nil {
		return fmt.Errorf("outside of a loop: %v", err)
	}
	if err == nil {
		err = backoff.Permanent(err)
		return err
	}
	_ = fmt.Errorf("%v", err)
	err = backoff.Permanent(fmt.Errorf("100%% of %v", err))
	return fmt.Errorf("found: %w", err)
}

func checked(err error) error { return backoff.Permanent(err) }
