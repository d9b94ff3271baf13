package classify

import (
	"context"
	"errors"
)

func asked(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return temporary(err)
}

func askedInside(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return alive(ctx, err) && over(err)
}

func alive(ctx context.Context, err error) bool { return ctx.Err() == nil && temporary(err) }

func over(err error) bool { return errors.Is(err, context.Canceled) }

func endless() bool { return temporary(uploads.Do(context.Background(), put)) }
