package compat_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A waitCase is a case about the waits of a peer's policy, asked of one of ours.
type waitCase struct {
	name    string
	differs string // why, in a few words; empty if the waits are the peer's
	policy  backoff.BackOff
	least   []time.Duration // of the first waits
	most    []time.Duration // nil if least is exact
	last    time.Duration   // at most, of the 128th wait; 0 if it is not asked for
}

const (
	ms  = time.Millisecond
	sec = time.Second
)

// The rows are those of all peers.
//
// 19 rows: 17 pass, 2 differ on purpose.
//
// Not asked: the waits of a negative attempt (heimdall), since a policy has no number of the attempt to be
// called with, and the other sizes of jitter in heimdall's tests: its jitter is a number of milliseconds.
var waitCases = []waitCase{
	{
		name:   "go-retryablehttp: TestBackoff",
		policy: exponential(sec, 5*time.Minute, backoff.NoJitter),
		least:  []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec},
		last:   5 * time.Minute,
	},

	{name: "rehttp: TestConstDelay", policy: backoff.NewConstantBackOff(2 * sec), least: times(5, 2*sec)},
	{
		name:   "rehttp: TestExpJitterDelay",
		policy: exponential(sec, 5*sec, backoff.FullJitter),
		least:  times(10, 0),
		most:   []time.Duration{sec, 2 * sec, 4 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec},
	},
	{
		name:   "rehttp: TestExpJitterDelayWithRand",
		policy: seeded(exponential(sec, 5*sec, backoff.FullJitter)),
		least:  times(10, 0),
		most:   []time.Duration{sec, 2 * sec, 4 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec, 5 * sec},
	},

	{
		name:   "heimdall: TestExponentialBackoffNextTime",
		policy: exponential(100*ms, sec, backoff.NoJitter),
		least:  []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms},
	},
	{
		name:   "heimdall: TestExponentialBackoffWithInvalidJitter",
		policy: negativeJitter(),
		least:  []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms},
	},
	{
		name:   "heimdall: TestExponentialBackoffMaxTimeoutCrossed",
		policy: exponential(100*ms, sec, backoff.NoJitter),
		least:  []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, sec},
	},
	{
		name:   "heimdall: TestExponentialBackoffMaxTimeoutReached",
		policy: exponential(100*ms, 1600*ms, backoff.NoJitter),
		least:  []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms},
	},
	{
		name:   "heimdall: TestExponentialBackoffJitter0",
		policy: exponential(100*ms, sec, backoff.NoJitter),
		least:  []time.Duration{100 * ms, 200 * ms},
	},
	{
		name: "heimdall: TestExponentialBackoffJitter50", differs: "jitter is a share of the interval",
		policy: exponential(100*ms, sec, backoff.EqualJitter),
		least:  []time.Duration{50 * ms, 100 * ms, 200 * ms},
		most:   []time.Duration{100 * ms, 200 * ms, 400 * ms},
	},
	{name: "heimdall: TestConstantBackoffNextTime", policy: backoff.NewConstantBackOff(100 * ms), least: times(4, 100*ms)},
	{
		name:   "heimdall: TestConstantBackoffJitter0",
		policy: backoff.NewConstantBackOff(100 * ms), least: times(10_000, 100*ms),
	},
	{
		name:   "heimdall: TestRetrierWithExponentialBackoff",
		policy: exponential(2*ms, 10*ms, backoff.NoJitter), least: []time.Duration{2 * ms, 4 * ms},
	},
	{name: "heimdall: TestRetrierWithConstantBackoff", policy: backoff.NewConstantBackOff(2 * ms), least: times(2, 2*ms)},
	{
		name:   "heimdall: TestRetrierFunc",
		policy: backoff.NewLinearBackOff(ms), least: []time.Duration{ms, 2 * ms, 3 * ms, 4 * ms},
	},
	{name: "heimdall: TestNoRetrier", policy: &backoff.ZeroBackOff{}, least: times(2, 0)},

	{
		name:   "go-grpc-middleware: TestJitterUp",
		policy: &backoff.ExponentialBackOff{InitialInterval: 10 * sec, Multiplier: 1, RandomizationFactor: 0.1},
		least:  times(1000, 9*sec), most: times(1000, 11*sec),
	},
	{
		name:   "go-grpc-middleware: TestBackoffExponentialWithJitterBounded",
		policy: exponential(100*ms, 10*sec, backoff.FullJitter),
		least:  times(64, 0), most: times(64, 10*sec),
	},
	{
		name: "go-grpc-middleware: TestBackoffExponentialWithJitter", differs: "a policy always has a longest interval",
		policy: exponential(100*ms, 0, backoff.ProportionalJitter),
		least:  times(64, 0), most: times(64, 90*sec), // the default, 60 s, and half as much again
	},
}

func TestPeerWaits(t *testing.T) {
	var got tally
	for _, c := range waitCases {
		got.add(c.differs)
		t.Run(c.name, func(t *testing.T) {
			if c.most == nil {
				c.most = c.least
			}
			c.policy.Reset()
			for i := range c.least {
				wait := c.policy.NextBackOff()
				require.GreaterOrEqual(t, wait, c.least[i], "wait %d", i)
				require.LessOrEqual(t, wait, c.most[i], "wait %d", i)
			}
			if c.last == 0 {
				return
			}
			for range 128 - len(c.least) - 1 {
				c.policy.NextBackOff()
			}
			require.Equal(t, c.last, c.policy.NextBackOff())
		})
	}
	require.Equal(t, tally{same: 17, differs: 2}, got, "the counts in the comment above the table, and here")
}

func times(n int, wait time.Duration) []time.Duration {
	waits := make([]time.Duration, n)
	for i := range waits {
		waits[i] = wait
	}
	return waits
}

// exponential returns a policy whose intervals double, up to longest, without a limit of time.
func exponential(initial, longest time.Duration, jitter backoff.Jitter) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(initial),
		backoff.WithMaxInterval(longest),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(jitter),
	)
}

func seeded(policy *backoff.ExponentialBackOff) *backoff.ExponentialBackOff {
	policy.Rand = rand.New(rand.NewPCG(1, 2))
	return policy
}

func negativeJitter() *backoff.ExponentialBackOff {
	policy := exponential(100*ms, sec, backoff.ProportionalJitter)
	policy.RandomizationFactor = -1
	return policy
}
