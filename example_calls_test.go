package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var errNoUser = errors.New("no such user")

// users is the budget for all calls to the service of users.
var users backoff.Budget

// newPolicy returns a policy for one call to the service of users: at most three retries.
func newPolicy(ctx context.Context) backoff.BackOff {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	policy = backoff.WithBudget(policy, &users)
	return backoff.WithContext(policy, ctx)
}

// A policy holds the state of one loop. So a function makes a new one, with all its limits, for each call. All
// calls share the budget.
func Example_calls() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	calls := 0
	findUser := func() (string, error) {
		calls++
		switch calls {
		case 1:
			return "", errors.New("unavailable")
		case 2:
			return "gopher", nil
		}
		return "", backoff.Permanent(errNoUser)
	}
	report := func(err error, _ time.Duration) {
		fmt.Println("next attempt after:", err)
	}

	user, err := backoff.RetryNotifyWithData(findUser, newPolicy(ctx), report)
	fmt.Println(user, err)

	_, err = backoff.RetryNotifyWithData(findUser, newPolicy(ctx), report)
	fmt.Println(err)
	// Output:
	// next attempt after: unavailable
	// gopher <nil>
	// no such user
}
