package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var errNoUser = errors.New("no such user")

// fetchUser stands for a call to a service.
func fetchUser(attempt, id int) (name string, err error) {
	switch {
	case attempt < 3:
		return "", errors.New("busy")
	case id != 1:
		return "", errNoUser
	}
	return "gopher", nil
}

// userName returns the name of a user, or "guest" if the service knows none.
func userName(ctx context.Context, id int) (name string, err error) {
	policy := backoff.WithContext(backoff.NewConstantBackOff(time.Millisecond), ctx)
	for attempt := range backoff.Attempts(policy, &err) {
		name, err = fetchUser(attempt, id)
		if errors.Is(err, errNoUser) {
			return "guest", nil
		}
	}
	return name, err
}

// In a function with named results the loop sets both. The body may return early.
func ExampleAttempts_value() {
	fmt.Println(userName(context.Background(), 1))
	fmt.Println(userName(context.Background(), 2))
	// Output:
	// gopher <nil>
	// guest <nil>
}
