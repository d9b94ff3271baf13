package backoff_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// fastTimer is a Timer for simulations: an hour takes 3.6 ms.
type fastTimer struct{ timer *time.Timer }

// Start begins a wait of a millionth of d.
func (t *fastTimer) Start(d time.Duration) { t.timer = time.NewTimer(d / 1_000_000) }

// Stop ends the wait. Start may never have been called.
func (t *fastTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// C returns the channel of the wait that Start has begun.
func (t *fastTimer) C() <-chan time.Time { return t.timer.C }

// With a Timer of its own, a simulation lets time pass faster.
func ExampleRetryNotifyWithTimerAndData() {
	calls := 0
	fetch := func() (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("busy")
		}
		return "hello", nil
	}
	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	policy := backoff.NewConstantBackOff(time.Hour)
	text, err := backoff.RetryNotifyWithTimerAndData(fetch, policy, notify, &fastTimer{})
	fmt.Println(text, err)
	// Output:
	// busy; next attempt in 1h0m0s
	// busy; next attempt in 1h0m0s
	// hello <nil>
}
