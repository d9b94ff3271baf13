// Package backoff has the names that the tests use, of example.com/backoff and of v1 to v4.
package backoff

import (
	"context"
	"iter"
	"time"
)

const Stop time.Duration = -1

type BackOff interface {
	NextBackOff() time.Duration
	Reset()
}

type ConstantBackOff struct{ Interval time.Duration }

func NewConstantBackOff(d time.Duration) *ConstantBackOff { return &ConstantBackOff{d} }

func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }
func (b *ConstantBackOff) Reset()                     {}

type ExponentialBackOff struct {
	InitialInterval, MaxInterval, MaxElapsedTime, Stop time.Duration
}

type ExponentialBackOffOpts func(*ExponentialBackOff)

func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts { return nil }

func NewExponentialBackOff(opts ...ExponentialBackOffOpts) *ExponentialBackOff {
	return &ExponentialBackOff{}
}

func (b *ExponentialBackOff) NextBackOff() time.Duration { return 0 }
func (b *ExponentialBackOff) Reset()                     {}

func WithContext(b BackOff, ctx context.Context) BackOff { return b }
func WithMaxRetries(b BackOff, max uint64) BackOff       { return b }

func Retry(o func() error, b BackOff) error        { return o() }
func Attempts(b BackOff, err *error) iter.Seq[int] { return nil }
func RetryAfter(err error, d time.Duration) error  { return err }
func Permanent(err error) error                    { return err }

var ErrNoSlot error

type Budget struct{ Capacity int }

type Slots struct{ n int }

func NewSlots(n int) *Slots { return &Slots{n} }

type Retrier struct {
	AttemptTimeout time.Duration
	Slots          *Slots
	MaxAttempts    int
	Policy         func() BackOff
	Retryable      func(error) bool
	Budget         *Budget
}

func (r *Retrier) Do(ctx context.Context, op func(ctx context.Context) error) error { return op(ctx) }

func DoWithData[T any](ctx context.Context, r *Retrier, op func(ctx context.Context) (T, error)) (T, error) {
	return op(ctx)
}
