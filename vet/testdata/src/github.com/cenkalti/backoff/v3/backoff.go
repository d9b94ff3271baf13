// Package backoff has the names of the library that the tests use.
package backoff

import (
	"context"
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

func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts { return nil }

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

type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return "" }

func Permanent(err error) error { return err }

type Ticker struct{ C <-chan time.Time }

func NewTicker(b BackOff) *Ticker { return nil }
