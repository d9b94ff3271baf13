package classify

import (
	"context"
	"errors"

	"example.com/backoff"
)

type status struct{}

func (*status) Error() string { return "" }

var uploads backoff.Retrier

func wrong(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return errors.As(err, new(*status)) // want `if ctx has ended, err also matches the last attempt's error: ask for the context's end first \[classify\]`
}

func wrongLoop(ctx context.Context) bool {
	err := backoff.Retry(func() error { return put(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	return temporary(err) // want `if ctx has ended`
}

func right(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return !errors.Is(err, context.Canceled) && temporary(err)
}

func helped(ctx context.Context) bool {
	err := uploads.Do(ctx, put)
	return over(err) || temporary(err)
}

// An error of that kind may end these loops.
var some = backoff.Retrier{Retryable: temporary}

func final(ctx context.Context) bool {
	if err := some.Do(ctx, put); temporary(err) {
		return true
	}
	err := uploads.Do(ctx, func(ctx context.Context) error { return backoff.Permanent(put(ctx)) })
	return temporary(err)
}

func endless() bool {
	err := uploads.Do(context.Background(), put)
	return temporary(err)
}

func put(ctx context.Context) error { return nil }
func temporary(err error) bool      { return errors.As(err, new(*status)) }
func over(err error) bool           { return errors.Is(err, context.Canceled) }
