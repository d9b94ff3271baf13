package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// A worker that never gives up needs a loop around Retry. Once the budget is
// exhausted, Retry makes one call and returns at once. So the worker's own
// loop must wait, here by a policy without a budget that never stops.
func ExampleWithBudget_outerLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	budget := &backoff.Budget{Capacity: 5} // pays for one retry

	calls := 0
	fetch := func() error { // the service is back at the fifth call
		if calls++; calls < 5 {
			return errors.New("service down")
		}
		return nil
	}

	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),      // never stop
		backoff.WithRandomizationFactor(0), // for the output only
	)
	for {
		policy := backoff.WithBudget(backoff.NewConstantBackOff(time.Millisecond), budget)
		err := backoff.Retry(fetch, backoff.WithContext(policy, ctx))
		if err == nil {
			break
		}
		wait := pause.NextBackOff()
		fmt.Printf("%v; next round in %v\n", err, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	fmt.Println("done after", calls, "calls")
	// Output:
	// retry budget exhausted: service down; next round in 1ms
	// retry budget exhausted: service down; next round in 2ms
	// retry budget exhausted: service down; next round in 4ms
	// done after 5 calls
}
