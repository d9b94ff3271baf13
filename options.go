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

// NewExponentialBackOff returns an [ExponentialBackOff] with the default values, changed by opts. It waits about
// 0.5 s, 0.75 s, 1.1 s and so on, up to about a minute, and gives up after 15 minutes.
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

// WithInitialInterval sets InitialInterval, from which the waits grow. Zero means no waits.
func WithInitialInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.InitialInterval = d }
}

// WithRandomizationFactor sets RandomizationFactor: how far a wait may be from its interval, from 0 to 1.
func WithRandomizationFactor(factor float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.RandomizationFactor = factor }
}

// WithMultiplier sets Multiplier, by which the interval grows.
func WithMultiplier(multiplier float64) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Multiplier = multiplier }
}

// WithMaxInterval sets MaxInterval, up to which the interval grows.
func WithMaxInterval(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxInterval = d }
}

// WithMaxElapsedTime sets MaxElapsedTime, the time for all attempts and waits. Zero means no limit.
func WithMaxElapsedTime(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.MaxElapsedTime = d }
}

// WithRetryStopDuration sets Stop, which NextBackOff returns in place of a wait that does not fit into
// MaxElapsedTime. It is seldom needed.
func WithRetryStopDuration(d time.Duration) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Stop = d }
}

// WithJitter sets Jitter, which selects how waits are randomized.
func WithJitter(jitter Jitter) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Jitter = jitter }
}

// WithRand sets Rand, the source of randomness, for waits that can be reproduced.
func WithRand(r *rand.Rand) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Rand = r }
}

// WithClockProvider sets Clock, which measures the elapsed time.
func WithClockProvider(clock Clock) ExponentialBackOffOpts {
	return func(b *ExponentialBackOff) { b.Clock = clock }
}
