package again

import (
	"context"
	"time"
)

func waits(ctx context.Context, messages chan string) error {
	for ctx.Err() == nil {
		_ = jobs.Do(ctx, next)
		time.Sleep(time.Second)
	}
	for {
		<-messages
		_ = jobs.Do(ctx, next)
	}
}

func leaves(ctx context.Context, pages int) error {
	for pages > 0 {
		_ = jobs.Do(ctx, next)
	}
	for {
		if err := jobs.Do(ctx, next); err != nil {
			return err
		}
	}
}
