package attempt

import (
	"context"

	"example.com/backoff"
)

func given(ctx context.Context) {
	_ = users.Do(ctx, func(ctx context.Context) error { return get(ctx) })
	_ = users.Do(ctx, get)
}

// These may go on after the attempt, or do not fail.
func beside(ctx context.Context) {
	_ = users.Do(ctx, func(attempt context.Context) error {
		log(ctx)
		go get(ctx)
		defer get(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return get(attempt)
	})
}

func detached(ctx context.Context) {
	free := context.WithoutCancel(ctx)
	_ = users.Do(ctx, func(context.Context) error { return get(free) })
}

// An attempt has no end of its own.
var unlimited = backoff.Retrier{AttemptTimeout: -1}

func long(ctx context.Context) {
	_ = unlimited.Do(ctx, func(context.Context) error { return get(ctx) })
}

func log(ctx context.Context) {}
