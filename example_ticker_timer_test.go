package backoff_test

import (
	"fmt"
	"time"

	"example.com/backoff"
)

// handTimer is a Timer that a test works by hand: it receives each wait from
// waits, and ends it by a send on over.
type handTimer struct {
	waits chan time.Duration
	over  chan time.Time
}

// Start hands the wait to the test.
func (t *handTimer) Start(d time.Duration) { t.waits <- d }

// Stop has nothing to stop.
func (t *handTimer) Stop() {}

// C returns the channel on which the test ends the wait.
func (t *handTimer) C() <-chan time.Time { return t.over }

// With a Timer of its own, a test decides when the next tick comes.
func ExampleNewTickerWithTimer() {
	timer := &handTimer{waits: make(chan time.Duration), over: make(chan time.Time)}
	policy := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Hour), 1)
	ticker := backoff.NewTickerWithTimer(policy, timer)
	defer ticker.Stop()

	<-ticker.C
	fmt.Println("first attempt")

	fmt.Println("wait", <-timer.waits)
	timer.over <- time.Now()

	<-ticker.C
	fmt.Println("second attempt")

	_, ok := <-ticker.C
	fmt.Println("another tick:", ok)
	// Output:
	// first attempt
	// wait 1h0m0s
	// second attempt
	// another tick: false
}
