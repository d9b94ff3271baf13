package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var errThrottled = errors.New("throttled")

// adaptive is a policy that learns how often it may call a service. Being
// throttled doubles its wait; a success takes a quarter off it.
type adaptive struct{ wait time.Duration }

// Reset does nothing, so the next loop starts with what this one has learned.
func (a *adaptive) Reset() {}

// NextBackOff returns the wait.
func (a *adaptive) NextBackOff() time.Duration { return a.wait }

// Observe is called after each attempt, before NextBackOff.
func (a *adaptive) Observe(err error) {
	switch {
	case err == nil:
		a.wait -= a.wait / 4
	case errors.Is(err, errThrottled):
		a.wait *= 2
	}
}

// A policy with a method Observe adapts to the outcome of the attempts.
func ExampleBackOffObserver() {
	policy := &adaptive{wait: 500 * time.Microsecond}
	calls := 0
	fetch := func() error {
		if calls++; calls <= 3 {
			return errThrottled
		}
		return nil
	}

	err := backoff.RetryNotify(fetch, policy, func(_ error, wait time.Duration) {
		fmt.Println("wait", wait)
	})
	fmt.Println("error:", err)
	fmt.Println("next time", policy.wait)
	// Output:
	// wait 1ms
	// wait 2ms
	// wait 4ms
	// error: <nil>
	// next time 3ms
}
