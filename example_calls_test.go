package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var (
	errUnavailable = errors.New("unavailable")
	errGivenUp     = errors.New("given up")
)

func temporary(err error) bool { return errors.Is(err, errUnavailable) }

var budget = &backoff.Budget{Capacity: 300} // RetryCost 5 × 20 requests a second × 3

func newPolicy(ctx context.Context) (b backoff.BackOff) {
	b = backoff.NewExponentialBackOff()      // how long to wait; 15 minutes in all
	b = backoff.WithMaxRetries(b, 5)         // at most five retries: six attempts
	b = backoff.WithStopCause(b, errGivenUp) // at either limit the error matches errGivenUp
	b = backoff.WithRetryIf(b, temporary)    // retry only if temporary(err) is true
	b = backoff.WithBudget(b, budget)        // and if the budget can pay for it
	return backoff.WithContext(b, ctx)       // and if ctx has not ended
}

// A policy holds the state of one loop. So a function returns a new one, with all its limits, for
// each loop; they share the budget.
func Example_calls() {
	ctx := context.Background()
	connect := func() error { return nil }
	calls := 0
	find := func() (string, error) {
		if calls++; calls == 1 {
			return "", errUnavailable
		}
		return "gopher", nil
	}
	report := func(err error, _ time.Duration) { fmt.Println("next attempt after", err) }

	err := backoff.Retry(connect, newPolicy(ctx))
	fmt.Println(err)
	user, err := backoff.RetryNotifyWithData(find, newPolicy(ctx), report)
	fmt.Println(user, err)
	for range backoff.Attempts(newPolicy(ctx), &err) {
		user, err = find()
	}
	fmt.Println(user, err)
	// Output:
	// <nil>
	// next attempt after unavailable
	// gopher <nil>
	// gopher <nil>
}
