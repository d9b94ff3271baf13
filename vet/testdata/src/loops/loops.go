package loops

import (
	"context"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
	. "github.com/cenkalti/backoff/v4"
)

func wrong(ctx context.Context) error {
	return backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `this loop goes on when ctx is done: give its policy WithContext \[context\]`
}

func wrongStatement(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) { // want `goes on when ctx is done`
		if err = call(ctx); err == nil {
			return nil
		}
	}
	return err
}

func right(ctx context.Context, given backoff.BackOff) {
	b := backoff.NewExponentialBackOff()
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.WithContext(b, ctx))
	_ = backoff.Retry(func() error { return call(ctx) }, given)
	_ = backoff.Retry(func() error { return backoff.Permanent(call(ctx)) }, b)
	_ = backoff.Retry(func() error { return Permanent(call(ctx)) }, b)
	_ = backoff.Retry(func() error { return final[int]() }, b)
	_ = backoff.Retry(func() error { return list[int]{}.final() }, b)
	_ = backoff.Retry(func() error { return call(context.Background()) }, b)
	go func() { _ = backoff.Retry(func() error { return nil }, b) }()

	valued := context.WithValue(context.Background(), "key", 1)
	go func() { _ = backoff.Retry(func() error { return call(valued) }, b) }()
}

func detached(ctx context.Context) error {
	free := context.WithoutCancel(ctx)
	return backoff.Retry(func() error { return call(free) }, backoff.NewExponentialBackOff())
}

// It ends for another reason than success.
func left(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		if err = call(ctx); err == own.Permanent(nil) {
			break
		}
	}
	return err
}

func call(ctx context.Context) error { return nil }
func final[T any]() error            { return backoff.Permanent(nil) }

type list[T any] struct{}

func (list[T]) final() error { return backoff.Permanent(nil) }
