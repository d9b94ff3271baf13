package backoff

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var allJitters = []Jitter{ProportionalJitter, NoJitter, FullJitter, EqualJitter, DecorrelatedJitter, AdditiveJitter}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestJitterString(t *testing.T) {
	var names []string
	for _, jitter := range append(allJitters, 6, 255) {
		names = append(names, jitter.String())
	}
	require.Equal(t, []string{
		"ProportionalJitter", "NoJitter", "FullJitter", "EqualJitter", "DecorrelatedJitter", "AdditiveJitter",
		"Jitter(6)", "Jitter(255)",
	}, names)
	var zero Jitter
	require.Equal(t, ProportionalJitter, zero)
}

// Over 100,000 draws, each strategy keeps exactly to its bounds, has the mean and the spread of a
// uniform distribution between them, and reaches into the outermost percent at both ends.
func TestJitterBoundsMeanAndSpread(t *testing.T) {
	const (
		draws = 100_000
		s     = time.Second
	)
	for name, test := range map[string]struct {
		policy    ExponentialBackOff
		retry     int // the one looked at, from 1
		low, high time.Duration
	}{
		"proportional":                   {ExponentialBackOff{RandomizationFactor: 0.5}, 1, s / 2, 3 * s / 2},
		"proportional, third":            {ExponentialBackOff{RandomizationFactor: 0.25}, 3, 3 * s, 5 * s},
		"proportional at the cap":        {ExponentialBackOff{RandomizationFactor: 0.5}, 9, 5 * s, 15 * s},
		"unknown jitter is proportional": {ExponentialBackOff{Jitter: 77, RandomizationFactor: 0.5}, 1, s / 2, 3 * s / 2},
		"none":                           {ExponentialBackOff{Jitter: NoJitter, RandomizationFactor: 0.5}, 3, 4 * s, 4 * s},
		"none at the cap":                {ExponentialBackOff{Jitter: NoJitter}, 9, 10 * s, 10 * s},
		"full":                           {ExponentialBackOff{Jitter: FullJitter}, 3, 0, 4 * s},
		"full at the cap":                {ExponentialBackOff{Jitter: FullJitter}, 9, 0, 10 * s},
		"equal":                          {ExponentialBackOff{Jitter: EqualJitter}, 3, 2 * s, 4 * s},
		"equal at the cap":               {ExponentialBackOff{Jitter: EqualJitter}, 9, 5 * s, 10 * s},
		"decorrelated":                   {ExponentialBackOff{Jitter: DecorrelatedJitter}, 1, s, 3 * s},
		"additive":                       {ExponentialBackOff{Jitter: AdditiveJitter}, 1, s, 2 * s},
		"additive, third":                {ExponentialBackOff{Jitter: AdditiveJitter}, 3, 4 * s, 5 * s},
		"additive at the cap":            {ExponentialBackOff{Jitter: AdditiveJitter}, 9, 9 * s, 10 * s},
		"additive just below the cap":    {ExponentialBackOff{Jitter: AdditiveJitter, MaxInterval: 4500 * time.Millisecond}, 3, 3500 * time.Millisecond, 4500 * time.Millisecond},
		"additive with B = C":            {ExponentialBackOff{Jitter: AdditiveJitter, MaxInterval: s}, 1, 0, s},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.policy
			b.InitialInterval, b.Multiplier, b.Rand = s, 2, seeded()
			if b.MaxInterval == 0 {
				b.MaxInterval = 10 * s
			}
			var sum float64
			buckets := make([]int, 10)
			least, most, atCap := time.Duration(math.MaxInt64), time.Duration(0), 0
			for range draws {
				b.Reset()
				for range test.retry - 1 {
					b.NextBackOff()
				}
				wait := b.NextBackOff()
				least, most, sum = min(least, wait), max(most, wait), sum+float64(wait)
				if wait == b.MaxInterval {
					atCap++
				}
				if width := test.high - test.low; width > 0 {
					buckets[min(9, 10*(wait-test.low)/width)]++
				}
			}
			width := test.high - test.low
			require.GreaterOrEqual(t, least, test.low)
			require.LessOrEqual(t, most, test.high)
			require.LessOrEqual(t, least, test.low+width/100)
			require.GreaterOrEqual(t, most, test.high-width/100)
			require.InEpsilon(t, float64(test.low+test.high)/2, sum/draws, 0.01)
			if width == 0 {
				return
			}
			require.Less(t, atCap, draws/100, "no more than 1 % exactly at the cap")
			for _, count := range buckets {
				require.InEpsilon(t, draws/10, count, 0.05)
			}
		})
	}
}

func TestDecorrelatedJitterGrowsFromThePreviousWait(t *testing.T) {
	const base, limit = time.Second, 10 * time.Second
	b := &ExponentialBackOff{
		InitialInterval: base, MaxInterval: limit, Jitter: DecorrelatedJitter, Multiplier: 1, Rand: seeded(),
	}
	const runs = 10_000
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

func TestNoStrategyButTheDefaultExceedsTheCap(t *testing.T) {
	for _, jitter := range allJitters[1:] {
		for _, limit := range []time.Duration{1, 2, 3, time.Second, math.MaxInt64 - 1, math.MaxInt64} {
			for _, initial := range []time.Duration{0, 1, limit / 2, limit} {
				b := &ExponentialBackOff{
					InitialInterval: initial, MaxInterval: limit, Jitter: jitter, Rand: seeded(), Clock: SystemClock,
				}
				for range 1000 {
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

func TestSameSeedSameSchedule(t *testing.T) {
	for _, jitter := range allJitters {
		schedule := func(r *rand.Rand) []time.Duration {
			return draws(NewExponentialBackOff(WithJitter(jitter), WithRand(r)), 20)
		}
		require.Equal(t, schedule(seeded()), schedule(seeded()), jitter)
		if jitter != NoJitter {
			require.NotEqual(t, schedule(seeded()), schedule(rand.New(rand.NewPCG(3, 4))), jitter)
			require.NotEqual(t, schedule(nil), schedule(nil), jitter)
		}
	}
}

func TestJitterOptionsSetTheirFields(t *testing.T) {
	r := seeded()
	b := NewExponentialBackOff(WithJitter(EqualJitter), WithRand(r))
	require.Equal(t, EqualJitter, b.Jitter)
	require.Same(t, r, b.Rand)
	b = NewExponentialBackOff()
	require.Equal(t, ProportionalJitter, b.Jitter)
	require.Nil(t, b.Rand)
}
