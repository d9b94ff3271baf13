package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// noWait is a Timer that prints each wait and ends it immediately.
type noWait struct{ c chan time.Time }

// Start begins a wait, which is over already.
func (t *noWait) Start(d time.Duration) {
	fmt.Println("wait", d)
	t.c = make(chan time.Time, 1)
	t.c <- time.Now()
}

// Stop has nothing to stop.
func (t *noWait) Stop() {}

// C returns the channel of the last wait.
func (t *noWait) C() <-chan time.Time { return t.c }

// With a Timer of its own, a test does not wait.
func ExampleRetryNotifyWithTimer() {
	calls := 0
	connect := func() error {
		calls++
		if calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}

	policy := backoff.NewConstantBackOff(time.Hour)
	err := backoff.RetryNotifyWithTimer(connect, policy, nil, &noWait{})
	fmt.Println("error:", err)
	// Output:
	// wait 1h0m0s
	// wait 1h0m0s
	// error: <nil>
}
