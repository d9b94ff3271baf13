package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// counter is a decorator that counts the attempts of a loop.
type counter struct {
	backoff.BackOff
	attempts int
}

// Unwrap lets loops find what is below.
func (c *counter) Unwrap() backoff.BackOff { return c.BackOff }

// Reset is called before the first attempt.
func (c *counter) Reset() {
	c.attempts = 0
	c.BackOff.Reset()
}

// Observe is called after each attempt, before notify.
func (c *counter) Observe(error) { c.attempts++ }

// An observer gives notify the number of the attempt. It is a decorator, so it works with any policy.
func ExampleBackOffObserver_attempts() {
	connect := func() error { return errors.New("connection refused") }

	policy := &counter{
		BackOff: backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Millisecond), 2),
	}
	err := backoff.RetryNotify(connect, policy, func(err error, wait time.Duration) {
		fmt.Printf("attempt %d: %v; next in %v\n", policy.attempts, err, wait)
	})
	fmt.Printf("attempt %d: %v\n", policy.attempts, err)
	// Output:
	// attempt 1: connection refused; next in 1ms
	// attempt 2: connection refused; next in 1ms
	// attempt 3: connection refused
}
