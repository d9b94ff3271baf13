package backoff

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// intervals returns the first n waits of b without randomness, which are its intervals.
func intervals(b *ExponentialBackOff, n int) []time.Duration {
	b.RandomizationFactor = 0
	return draws(b, n)
}

func draws(b BackOff, n int) []time.Duration {
	var ds []time.Duration
	for range n {
		ds = append(ds, b.NextBackOff())
	}
	return ds
}

func repeat(d time.Duration, n int) []time.Duration {
	var ds []time.Duration
	for range n {
		ds = append(ds, d)
	}
	return ds
}

// stepClock shows the times it is given, one after the other, and then the last of them.
type stepClock struct{ times []time.Duration }

func (c *stepClock) Now() time.Time {
	now := c.times[0]
	if len(c.times) > 1 {
		c.times = c.times[1:]
	}
	return time.Time{}.Add(now)
}

func TestDefaultIntervals(t *testing.T) {
	require.Equal(t, []time.Duration{
		500_000_000, 750_000_000, 1_125_000_000, 1_687_500_000, 2_531_250_000, 3_796_875_000, 5_695_312_500,
		8_542_968_750, 12_814_453_125, 19_221_679_687, 28_832_519_530, 43_248_779_295, 60_000_000_000, 60_000_000_000,
	}, intervals(NewExponentialBackOff(), 14))
}

// The table in the type's comment is read from the source, and each of its figures computed.
func TestTableInTheDocComment(t *testing.T) {
	source, err := os.ReadFile("exponential.go")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^//\t +(\d+) +([\d.]+) +([\d.]+) … +([\d.]+)$`).FindAllSubmatch(source, -1)
	require.Len(t, rows, 10)
	interval := 0.5
	for i, row := range rows {
		require.Equal(t, strconv.Itoa(i+1), string(row[1]))
		for j, want := range []float64{interval, interval * 0.5, interval * 1.5} {
			got, err := strconv.ParseFloat(string(row[j+2]), 64)
			require.NoError(t, err)
			require.InDelta(t, want, got, 0.00051, "row %d", i+1)
		}
		interval *= 1.5
	}
}

func TestWaitsStayWithinTheRandomizationFactor(t *testing.T) {
	const interval, factor, n = time.Second, 0.3, 100_000
	b := &ExponentialBackOff{InitialInterval: interval, MaxInterval: interval, RandomizationFactor: factor}
	var sum time.Duration
	buckets := make([]int, 10)
	low, width := time.Duration(0.7*float64(interval)), time.Duration(0.6*float64(interval))
	for range n {
		wait := b.NextBackOff()
		require.GreaterOrEqual(t, wait, low)
		require.LessOrEqual(t, wait, low+width)
		sum += wait
		buckets[min(9, int(10*(wait-low)/width))]++
	}
	require.InEpsilon(t, interval, sum/n, 0.01)
	for _, count := range buckets {
		require.InEpsilon(t, n/10, count, 0.1)
	}
}

func TestEachNanosecondIsAsLikely(t *testing.T) {
	b := &ExponentialBackOff{InitialInterval: 2, MaxInterval: 2, RandomizationFactor: 0.5}
	counts := map[time.Duration]int{}
	for range 30_000 {
		counts[b.NextBackOff()]++
	}
	require.Len(t, counts, 3)
	for wait := time.Duration(1); wait <= 3; wait++ {
		require.InEpsilon(t, 10_000, counts[wait], 0.1)
	}
}

