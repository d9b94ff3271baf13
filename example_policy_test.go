package backoff_test

import (
	"context"
	"errors"
	"fmt"

	"example.com/backoff"
)

// User is what the service knows of a user.
type User struct{ Name string }

// fetch stands for a call to the service.
func fetch(_ context.Context, id string) (*User, error) {
	if id != "1" {
		return nil, backoff.Permanent(errors.New("no such user"))
	}
	return &User{Name: "gopher"}, nil
}

// policy returns a new policy, for one call to the service.
func policy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 5), ctx)
}

// get returns a user. It is safe for concurrent use.
func get(ctx context.Context, id string) (u *User, err error) {
	for range backoff.Attempts(policy(ctx), &err) {
		u, err = fetch(ctx, id)
	}
	return u, err
}

// A policy holds the state of one loop. So build one for each call, in a function.
func Example_policy() {
	u, err := get(context.Background(), "1")
	fmt.Println(u.Name, err)

	_, err = get(context.Background(), "2")
	fmt.Println(err)
	// Output:
	// gopher <nil>
	// no such user
}
