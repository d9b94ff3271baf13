package again

import (
	"context"
	"log"

	"example.com/backoff"
)

var jobs backoff.Retrier

func consume(ctx context.Context) {
	for ctx.Err() == nil {
		if err := jobs.Do(ctx, next); err != nil { // want `this loop does not wait, and a call may return immediately: wait between two calls \[again\]`
			log.Print(err)
		}
	}
}

func until(ctx context.Context) {
	for jobs.Do(ctx, next) != nil { // want `does not wait`
	}
}

func next(ctx context.Context) error { return nil }
