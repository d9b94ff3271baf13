package ctx

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func decorated(ctx context.Context) {
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	_ = backoff.Retry(func() error { return call(ctx) }, policy(ctx))
}

// What it returns is not followed.
func policy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
}

// The operation, or what it calls, may end the loop.
func stopped(ctx context.Context, c *client) {
	b := backoff.NewExponentialBackOff()
	_ = backoff.Retry(func() error { return backoff.Permanent(call(ctx)) }, b)
	_ = backoff.Retry(func() error { return c.final() }, b)
	_ = backoff.Retry(func() error { return final(1) }, b)
	_ = backoff.Retry(new(server[int]).final, b)
	_ = backoff.Retry(func() error { return call(ctx) }, &backoff.StopBackOff{})
	_ = backoff.Retry(func() error {
		if ctx.Err() != nil {
			return nil
		}
		return call(ctx)
	}, b)
	_ = backoff.Retry(func() error {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, b)
}

func (c *client) final() error { return backoff.Permanent(c.dial()) }

func (s *server[T]) final() error { return backoff.Permanent(nil) }

func final[T any](v T) error { return backoff.Permanent(nil) }

// What these do is not shown.
func given(ctx context.Context, op func() error, b backoff.BackOff) {
	_ = backoff.Retry(op, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return call(ctx) }, b)
}

// These may end for another reason than success.
func left(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		if err = call(ctx); errors.Is(err, http.ErrNoCookie) {
			break
		}
	}
	return err
}

func ended(ctx context.Context) error {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)))
	for {
		select {
		case <-ticker.C:
			if err := call(ctx); err == nil {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// These go on on purpose.
func detached(ctx context.Context) {
	free := context.WithoutCancel(ctx)
	_ = backoff.Retry(func() error { return call(free) }, backoff.NewExponentialBackOff())
}

func beside(ctx context.Context, c *client) {
	go func() { _ = backoff.Retry(c.dial, backoff.NewExponentialBackOff()) }()
	defer func() { _ = backoff.Retry(c.dial, backoff.NewExponentialBackOff()) }()
}

// These contexts do not end, or end with the attempt, or the loop does not use them.
func unended(r *http.Request) {
	b := backoff.NewExponentialBackOff()
	valued := context.WithValue(context.Background(), "key", 1)
	_ = backoff.Retry(func() error { return call(valued) }, b)
	_ = backoff.Retry(func() error {
		attempt, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return call(attempt)
	}, b)
	_ = backoff.Retry(func() error { log(r.Context()); return nil }, b)
}

func before(c *client) (err error) {
	short, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = call(short)
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		err = c.dial()
	}
	return err
}

func eventually(ctx context.Context, t *testing.T) {
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff())
}

func log(ctx context.Context) {}
