package ctx

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func load(ctx context.Context) error {
	return backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `this loop goes on when ctx is done: give its policy WithContext \[context\]`
}

func generic[T any](ctx context.Context) (T, error) {
	return backoff.RetryWithData[T](func() (v T, err error) { return v, nil }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
}

type client struct{}

func (c *client) dial() error { return nil }

func (c *client) methods(ctx context.Context) {
	dial := c.dial
	b := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	_ = backoff.Retry(c.dial, b) // want `goes on when ctx is done`
	_ = backoff.Retry(dial, b)   // want `goes on when ctx is done`

	_ = backoff.Retry(new(server[int]).dial, b) // want `goes on when ctx is done`
}

type server[T any] struct{}

func (s *server[T]) dial() error { return nil }

func attempts(ctx context.Context) (err error) {
	for range own.Attempts(own.NewLinearBackOff(time.Second), &err) { // want `goes on when ctx is done`
		if err = call(ctx); err == nil {
			return nil
		}
	}
	return err
}

func ticks(ctx context.Context) (err error) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
	for range ticker.C {
		if err = call(ctx); err != nil {
			continue
		}
		break
	}
	return err
}

func served(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(func() error { return call(r.Context()) }, backoff.NewExponentialBackOff()) // want `goes on when r.Context\(\) is done`
}

func made() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() {
		_ = backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
	}()
}

func call(ctx context.Context) error { return nil }
