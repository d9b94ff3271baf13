package again

import (
	"context"
	"log"
	"time"

	"example.com/backoff"
)

var jobs backoff.Retrier

func wrong(ctx context.Context) {
	for ctx.Err() == nil {
		if err := jobs.Do(ctx, next); err != nil { // want `this loop does not wait, and a call may return immediately: wait between two calls \[again\]`
			log.Print(err)
		}
	}
	for jobs.Do(ctx, next) != nil { // want `does not wait`
	}
}

func right(ctx context.Context, messages chan string, pages int) error {
	for ctx.Err() == nil {
		_ = jobs.Do(ctx, next)
		time.Sleep(time.Second)
	}
	for range messages {
		_ = jobs.Do(ctx, next)
	}
	for pages > 0 {
		_ = jobs.Do(ctx, next)
	}
	for messages != nil {
		_ = jobs.Do(ctx, next)
		messages = nil
	}
	for {
		if err := jobs.Do(ctx, next); err != nil {
			return err
		}
	}
}

func next(ctx context.Context) error { return nil }