func TestZeroValueAndPartialLiterals(t *testing.T) {
	type policy = ExponentialBackOff
	const s = time.Second
	nan, inf := math.NaN(), math.Inf(1)
	clock := SystemClock
	for name, test := range map[string]struct {
		policy policy
		want   []time.Duration
	}{
		"zero value":                 {policy{}, []time.Duration{500e6, 750e6, 1125e6}},
		"InitialInterval alone":      {policy{InitialInterval: s}, []time.Duration{s, s * 3 / 2, s * 9 / 4}},
		"InitialInterval negative":   {policy{InitialInterval: -s, Clock: clock}, []time.Duration{500e6, 750e6}},
		"InitialInterval zero":       {policy{Clock: clock}, []time.Duration{0, 0, 0}},
		"InitialInterval too large":  {policy{InitialInterval: 3 * s, MaxInterval: s}, []time.Duration{s, s, s}},
		"InitialInterval extreme":    {policy{InitialInterval: math.MaxInt64}, []time.Duration{60 * s, 60 * s}},
		"Multiplier alone":           {policy{Multiplier: 2}, []time.Duration{500e6, s, 2 * s}},
		"Multiplier NaN":             {policy{Multiplier: nan}, []time.Duration{500e6, 750e6}},
		"Multiplier infinite":        {policy{Multiplier: inf}, []time.Duration{500e6, 60 * s, 60 * s}},
		"Multiplier below 1":         {policy{Multiplier: 0.5}, []time.Duration{500e6, 500e6}},
		"Multiplier negative":        {policy{Multiplier: -3}, []time.Duration{500e6, 500e6}},
		"Multiplier minus infinite":  {policy{Multiplier: -inf}, []time.Duration{500e6, 500e6}},
		"Multiplier of zero waits":   {policy{Multiplier: inf, Clock: clock}, []time.Duration{0, 0}},
		"MaxInterval alone":          {policy{MaxInterval: s}, []time.Duration{500e6, 750e6, s, s}},
		"MaxInterval negative":       {policy{MaxInterval: -s, Multiplier: 200}, []time.Duration{500e6, 60 * s}},
		"factor negative":            {policy{RandomizationFactor: -1}, []time.Duration{500e6, 750e6}},
		"nanoseconds grow":           {policy{InitialInterval: 1}, []time.Duration{1, 2, 3, 4, 6, 9}},
		"growth lost in rounding":    {policy{InitialInterval: s, Multiplier: 1 + 1e-15}, []time.Duration{s, s + 1, s + 2}},
		"overflow, v4 TestOverflow":  {policy{InitialInterval: math.MaxInt64 / 2, Multiplier: 2.1, MaxInterval: math.MaxInt64}, []time.Duration{math.MaxInt64 / 2, math.MaxInt64, math.MaxInt64}},
		"rounding up to the maximum": {policy{InitialInterval: math.MaxInt64 - 1, Multiplier: math.Nextafter(1, 2), MaxInterval: math.MaxInt64}, []time.Duration{math.MaxInt64 - 1, math.MaxInt64}},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.policy
			require.Equal(t, test.want, draws(&b, len(test.want)))
			b.Reset()
			require.Equal(t, test.want, draws(&b, len(test.want)), "and the same after Reset")
		})
	}
}

func TestRandomizationFactorIsClamped(t *testing.T) {
	for _, factor := range []float64{1, 2, 1e300, math.Inf(1)} {
		b := &ExponentialBackOff{InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: factor}
		var least, most time.Duration = math.MaxInt64, 0
		for range 10_000 {
			wait := b.NextBackOff()
			least, most = min(least, wait), max(most, wait)
		}
		require.Less(t, least, 10*time.Millisecond)
		require.GreaterOrEqual(t, least, time.Duration(0))
		require.Greater(t, most, 1990*time.Millisecond)
		require.LessOrEqual(t, most, 2*time.Second)
	}
	for _, factor := range []float64{0, -1, math.Inf(-1), math.NaN()} {
		b := &ExponentialBackOff{InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: factor}
		require.Equal(t, repeat(time.Second, 100), draws(b, 100))
	}
}

func TestLargestIntervalsStayWithinADuration(t *testing.T) {
	b := &ExponentialBackOff{InitialInterval: math.MaxInt64, MaxInterval: math.MaxInt64, RandomizationFactor: 1}
	upper := 0
	for range 1000 {
		wait := b.NextBackOff()
		require.GreaterOrEqual(t, wait, time.Duration(0))
		if wait > math.MaxInt64/2 {
			upper++
		}
	}
	require.InDelta(t, 500, upper, 100, "drawn from all that the sum's saturation leaves")
}

