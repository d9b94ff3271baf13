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

func newPolicy(ctx context.Context) (b backoff.BackOff) {
	b = backoff.NewExponentialBackOff()      // how long to wait; for 15 minutes in all
	b = backoff.WithMaxRetries(b, 5)         // at most five retries: six attempts
	b = backoff.WithStopCause(b, errGivenUp) // at either limit the error matches errGivenUp
	b = backoff.WithRetryIf(b, func(err error) bool { return !errors.Is(err, sql.ErrNoRows) })
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
