package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// invoices is for all calls to the service of invoices. Its calls can wait, so it has no budget.
var invoices = backoff.Retrier{
	AttemptTimeout: 5 * time.Second,
	Slots:          new(backoff.Slots),
	Policy: func() backoff.BackOff {
		return backoff.NewConstantBackOff(time.Microsecond) // for the example; without Policy, waits grow from 0.5 s
	},
}

// consume sends messages to the service of invoices until there are no more, or ctx ends.
func consume(ctx context.Context, messages <-chan string) error {
	for message := range messages {
		err := invoices.Do(ctx, func(ctx context.Context) error {
			return send(ctx, message)
		})
		switch {
		case err == nil:
			fmt.Println(message, "is done")
		case ctx.Err() != nil:
			return err // the message stays in the queue
		case errors.Is(err, backoff.ErrRetriesExhausted):
			fmt.Println(message, "is put back, for later:", err)
		default:
			fmt.Println(message, "is rejected, and needs a person:", err)
		}
	}
	return nil
}

// send makes one attempt.
func send(_ context.Context, message string) error {
	switch message {
	case "invoice 2":
		return errors.New("status 503")
	case "invoice 3":
		return backoff.Permanent(errors.New("status 422"))
	}
	return nil
}

// A queue consumer needs to know why a call failed. If no retries were left, the message may succeed later. An
// error that Permanent marked means that it never will. A message that the end of the program cuts off stays in
// the queue.
//
// A message that always fails for another reason comes back forever here. The consumer of docs/recipes.md counts
// failures while others get through, sets such a message aside, and pauses while the service is down.
func ExampleRetrier_consumer() {
	messages := make(chan string, 4)
	messages <- "invoice 1"
	messages <- "invoice 2"
	messages <- "invoice 3"
	messages <- "invoice 4"
	close(messages)

	err := consume(context.Background(), messages)
	fmt.Println("error:", err)
	// Output:
	// invoice 1 is done
	// invoice 2 is put back, for later: retries exhausted: status 503
	// invoice 3 is rejected, and needs a person: status 422
	// invoice 4 is done
	// error: <nil>
}
