package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// users is shared by all calls to the service.
var users = backoff.Retrier{
	AttemptTimeout: time.Second,        // at least four times what a call usually takes
	Slots:          new(backoff.Slots), // fewer calls at once while many attempts time out
}

// FetchUser returns a user. If there is no such user, the error is ErrNotFound.
func FetchUser(ctx context.Context, id string) (*User, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // for all attempts and waits
	defer cancel()

	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (*User, error) {
		user, err := api.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return nil, backoff.Permanent(err) // trying again would not help
		}
		return user, err
	})
}

// User is what the service returns.
type User struct{ Name string }

// ErrNotFound is the error for a user that the service does not know.
var ErrNotFound = errors.New("no such user")

// api stands for your client of the service.
var api client

type client struct{ calls int }

// Get makes one attempt, and the first fails. A real one sends a request with ctx, and reads the response before it
// returns.
func (c *client) Get(_ context.Context, id string) (*User, error) {
	fmt.Println("get", id)
	c.calls++
	switch {
	case c.calls == 1:
		return nil, errors.New("busy")
	case id != "ada":
		return nil, ErrNotFound
	}
	return &User{Name: "Ada"}, nil
}

// A Retrier is for all calls to a service. Its timeout and its slots are for this service alone. The first attempt
// fails, and the second, about half a second later, does not. That there is no such user is no reason to try again, and
// the caller receives the error without its mark.
func ExampleRetrier() {
	ctx := context.Background()
	api = client{}

	user, err := FetchUser(ctx, "ada")
	fmt.Println(user.Name, err)

	_, err = FetchUser(ctx, "bob")
	fmt.Println(err, err == ErrNotFound)
	// Output:
	// get ada
	// get ada
	// Ada <nil>
	// get bob
	// no such user true
}
