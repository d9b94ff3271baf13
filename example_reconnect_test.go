package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// session is a connection that ended: how long it held, and why it ended.
type session struct {
	held time.Duration
	err  error
}

// This loop keeps a connection open for as long as the program runs. It never
// gives up. After a connection that held for a while it Resets its policy, so
// that the next attempt comes after the first interval again.
func Example_reconnect() {
	ctx, shutDown := context.WithCancel(context.Background())
	defer shutDown()

	sessions := []session{
		{0, errors.New("connection refused")},
		{0, errors.New("connection refused")},
		{time.Hour, errors.New("connection lost")},
		{0, errors.New("connection refused")},
	}
	// connect stands for a client that opens a connection and reads from it
	// until it ends.
	connect := func() session {
		s := sessions[0]
		if sessions = sessions[1:]; len(sessions) == 0 {
			shutDown() // in a real program, a signal does it
		}
		return s
	}

	policy := backoff.WithContext(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),      // never give up
		backoff.WithRandomizationFactor(0), // for the output only
	), ctx)

	notify := func(err error, wait time.Duration) {
		fmt.Printf("%v; next attempt in %v\n", err, wait)
	}

	err := backoff.RetryNotify(func() error {
		s := connect()
		if s.held >= time.Minute {
			policy.Reset()
		}
		return s.err
	}, policy, notify)
	fmt.Println(err)
	// Output:
	// connection refused; next attempt in 1ms
	// connection refused; next attempt in 2ms
	// connection lost; next attempt in 1ms
	// context canceled: connection refused
}
