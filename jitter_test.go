package backoff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestJitterString(t *testing.T) {
	var names []string
	for _, jitter := range append(jitters, 6, 255) {
		names = append(names, jitter.String())
	}
	require.Equal(t, []string{
		"ProportionalJitter", "NoJitter", "FullJitter", "EqualJitter", "DecorrelatedJitter", "AdditiveJitter",
		"Jitter(6)", "Jitter(255)",
	}, names)
	var zero backoff.Jitter
	require.Equal(t, backoff.ProportionalJitter, zero)
}

// requireUniform requires that waits keep exactly to the bounds, have the mean and the spread of a
// uniform distribution between them, and reach into the outermost percent at both ends.
func requireUniform(t *testing.T, waits []time.Duration, low, high time.Duration) {
	t.Helper()
	least, most, sum := time.Duration(math.MaxInt64), time.Duration(0), 0.0
	buckets := make([]float64, 10)
	width := high - low
	for _, wait := range waits {
		least, most, sum = min(least, wait), max(most, wait), sum+float64(wait)
		if width > 0 {
			buckets[max(0, min(9, 10*(wait-low)/width))]++
		}
	}
	require.GreaterOrEqual(t, least, low)
	require.LessOrEqual(t, most, high)
	require.LessOrEqual(t, least, low+width/100)
	require.GreaterOrEqual(t, most, high-width/100)
	require.InEpsilon(t, float64(low)/2+float64(high)/2, sum/float64(len(waits)), 0.02)
	if width > 0 {
		want := float64(len(waits)) / 10
		for _, count := range buckets {
			require.InDelta(t, want, count, 4*math.Sqrt(want))
		}
	}
}

func TestJitterSpread(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		policy    backoff.ExponentialBackOff
		retry     int // the one looked at, from 1
		low, high time.Duration
	}{
		"proportional":                {backoff.ExponentialBackOff{RandomizationFactor: 0.5}, 1, s / 2, 3 * s / 2},
		"proportional, third":         {backoff.ExponentialBackOff{RandomizationFactor: 0.25}, 3, 3 * s, 5 * s},
		"proportional at the cap":     {backoff.ExponentialBackOff{RandomizationFactor: 0.5}, 9, 5 * s, 15 * s},
		"unknown is proportional":     {backoff.ExponentialBackOff{Jitter: 77, RandomizationFactor: 0.5}, 1, s / 2, 3 * s / 2},
		"none":                        {backoff.ExponentialBackOff{Jitter: backoff.NoJitter, RandomizationFactor: 0.5}, 3, 4 * s, 4 * s},
		"none at the cap":             {backoff.ExponentialBackOff{Jitter: backoff.NoJitter}, 9, 10 * s, 10 * s},
		"full":                        {backoff.ExponentialBackOff{Jitter: backoff.FullJitter}, 3, 0, 4 * s},
		"full at the cap":             {backoff.ExponentialBackOff{Jitter: backoff.FullJitter}, 9, 0, 10 * s},
		"equal":                       {backoff.ExponentialBackOff{Jitter: backoff.EqualJitter}, 3, 2 * s, 4 * s},
		"equal at the cap":            {backoff.ExponentialBackOff{Jitter: backoff.EqualJitter}, 9, 5 * s, 10 * s},
		"decorrelated":                {backoff.ExponentialBackOff{Jitter: backoff.DecorrelatedJitter}, 1, s, 3 * s},
		"additive":                    {backoff.ExponentialBackOff{Jitter: backoff.AdditiveJitter}, 1, s, 2 * s},
		"additive, third":             {backoff.ExponentialBackOff{Jitter: backoff.AdditiveJitter}, 3, 4 * s, 5 * s},
		"additive at the cap":         {backoff.ExponentialBackOff{Jitter: backoff.AdditiveJitter}, 9, 9 * s, 10 * s},
		"additive just below the cap": {backoff.ExponentialBackOff{Jitter: backoff.AdditiveJitter, MaxInterval: 4500 * time.Millisecond}, 3, 3500 * time.Millisecond, 4500 * time.Millisecond},
		"additive with B = C":         {backoff.ExponentialBackOff{Jitter: backoff.AdditiveJitter, MaxInterval: s}, 1, 0, s},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.policy
			b.InitialInterval, b.Multiplier, b.Rand = s, 2, seeded()
			if b.MaxInterval == 0 {
				b.MaxInterval = 10 * s
			}
			waits := make([]time.Duration, 5_000)
			for i := range waits {
				b.Reset()
				for range test.retry - 1 {
					b.NextBackOff()
				}
				waits[i] = b.NextBackOff()
			}
			requireUniform(t, waits, test.low, test.high)
		})
	}
}

