package backoff

import (
	"math/rand/v2"
	"time"
)

// Defaults for the fields of [ExponentialBackOff], as [NewExponentialBackOff] sets them.
const (
	DefaultInitialInterval     = 500 * time.Millisecond
	DefaultRandomizationFactor = 0.5
	DefaultMultiplier          = 1.5
	DefaultMaxInterval         = 60 * time.Second
	DefaultMaxElapsedTime      = 15 * time.Minute
)

// ExponentialBackOffOpts is an option for [NewExponentialBackOff].
type ExponentialBackOffOpts func(*ExponentialBackOff)

// NewExponentialBackOff returns an [ExponentialBackOff] with the default values and then opts applied.
// Its elapsed time starts at Reset, which every loop calls, or else at the first NextBackOff.
func NewExponentialBackOff(opts ...ExponentialBackOffOpts) *ExponentialBackOff {
	b := &ExponentialBackOff{
		InitialInterval:     DefaultInitialInterval,
		RandomizationFactor: DefaultRandomizationFactor,
		Multiplier:          DefaultMultiplier,
		MaxInterval:         DefaultMaxInterval,
		MaxElapsedTime:      DefaultMaxElapsedTime,
		Stop:                Stop,
		Clock:               SystemClock,
	}
	for _, opt := range opts {
		opt(b)
	}
	return b
}

// WithInitialInterval sets InitialInterval.
func WithInitialInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.InitialInterval = d }
}

// WithRandomizationFactor sets RandomizationFactor.
func WithRandomizationFactor(factor float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.RandomizationFactor = factor }
}

// WithMultiplier sets Multiplier.
func WithMultiplier(multiplier float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Multiplier = multiplier }
}

// WithMaxInterval sets MaxInterval.
func WithMaxInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxInterval = d }
}

// WithMaxElapsedTime sets MaxElapsedTime.
func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxElapsedTime = d }
}

// WithRetryStopDuration sets Stop.
func WithRetryStopDuration(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Stop = d }
}

// WithJitter sets Jitter.
func WithJitter(jitter Jitter) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Jitter = jitter }
}

// WithRand sets Rand.
func WithRand(r *rand.Rand) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Rand = r }
}

// WithClockProvider sets Clock.
func WithClockProvider(clock Clock) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Clock = clock }
}
