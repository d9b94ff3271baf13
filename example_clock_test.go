package backoff_test

import (
	"fmt"
	"time"

	"example.com/backoff"
)

// stoppedClock is a Clock that a test moves by hand.
type stoppedClock struct{ now time.Time }

// Now returns the time that the clock shows.
func (c *stoppedClock) Now() time.Time { return c.now }

// With a Clock of its own, a test decides how much time has passed for MaxElapsedTime.
func ExampleClock() {
	clock := &stoppedClock{now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
	policy := backoff.NewExponentialBackOff(
		backoff.WithClockProvider(clock),
		backoff.WithMaxElapsedTime(time.Minute),
		backoff.WithRandomizationFactor(0),
	)
	policy.Reset()
	fmt.Println(policy.NextBackOff())

	clock.now = clock.now.Add(time.Minute)
	fmt.Println(policy.GetElapsedTime())
	fmt.Println(policy.NextBackOff() == backoff.Stop)
	// Output:
	// 500ms
	// 1m0s
	// true
}