func TestJitterDecorrelated(t *testing.T) {
	const base, limit = time.Second, 10 * time.Second
	b := &backoff.ExponentialBackOff{
		InitialInterval: base, MaxInterval: limit, Jitter: backoff.DecorrelatedJitter, Multiplier: 1, Rand: seeded(),
	}
	const runs = 3_000
	capped, second := 0, 0.0
	for range runs {
		b.Reset()
		previous := base
		for i := range 10 {
			wait := b.NextBackOff()
			require.GreaterOrEqual(t, wait, base)
			require.LessOrEqual(t, wait, min(limit, 3*previous))
			if wait == limit {
				capped++
			}
			if i == 1 {
				second += wait.Seconds()
			}
			previous = wait
		}
	}
	require.InEpsilon(t, 3.5, second/runs, 0.02, "(B + 3·E(P))/2 with E(P) = 2B")
	require.Greater(t, capped, runs/2, "the published formula cuts off at the cap")
}

func TestJitterCap(t *testing.T) {
	for _, jitter := range jitters[1:] {
		for _, limit := range []time.Duration{1, 2, 3, time.Second, math.MaxInt64 - 1, math.MaxInt64} {
			for _, initial := range []time.Duration{0, 1, limit / 2, limit, math.MaxInt64} {
				b := &backoff.ExponentialBackOff{
					InitialInterval: initial, MaxInterval: limit, Jitter: jitter, Rand: seeded(), Clock: backoff.SystemClock,
				}
				for range 200 {
					wait := b.NextBackOff()
					require.GreaterOrEqual(t, wait, time.Duration(0), "%v %v %v", jitter, initial, limit)
					require.LessOrEqual(t, wait, limit, "%v %v %v", jitter, initial, limit)
					if initial == 0 {
						require.Zero(t, wait)
					}
				}
			}
		}
	}
}

func TestJitterSeed(t *testing.T) {
	for _, jitter := range jitters {
		schedule := func(r *rand.Rand) []time.Duration {
			return draws(backoff.NewExponentialBackOff(backoff.WithJitter(jitter), backoff.WithRand(r)), 20)
		}
		require.Equal(t, schedule(seeded()), schedule(seeded()), jitter)
		if jitter != backoff.NoJitter {
			require.NotEqual(t, schedule(seeded()), schedule(rand.New(rand.NewPCG(3, 4))), jitter)
			require.NotEqual(t, schedule(nil), schedule(nil), jitter)
		}
	}
}

// recorded returns the waits of a loop over b, measured by a Timer, whose n-th attempt fails with the
// n-th of errs. The attempt after them succeeds.
func recorded(t *testing.T, b backoff.BackOff, errs ...error) []time.Duration {
	t.Helper()
	timer := new(instantTimer)
	operation, _ := results(append(errs, nil)...)
	require.NoError(t, backoff.RetryNotifyWithTimer(operation, b, nil, timer))
	return timer.started
}

