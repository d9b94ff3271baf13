package equal

import (
	"context"
	"errors"

	"example.com/backoff"
)

var (
	errMissing = errors.New("missing")
	users      backoff.Retrier
)

func wrong(ctx context.Context) int {
	err := users.Do(ctx, get)
	if err != nil && err != errMissing { // want `this error can be errMissing joined to another, which is not equal to it: use errors.Is \[equal\]`
		return 500
	}
	switch err { // want `this error can be context.Canceled joined`
	case nil:
		return 200
	case context.Canceled:
		return 499
	}
	return 404
}

func wrongPart(ctx context.Context) bool {
	err := users.Do(ctx, func(ctx context.Context) error { return backoff.Permanent(get(ctx)) })
	return err == backoff.ErrNoSlot // want `this error can be backoff.ErrNoSlot joined`
}

func wrongLoop(ctx context.Context) bool {
	err := backoff.Retry(func() error { return get(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	return err == context.DeadlineExceeded // want `this error can be context.DeadlineExceeded joined`
}

func wrongStatement(ctx context.Context) bool {
	var err error
	for range backoff.Attempts(backoff.WithContext(backoff.NewExponentialBackOff(), ctx), &err) {
		err = get(ctx)
	}
	return err == context.Canceled // want `this error can be context.Canceled joined`
}

// These errors come as they are.
func right(ctx context.Context, known error) bool {
	err := users.Do(ctx, get)
	if err == nil || err == known {
		return false
	}
	err = users.Do(ctx, func(ctx context.Context) error { return backoff.Permanent(errMissing) })
	if err == errMissing {
		return false
	}
	once := users
	once.MaxAttempts = 1
	if err := once.Do(ctx, get); err == errMissing {
		return false
	}
	err = backoff.Retry(func() error { return get(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	return err == errMissing
}

func get(ctx context.Context) error { return nil }
