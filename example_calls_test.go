package backoff_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var errGivenUp = errors.New("given up")
var budget backoff.Budget // for all calls to one service

func newPolicy(ctx context.Context, retryable func(error) bool) (b backoff.BackOff) {
	b = backoff.NewExponentialBackOff()      // for 15 minutes in all
	b = backoff.WithMaxRetries(b, 5)         // five retries, six attempts
	b = backoff.WithStopCause(b, errGivenUp) // at either limit the error matches this
	b = backoff.WithRetryIf(b, retryable)
	b = backoff.WithBudget(b, &budget) // an empty budget ends the loop
	return backoff.WithContext(b, ctx) // and so does ctx
}

// A policy holds the state of one loop. So a function returns a new one, with all its limits, for
// each loop; they share the budget.
func Example_calls() {
	ctx := context.Background()
	connect := func() error { return nil }
	calls := 0
	find := func() (string, error) {
		if calls++; calls == 1 {
			return "", errors.New("unavailable")
		}
		return "gopher", nil
	}
	retryable := func(err error) bool { return !errors.Is(err, sql.ErrNoRows) }
	report := func(err error, _ time.Duration) { fmt.Println("next attempt after", err) }

	err := backoff.Retry(connect, newPolicy(ctx, retryable))
	fmt.Println(err)
	user, err := backoff.RetryNotifyWithData(find, newPolicy(ctx, retryable), report)
	fmt.Println(user, err)
	for range backoff.Attempts(newPolicy(ctx, retryable), &err) {
		user, err = find()
	}
	fmt.Println(user, err)
	// Output:
	// <nil>
	// next attempt after unavailable
	// gopher <nil>
	// gopher <nil>
}