// The window that a wait is drawn from moves up until it starts at what the server asked for. Clients
// that were told the same time come back spread over its width.
func TestRetryAfterWindow(t *testing.T) {
	const s = time.Second
	windows := map[string]struct {
		jitter    backoff.Jitter
		retry     int // the one looked at, from 1
		limit     time.Duration
		low, high time.Duration
	}{
		"proportional":              {backoff.ProportionalJitter, 3, 10 * s, 2 * s, 6 * s},
		"proportional at the cap":   {backoff.ProportionalJitter, 9, 10 * s, 5 * s, 15 * s},
		"unknown is proportional":   {77, 3, 10 * s, 2 * s, 6 * s},
		"none":                      {backoff.NoJitter, 3, 10 * s, 4 * s, 4 * s},
		"full":                      {backoff.FullJitter, 3, 10 * s, 0, 4 * s},
		"equal":                     {backoff.EqualJitter, 3, 10 * s, 2 * s, 4 * s},
		"decorrelated":              {backoff.DecorrelatedJitter, 1, 10 * s, s, 3 * s},
		"decorrelated near the cap": {backoff.DecorrelatedJitter, 1, 2 * s, s, 2 * s},
		"additive":                  {backoff.AdditiveJitter, 3, 10 * s, 4 * s, 5 * s},
		"additive at the cap":       {backoff.AdditiveJitter, 9, 10 * s, 9 * s, 10 * s},
	}
	for name, window := range windows {
		for where, server := range map[string]time.Duration{
			"below":  window.low / 2,
			"inside": (window.low + window.high) / 2,
			"above":  7 * window.high,
		} {
			if server == 0 || name == "decorrelated near the cap" && where == "below" {
				continue // asks for nothing, or for no more than the strategy's own minimum
			}
			t.Run(name+", "+where, func(t *testing.T) {
				b := &backoff.ExponentialBackOff{
					InitialInterval: s, Multiplier: 2, MaxInterval: window.limit, Jitter: window.jitter,
					RandomizationFactor: 0.5, Rand: seeded(),
				}
				asked := fmt.Errorf("wrapped: %w", backoff.RetryAfter(errFailed, server))
				errs := make([]error, window.retry)
				for i := range errs {
					errs[i] = errFailed
				}
				errs[window.retry-1] = asked
				waits := make([]time.Duration, 2_000)
				for i := range waits {
					waits[i] = recorded(t, b, errs...)[window.retry-1]
				}
				low := max(window.low, server)
				requireUniform(t, waits, low, low+window.high-window.low)
			})
		}
	}
}

// The intervals after a server's wait are those that would have come without it.
func TestRetryAfterIntervals(t *testing.T) {
	const s = time.Second
	asked := backoff.RetryAfter(errFailed, 100*s)
	for _, jitter := range jitters {
		policy := func() backoff.BackOff {
			return &backoff.ExponentialBackOff{
				InitialInterval: s, Multiplier: 2, MaxInterval: 20 * s, Jitter: jitter, RandomizationFactor: 0.5, Rand: seeded(),
			}
		}
		without := recorded(t, policy(), errFailed, errFailed, errFailed, errFailed, errFailed)
		with := recorded(t, foreign{policy()}, errFailed, asked, errFailed, asked, errFailed)
		for i := range without {
			if i%2 == 0 {
				require.Equal(t, without[i], with[i], "%v, wait %d", jitter, i+1)
			} else {
				require.GreaterOrEqual(t, with[i], 100*s, "%v, wait %d", jitter, i+1)
				require.LessOrEqual(t, with[i], 120*s, "%v, wait %d", jitter, i+1)
			}
		}
	}
}

// What a server asks for counts once.
func TestRetryAfterOnce(t *testing.T) {
	b := &backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2}
	asked := backoff.RetryAfter(errFailed, time.Hour)
	require.Equal(t, []time.Duration{time.Hour}, recorded(t, b, asked))
	require.Equal(t, 2*time.Second, b.NextBackOff())
	require.Equal(t, []time.Duration{time.Second}, recorded(t, b, errFailed))
}

// Whatever the fields, a wait is never shorter than a server asked for, and never overflows.
func TestRetryAfterOverflow(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	for _, jitter := range append(jitters, 77) {
		for _, limit := range []time.Duration{1, time.Second, most - 1, most} {
			for _, initial := range []time.Duration{0, 1, limit / 2, limit} {
				for _, server := range []time.Duration{1, limit/2 + 1, limit, most - 1, most} {
					b := &backoff.ExponentialBackOff{
						InitialInterval: initial, MaxInterval: limit, Jitter: jitter, RandomizationFactor: 1,
						Clock: backoff.SystemClock, Rand: seeded(),
					}
					asked := backoff.RetryAfter(errFailed, server)
					for _, wait := range recorded(t, b, asked, asked, asked, asked, asked, asked, asked, asked) {
						require.GreaterOrEqual(t, wait, server, "%v %v %v", jitter, initial, limit)
					}
				}
			}
		}
	}
}