func TestOptionsSetTheirFields(t *testing.T) {
	clock := &stepClock{[]time.Duration{0}}
	b := NewExponentialBackOff(
		WithInitialInterval(1),
		WithRandomizationFactor(0.2),
		WithMultiplier(3),
		WithMaxInterval(4),
		WithMaxElapsedTime(5),
		WithRetryStopDuration(6),
		WithClockProvider(clock),
	)
	require.EqualValues(t, 1, b.InitialInterval)
	require.EqualValues(t, 0.2, b.RandomizationFactor)
	require.EqualValues(t, 3, b.Multiplier)
	require.EqualValues(t, 4, b.MaxInterval)
	require.EqualValues(t, 5, b.MaxElapsedTime)
	require.EqualValues(t, 6, b.Stop)
	require.Same(t, clock, b.Clock)

	b = NewExponentialBackOff()
	require.Equal(t, DefaultInitialInterval, b.InitialInterval)
	require.EqualValues(t, DefaultRandomizationFactor, b.RandomizationFactor)
	require.EqualValues(t, DefaultMultiplier, b.Multiplier)
	require.Equal(t, DefaultMaxInterval, b.MaxInterval)
	require.Equal(t, DefaultMaxElapsedTime, b.MaxElapsedTime)
	require.Equal(t, Stop, b.Stop)
	require.Equal(t, SystemClock, b.Clock)
}

func TestFieldsChangedBeforeTheFirstWaitTakeEffect(t *testing.T) {
	b := NewExponentialBackOff()
	b.InitialInterval = time.Minute
	b.MaxInterval = 90 * time.Second
	require.Equal(t, []time.Duration{60e9, 90e9, 90e9}, intervals(b, 3))
	b.Reset()
	b.InitialInterval = time.Second
	require.Equal(t, []time.Duration{1e9, 15e8}, intervals(b, 2))

	b = NewExponentialBackOff()
	b.Clock = &stepClock{[]time.Duration{time.Hour, time.Hour, time.Hour + 14*time.Minute, time.Hour + 16*time.Minute}}
	require.Zero(t, b.GetElapsedTime(), "not yet started on this clock")
	require.NotEqual(t, Stop, b.NextBackOff())
	require.NotEqual(t, Stop, b.NextBackOff())
	require.Equal(t, Stop, b.NextBackOff())
}

func TestMaxElapsedTime(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		limit, stop time.Duration
		clock       []time.Duration // at Reset, then at each NextBackOff
		want        []time.Duration
	}{
		"no limit":               {0, 0, []time.Duration{0, 1000 * s}, []time.Duration{s, s}},
		"within":                 {10 * s, 0, []time.Duration{0, 8 * s, 9 * s}, []time.Duration{s, s}},
		"one nanosecond past":    {10 * s, 0, []time.Duration{0, 9 * s, 9*s + 1}, []time.Duration{s, Stop}},
		"long past":              {10 * s, 0, []time.Duration{0, math.MaxInt64}, []time.Duration{Stop}},
		"wait alone too long":    {s - 1, 0, []time.Duration{0, 0}, []time.Duration{Stop}},
		"sum too large to add":   {math.MaxInt64, 0, []time.Duration{0, math.MaxInt64 - s, math.MaxInt64 - s + 1}, []time.Duration{s, Stop}},
		"negative limit":         {-1, 0, []time.Duration{0, 0}, []time.Duration{Stop}},
		"most negative limit":    {math.MinInt64, 0, []time.Duration{0, 0}, []time.Duration{Stop}},
		"stop of v4":             {s, 7 * s, []time.Duration{0, 0, s, 2 * s}, []time.Duration{s, 7 * s, 7 * s}},
		"negative stop":          {s, -5, []time.Duration{0, s}, []time.Duration{-5}},
		"a clock stepping back":  {10 * s, 0, []time.Duration{0, 8 * s, -100 * s, -99 * s, -98 * s}, []time.Duration{s, s, s, Stop}},
		"back and back again":    {10 * s, 0, []time.Duration{0, 5 * s, 0, 4 * s, 0, s}, []time.Duration{s, s, s, s, Stop}},
		"back beyond the ranges": {10 * s, 0, []time.Duration{math.MaxInt64, math.MinInt64, math.MinInt64 + 9*s, math.MinInt64 + 10*s}, []time.Duration{s, s, Stop}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &ExponentialBackOff{
				InitialInterval: s, MaxInterval: s,
				MaxElapsedTime: test.limit, Stop: test.stop, Clock: &stepClock{test.clock},
			}
			b.Reset()
			require.Equal(t, test.want, draws(b, len(test.want)))
		})
	}
}

