package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// newPolicy stands for the function of your program that makes a policy. Its parameter lets a test turn off
// what is random.
func newPolicy(options ...backoff.ExponentialBackOffOpts) backoff.BackOff {
	exponential := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(200*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(time.Second),
	)
	for _, option := range options {
		option(exponential)
	}
	return backoff.WithMaxRetries(exponential, 4)
}

// Without jitter, a test can say what each wait is. It asks the policy as a loop does, and waits for nothing.
func TestNewPolicy(t *testing.T) {
	policy := newPolicy(backoff.WithJitter(backoff.NoJitter))

	want := []time.Duration{
		200 * time.Millisecond,
		400 * time.Millisecond,
		800 * time.Millisecond,
		time.Second,
		backoff.Stop,
	}
	for _, wait := range want {
		require.Equal(t, wait, policy.NextBackOff())
	}
}
