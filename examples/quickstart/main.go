// Quickstart calls two services that are busy at first. It pings the first in a plain loop. It asks the second, which does
// not know every user, by a Retrier.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

func main() {
	ctx := context.Background()

	fmt.Println("ping, error:", Ping(ctx))

	for _, id := range []string{"42", "43"} {
		user, err := FetchUser(ctx, id)
		fmt.Printf("user %s: %q, error: %v\n", id, user, err)
	}
}

// Ping asks a service for a sign of life, four times at most.
func Ping(ctx context.Context) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)

	return backoff.Retry(func() error {
		return ping(ctx)
	}, backoff.WithContext(policy, ctx))
}

// users is shared by all calls to the service.
var users = backoff.Retrier{
	AttemptTimeout: time.Second,        // at least four times what a call usually takes
	Slots:          new(backoff.Slots), // fewer calls at once while many attempts time out
}

// FetchUser returns the name of a user. If there is no such user, the error is ErrNotFound.
func FetchUser(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // for all attempts and waits
	defer cancel()

	return backoff.DoWithData(ctx, &users, func(ctx context.Context) (string, error) {
		user, err := get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return "", backoff.Permanent(err) // trying again would not help
		}
		return user, err
	})
}

// ErrNotFound is the error for a user that the service does not know.
var ErrNotFound = errors.New("not found")

// errBusy is what both services answer at first.
var errBusy = errors.New("busy")

var pings, gets int

// ping stands for your function.
func ping(context.Context) error {
	pings++
	if pings < 3 {
		fmt.Println("the first service is busy")
		return errBusy
	}
	return nil
}

// get stands for your client of the second service. It makes one attempt: it sends a request with ctx, and reads the
// response before it returns.
func get(_ context.Context, id string) (string, error) {
	gets++
	switch {
	case gets == 1:
		fmt.Println("the second service is busy")
		return "", errBusy
	case id != "42":
		return "", ErrNotFound
	}
	return "Ada", nil
}
