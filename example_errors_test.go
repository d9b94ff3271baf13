package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// try retries operation, and says in words how that ended.
func try(operation backoff.Operation, policy backoff.BackOff) string {
	switch err := backoff.Retry(operation, policy); {
	case err == nil:
		return "success"
	case errors.Is(err, context.Canceled):
		return "shutdown"
	case errors.Is(err, context.DeadlineExceeded):
		return "out of time"
	default:
		return "failure: " + err.Error()
	}
}

// Ask the error why a loop ended, not the context: a wait that would outlast the deadline is refused,
// and the context has not ended then.
func Example_outcome() {
	policy := func(ctx context.Context) backoff.BackOff {
		return backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), ctx)
	}
	background := context.Background()
	canceled, cancel := context.WithCancel(background)
	cancel()
	minute, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()

	fmt.Println(try(func() error { return nil }, policy(background)))
	fmt.Println(try(func() error { return errors.New("busy") }, policy(background)))
	fmt.Println(try(func() error { return errors.New("busy") }, policy(canceled)))
	fmt.Println(try(func() error { return backoff.RetryAfter(errors.New("busy"), time.Hour) }, policy(minute)))
	fmt.Println(minute.Err(), context.Cause(minute))
	// Output:
	// success
	// failure: busy
	// shutdown
	// out of time
	// <nil> <nil>
}
