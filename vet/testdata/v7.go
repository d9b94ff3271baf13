// Package backoff has the names that the tests use, of v5 to v7.
package backoff

import (
	"context"
	"time"
)

type BackOff interface {
	NextBackOff() time.Duration
	Reset()
}

type ExponentialBackOff struct{ InitialInterval time.Duration }

func NewExponentialBackOff() *ExponentialBackOff { return &ExponentialBackOff{} }

func (b *ExponentialBackOff) NextBackOff() time.Duration { return 0 }
func (b *ExponentialBackOff) Reset()                     {}

type RetryOption func()

func WithBackOff(b BackOff) RetryOption { return nil }

func Retry[T any](ctx context.Context, operation func() (T, error), opts ...RetryOption) (T, error) {
	return operation()
}
