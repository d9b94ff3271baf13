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

type ZeroBackOff struct{}

func (b *ZeroBackOff) NextBackOff() time.Duration { return 0 }
func (b *ZeroBackOff) Reset()                     {}

type StopBackOff struct{}

func (b *StopBackOff) NextBackOff() time.Duration { return Stop }
func (b *StopBackOff) Reset()                     {}

type ConstantBackOff struct{ Interval time.Duration }

func NewConstantBackOff(d time.Duration) *ConstantBackOff { return &ConstantBackOff{d} }

func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }
func (b *ConstantBackOff) Reset()                     {}

type Clock interface{ Now() time.Time }

var SystemClock Clock

type ExponentialBackOff struct {
	InitialInterval, MaxInterval, MaxElapsedTime, Stop time.Duration
	Clock                                              Clock
}

type ExponentialBackOffOpts func(*ExponentialBackOff)

func WithInitialInterval(d time.Duration) ExponentialBackOffOpts   { return nil }
func WithMaxInterval(d time.Duration) ExponentialBackOffOpts       { return nil }
func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts    { return nil }
func WithRetryStopDuration(d time.Duration) ExponentialBackOffOpts { return nil }

func NewExponentialBackOff(opts ...ExponentialBackOffOpts) *ExponentialBackOff {
	return &ExponentialBackOff{}
}

func (b *ExponentialBackOff) NextBackOff() time.Duration { return 0 }
func (b *ExponentialBackOff) Reset()                     {}

type BackOffContext interface {
	BackOff
	Context() context.Context
}

func WithContext(b BackOff, ctx context.Context) BackOffContext { return nil }
func WithMaxRetries(b BackOff, max uint64) BackOff              { return b }

type Operation func() error

type Notify func(error, time.Duration)

func Retry(o Operation, b BackOff) error                             { return o() }
func RetryNotify(o Operation, b BackOff, notify Notify) error        { return o() }
func RetryWithData[T any](o func() (T, error), b BackOff) (T, error) { return o() }

func Permanent(err error) error { return err }

type Ticker struct{ C <-chan time.Time }

func NewTicker(b BackOff) *Ticker { return nil }

func (t *Ticker) Stop() {}

type LinearBackOff struct{ Interval time.Duration }

func NewLinearBackOff(d time.Duration) *LinearBackOff { return &LinearBackOff{d} }

func (b *LinearBackOff) NextBackOff() time.Duration { return b.Interval }
func (b *LinearBackOff) Reset()                     {}

type Budget struct{ Capacity int }

func (b *Budget) Withdraw() bool { return true }

func WithBudget(b BackOff, budget *Budget) BackOff              { return b }
func WithRetryIf(b BackOff, retryable func(error) bool) BackOff { return b }
func Attempts(b BackOff, err *error) iter.Seq[int]              { return nil }
func RetryAfter(err error, d time.Duration) error               { return err }
func RetryableStatus(code int) bool                             { return false }

type Slots struct{ n int }

func NewSlots(n int) *Slots { return &Slots{n} }

func (s *Slots) Acquire(ctx context.Context, timeout time.Duration) error { return nil }
func (s *Slots) Release()                                                 {}

type Retrier struct {
	AttemptTimeout time.Duration
	Slots          *Slots
	MaxRetries     int
	Policy         func() BackOff
	Retryable      func(err error) bool
	Budget         *Budget
	Notify         func(ctx context.Context, attempt int, err error, wait time.Duration)
	Done           func(ctx context.Context, attempts int, err error)
}

func (r *Retrier) Do(ctx context.Context, op func(ctx context.Context) error) error { return op(ctx) }

func DoWithData[T any](ctx context.Context, r *Retrier, op func(ctx context.Context) (T, error)) (T, error) {
	return op(ctx)
}
