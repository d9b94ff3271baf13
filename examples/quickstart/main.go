// Quickstart calls a service that is busy at first, and that does not know every user.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

var users = backoff.Retrier{ // shared by all calls to the service
	AttemptTimeout: 2 * time.Second,
	Slots:          new(backoff.Slots),
	Budget:         new(backoff.Budget),
}

// FetchUser returns the name of a user. If there is no such user, the error is ErrNotFound.
func FetchUser(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (string, error) {
		user, err := get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return "", backoff.Permanent(err) // retrying will not help
		}
		return user, err
	})
}

func main() {
	for _, id := range []string{"42", "43"} {
		user, err := FetchUser(context.Background(), id)
		fmt.Printf("user %s: %q, error: %v\n", id, user, err)
	}
}

// ErrNotFound is the error for a user that the service does not know.
var ErrNotFound = errors.New("not found")

var attempts int

// get stands for your client of the service. It makes one attempt: it sends a request with ctx, and reads the
// response before it returns.
func get(_ context.Context, id string) (string, error) {
	attempts++
	switch {
	case attempts == 1:
		fmt.Println("the service is busy")
		return "", errors.New("busy")
	case id != "42":
		return "", ErrNotFound
	}
	return "Ada", nil
}
