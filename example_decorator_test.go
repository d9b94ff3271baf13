package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// withMaxWait is a decorator: no wait is longer than max.
type withMaxWait struct {
	backoff.BackOff
	max time.Duration
}

// NextBackOff returns the policy's wait, or max if that is shorter. A negative wait, which means to give up,
// stays negative.
func (b withMaxWait) NextBackOff() time.Duration {
	return min(b.BackOff.NextBackOff(), b.max)
}

// Unwrap lets loops find the context below.
func (b withMaxWait) Unwrap() backoff.BackOff { return b.BackOff }

// A decorator wraps a policy and has a method Unwrap.
func ExampleBackOff_decorator() {
	ctx, shutDown := context.WithCancel(context.Background())
	calls := 0
	connect := func() error {
		calls++
		if calls == 4 {
			shutDown()
		}
		return errors.New("connection refused")
	}

	policy := withMaxWait{
		BackOff: backoff.WithContext(backoff.NewLinearBackOff(2*time.Millisecond), ctx),
		max:     5 * time.Millisecond,
	}
	err := backoff.RetryNotify(connect, policy, func(_ error, wait time.Duration) {
		fmt.Println("wait", wait)
	})
	fmt.Println("error:", err)
	// Output:
	// wait 2ms
	// wait 4ms
	// wait 5ms
	// error: context canceled: connection refused
}
