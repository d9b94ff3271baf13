package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// User is what the service of users returns.
type User struct{ Name string }

// ErrNoUser is returned by FetchUser if there is no such user.
var ErrNoUser = errors.New("no such user")

// users is for all calls to the service of users.
var users = backoff.Retrier{
	AttemptTimeout: 2 * time.Second,
	Slots:          backoff.NewSlots(20), // calls in progress, in this process
}

// FetchUser returns a user. It tries again when a call fails, but not if there is no such user.
func FetchUser(ctx context.Context, id int) (*User, error) {
	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (*User, error) {
		user, err := getUser(ctx, id)
		if errors.Is(err, ErrNoUser) {
			return nil, backoff.Permanent(err)
		}
		return user, err
	})
}

// getUser makes one attempt. In a program it sends a request with ctx, and reads the response.
func getUser(_ context.Context, id int) (*User, error) {
	fmt.Println("get user", id)
	if id != 1 {
		return nil, ErrNoUser
	}
	return &User{Name: "gopher"}, nil
}

// A Retrier is for all calls to a service. That there is no such user is no reason to try again, and the caller
// receives the error without its mark.
func ExampleRetrier() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	user, err := FetchUser(ctx, 1)
	fmt.Println(user.Name, err)

	_, err = FetchUser(ctx, 2)
	fmt.Println(err, err == ErrNoUser)
	// Output:
	// get user 1
	// gopher <nil>
	// get user 2
	// no such user true
}
