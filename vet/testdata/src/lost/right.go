package lost

import (
	"fmt"

	"github.com/cenkalti/backoff/v4"
)

func mark(err error) error {
	policy := backoff.NewExponentialBackOff()
	policy.Reset()
	backoff.Retry(func() error { return nil }, policy)
	if err = checked(err); err != nil {
		return fmt.Errorf("after the loop, or outside of one: %v", err)
	}
	err = backoff.Permanent(fmt.Errorf("100%% of %v", err))
	return fmt.Errorf("found: %w", err)
}
