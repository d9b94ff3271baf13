// Quickstart calls a service whose first answer is an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var users = backoff.Retrier{ // one for each service, shared by all calls to it
	AttemptTimeout: 2 * time.Second,
	Slots:          backoff.NewSlots(20), // 3/4 × 13 calls a second × 2 s
	Budget:         new(backoff.Budget),
}

// FetchUser returns a user. If there is no such user, the error is ErrNotFound.
func FetchUser(ctx context.Context, id string) (*User, error) {
	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (*User, error) {
		user, err := api.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return nil, backoff.Permanent(err) // trying again will not help
		}
		return user, err
	})
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	for _, id := range []string{"ada", "bob"} {
		user, err := FetchUser(ctx, id)
		if err != nil {
			fmt.Printf("user %s: %v\n", id, err)
			continue
		}
		fmt.Printf("user %s: the name is %s\n", id, user.Name)
	}
}

// User is what the service returns.
type User struct{ Name string }

// ErrNotFound is the error for a user that the service does not know.
var ErrNotFound = errors.New("no such user")

// api stands for your client of the service.
var api client

type client struct{ calls int }

// Get makes one attempt. A real one sends a request with ctx, and reads the response before it returns.
func (c *client) Get(_ context.Context, id string) (*User, error) {
	c.calls++
	switch {
	case c.calls == 1:
		fmt.Println("the service is busy")
		return nil, errors.New("busy")
	case id != "ada":
		return nil, ErrNotFound
	}
	return &User{Name: "Ada"}, nil
}
