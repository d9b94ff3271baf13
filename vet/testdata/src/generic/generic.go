// Package generic has functions and types with type parameters.
package generic

import (
	"context"
	"net/http"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

var policy = backoff.NewExponentialBackOff()

func load[T any](ctx context.Context, id string) (v T, err error) {
	err = backoff.Retry(op, backoff.WithContext(policy, ctx)) // want `share policy, which`
	return v, err
}

func decode[K comparable, V interface{ ~[]K }](w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(op, policy) // want `share policy, which`
}

func get[T any](ctx context.Context) (T, error) {
	return backoff.RetryWithData[T](func() (v T, err error) { return v, nil }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
}

type server[T any] struct {
	policy backoff.BackOff
	decode func([]byte) (T, error)
}

func NewServer[T any](decode func([]byte) (T, error)) *server[T] {
	return &server[T]{policy: backoff.NewExponentialBackOff(), decode: decode}
}

func (s *server[T]) load(ctx context.Context, id string) error {
	return backoff.Retry(op, backoff.WithContext(s.policy, ctx)) // want `share policy, which`
}

// What a generic function or method does is known where it is called.
func helpers[T any](ctx context.Context, s *server[int], v T) {
	_ = backoff.Retry(func() error { return final[T](v) }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return s.final() }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(s.final, backoff.NewExponentialBackOff())
}

func final[T any](v T) error      { return backoff.Permanent(nil) }
func (s *server[T]) final() error { return backoff.Permanent(nil) }

func pause[T any]() {
	b := backoff.NewExponentialBackOff()
	for {
		time.Sleep(b.NextBackOff()) // want `Sleep does not wait then`
	}
}

func start[T any](values []T) {
	b := own.NewExponentialBackOff()
	work := func() { _ = own.Retry(op, b) } // want `share b, which`
	for range values {
		go work()
		go process[T](b)
	}
}

func process[T any](b own.BackOff) { _ = own.Retry(op, b) }

var hook = func(attempt int) time.Duration { return policy.NextBackOff() } // want `share policy, which`

func op() error { return nil }