func TestZeroWaitsGoOnUpToTheLimit(t *testing.T) {
	b := &ExponentialBackOff{MaxElapsedTime: 10, Clock: &stepClock{[]time.Duration{0, 9, 10, 11}}}
	b.Reset()
	require.Equal(t, []time.Duration{0, 0, Stop}, draws(b, 3))
}

func TestGetElapsedTime(t *testing.T) {
	b := &ExponentialBackOff{Clock: &stepClock{[]time.Duration{0, 3, 5, -9, 20, 24}}}
	require.Zero(t, b.GetElapsedTime(), "before Reset")
	b.Reset()
	require.EqualValues(t, 3, b.GetElapsedTime())
	require.EqualValues(t, 5, b.GetElapsedTime())
	require.Zero(t, b.GetElapsedTime(), "never negative")
	b.Reset()
	require.EqualValues(t, 4, b.GetElapsedTime())

	b = NewExponentialBackOff(WithClockProvider(&stepClock{[]time.Duration{5, 12}}))
	require.EqualValues(t, 7, b.GetElapsedTime(), "a new policy has been Reset")

	b = &ExponentialBackOff{Clock: &stepClock{[]time.Duration{5, 8}}}
	b.NextBackOff()
	require.EqualValues(t, 3, b.GetElapsedTime(), "a literal's time starts with its first wait")

	for _, clock := range []Clock{nil, SystemClock} {
		b = &ExponentialBackOff{Clock: clock}
		require.Zero(t, b.GetElapsedTime())
		b.NextBackOff()
		time1 := b.GetElapsedTime()
		require.GreaterOrEqual(t, time1, time.Duration(0))
		require.GreaterOrEqual(t, b.GetElapsedTime(), time1)
	}
}

func TestSystemClock(t *testing.T) {
	before := time.Now()
	now := SystemClock.Now()
	require.False(t, now.Before(before))
	require.False(t, now.After(time.Now()))
}

// A Clock that takes another's place in mid-run, against the advice, still leaves a limit in force.
func TestClockExchangedInMidRun(t *testing.T) {
	b := NewExponentialBackOff()
	b.NextBackOff()
	b.Clock = &stepClock{[]time.Duration{0, 0, time.Hour}}
	require.NotEqual(t, Stop, b.NextBackOff())
	require.Equal(t, Stop, b.NextBackOff())
}

// GetElapsedTime beside a running loop is no data race (with -race).
func TestGetElapsedTimeBesideALoop(t *testing.T) {
	b := NewExponentialBackOff(WithInitialInterval(0))
	b.Reset()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			b.NextBackOff()
		}
	}()
	for range 1000 {
		b.GetElapsedTime()
	}
	<-done
}

func TestExponentialBackOffDoesNotAllocate(t *testing.T) {
	for _, limit := range []time.Duration{0, DefaultMaxElapsedTime} {
		b := NewExponentialBackOff(WithMaxElapsedTime(limit))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			b.Reset()
			b.NextBackOff()
		}), fmt.Sprint(limit))
	}
}
