package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// keepConnected reconnects until ctx ends, or until connect returns nil.
func keepConnected(ctx context.Context, connect func(context.Context) error) (err error) {
	policy := backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx)
	for range backoff.Attempts(policy, &err) {
		start := time.Now()
		err = connect(ctx) // returns an error when the connection ends; nil ends the loop
		if time.Since(start) > time.Minute {
			policy.Reset() // it was healthy: start over with the first wait
		}
	}
	return err
}

// This loop keeps a connection open for as long as the program runs. It never gives up.
func Example_reconnect() {
	ctx, shutDown := context.WithCancel(context.Background())
	defer shutDown()

	attempts := 0
	connect := func(context.Context) error {
		if attempts++; attempts == 2 {
			shutDown() // in a real program, a signal does it
		}
		return errors.New("connection refused")
	}
	fmt.Println(keepConnected(ctx, connect))
	fmt.Println(attempts, "attempts")
	// Output:
	// context canceled: connection refused
	// 2 attempts
}
