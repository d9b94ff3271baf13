package backoff_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestExponentialIntervals(t *testing.T) {
	require.Equal(t, []time.Duration{
		500_000_000, 750_000_000, 1_125_000_000, 1_687_500_000, 2_531_250_000, 3_796_875_000, 5_695_312_500,
		8_542_968_750, 12_814_453_125, 19_221_679_687, 28_832_519_530, 43_248_779_295, 60_000_000_000, 60_000_000_000,
	}, intervals(backoff.NewExponentialBackOff(), 14))
}

// The table in the type's comment is read from the source, and each of its figures computed.
func TestExponentialTable(t *testing.T) {
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

func TestRandomizationFactorNanoseconds(t *testing.T) {
	b := &backoff.ExponentialBackOff{InitialInterval: 2, MaxInterval: 2, RandomizationFactor: 0.5}
	counts := map[time.Duration]int{}
	for range 30_000 {
		counts[b.NextBackOff()]++
	}
	require.Len(t, counts, 3)
	for wait := time.Duration(1); wait <= 3; wait++ {
		require.InEpsilon(t, 10_000, counts[wait], 0.1)
	}
}

func TestExponentialLiteral(t *testing.T) {
	type policy = backoff.ExponentialBackOff
	const s = time.Second
	nan, inf := math.NaN(), math.Inf(1)
	clock := backoff.SystemClock
	for name, test := range map[string]struct {
		policy policy
		want   []time.Duration
	}{
		"zero value":                 {policy{}, []time.Duration{500e6, 750e6, 1125e6}},
		"InitialInterval alone":      {policy{InitialInterval: s}, []time.Duration{s, s * 3 / 2, s * 9 / 4}},
		"InitialInterval negative":   {policy{InitialInterval: -s, Clock: clock}, []time.Duration{500e6, 750e6}},
		"InitialInterval minus 1 ns": {policy{InitialInterval: -1}, []time.Duration{500e6, 750e6}},
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
		"rounding down, as in v4":    {policy{InitialInterval: 45, Multiplier: 1.4, MaxInterval: 63}, []time.Duration{45, 63, 63}}, // not 62
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

func TestRandomizationFactorRange(t *testing.T) {
	for _, factor := range []float64{1, 2, 1e300, math.Inf(1)} {
		b := &backoff.ExponentialBackOff{InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: factor}
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
	for _, factor := range []float64{0, -0.5, -1, math.Inf(-1), math.NaN()} {
		b := &backoff.ExponentialBackOff{InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: factor}
		require.Equal(t, slices.Repeat([]time.Duration{time.Second}, 100), draws(b, 100))
	}
}

// In cenkalti/backoff v4 a field that is changed after construction counts only after a Reset.
func TestExponentialFields(t *testing.T) {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Minute
	b.MaxInterval = 90 * time.Second
	require.Equal(t, []time.Duration{60e9, 90e9, 90e9}, intervals(b, 3))
	b.Reset()
	b.InitialInterval = time.Second
	require.Equal(t, []time.Duration{1e9, 15e8}, intervals(b, 2))
	b.MaxInterval = 2 * time.Second
	require.Equal(t, []time.Duration{225e7, 2e9, 2e9}, intervals(b, 3), "as in v4, the next interval is there already")

	b = backoff.NewExponentialBackOff()
	b.Clock = clockOf(time.Hour, time.Hour, time.Hour+14*time.Minute, time.Hour+16*time.Minute)
	require.Zero(t, b.GetElapsedTime(), "not started yet on this clock")
	require.NotEqual(t, backoff.Stop, b.NextBackOff())
	require.NotEqual(t, backoff.Stop, b.NextBackOff())
	require.Equal(t, backoff.Stop, b.NextBackOff())
}

func TestMaxElapsedTime(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		limit, stop time.Duration
		clock       []time.Duration // at Reset, then at each NextBackOff
		want        []time.Duration
	}{
		"no limit":             {0, -1, []time.Duration{0, 1000 * s}, []time.Duration{s, s}},
		"within":               {10 * s, -1, []time.Duration{0, 8 * s, 9 * s}, []time.Duration{s, s}},
		"one nanosecond past":  {10 * s, -1, []time.Duration{0, 9 * s, 9*s + 1}, []time.Duration{s, backoff.Stop}},
		"long past":            {10 * s, -1, []time.Duration{0, math.MaxInt64}, []time.Duration{backoff.Stop}},
		"wait alone too long":  {s - 1, -1, []time.Duration{0, 0}, []time.Duration{backoff.Stop}},
		"sum too large to add": {math.MaxInt64, -1, []time.Duration{0, math.MaxInt64 - s, math.MaxInt64 - s + 1}, []time.Duration{s, backoff.Stop}},
		"negative limit":       {-1, -1, []time.Duration{0, 0}, []time.Duration{backoff.Stop}},
		"most negative limit":  {math.MinInt64, -1, []time.Duration{0, 0}, []time.Duration{backoff.Stop}},
		"stop of v4":           {s, 7 * s, []time.Duration{0, 0, s, 2 * s}, []time.Duration{s, 7 * s, 7 * s}},
		"negative stop":        {s, -5, []time.Duration{0, s}, []time.Duration{-5}},
		"zero stop by hand":    {s, 0, []time.Duration{0, 0, s, 2 * s}, []time.Duration{s, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backoff.ExponentialBackOff{
				InitialInterval: s, MaxInterval: s,
				MaxElapsedTime: test.limit, Stop: test.stop, Clock: clockOf(test.clock...),
			}
			b.Reset()
			require.Equal(t, test.want, draws(b, len(test.want)))
		})
	}
}

// The API client of HashiCorp Vault has a literal with a Clock and without Stop. It asks it by hand,
// and relies on the 0 that cenkalti/backoff v4 returns past the limit.
func TestExponentialStop(t *testing.T) {
	literal := func(clock backoff.Clock) *backoff.ExponentialBackOff {
		return &backoff.ExponentialBackOff{InitialInterval: time.Minute, MaxElapsedTime: time.Second, Clock: clock}
	}
	require.Equal(t, backoff.Stop, literal(nil).NextBackOff(), "without a Clock")
	b := literal(backoff.SystemClock)
	require.Zero(t, b.NextBackOff())
	b.Reset()
	require.Zero(t, b.NextBackOff())

	for _, b := range []backoff.BackOff{literal(nil), literal(backoff.SystemClock), foreign{backoff.WithMaxRetries(literal(clockOf(0)), 9)}} {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := failing(9)
			require.Same(t, errFailed, retry(operation, b))
			require.Equal(t, 1, *calls)
		})
		ticks := 0
		for range backoff.NewTicker(b).C {
			ticks++
		}
		require.Equal(t, 1, ticks)
	}

	b = literal(clockOf(0))
	for range backoff.NewTicker(b).C {
	}
	require.Zero(t, b.NextBackOff(), "by hand, after a Ticker")

	b = literal(nil)
	b.Stop = time.Hour
	require.Equal(t, time.Hour, b.NextBackOff(), "without a Clock")
}

func TestExponentialZeroWaits(t *testing.T) {
	b := &backoff.ExponentialBackOff{MaxElapsedTime: 10, Clock: clockOf(0, 9, 10, 11), Stop: backoff.Stop}
	b.Reset()
	require.Equal(t, []time.Duration{0, 0, backoff.Stop}, draws(b, 3))
}

// A type may embed a policy that it makes later.
type lazy struct{ *backoff.ExponentialBackOff }

func (l *lazy) Reset() { l.ExponentialBackOff = nil }

func (l *lazy) NextBackOff() time.Duration {
	if l.ExponentialBackOff == nil {
		l.ExponentialBackOff = backoff.NewExponentialBackOff(backoff.WithInitialInterval(0))
	}
	return l.ExponentialBackOff.NextBackOff()
}

func TestExponentialEmbedded(t *testing.T) {
	operation, calls := failing(3)
	require.NoError(t, backoff.Retry(operation, &lazy{}))
	require.Equal(t, 4, *calls)

	operation = func() error { return backoff.Permanent(errFailed) }
	require.Same(t, errFailed, backoff.Retry(operation, &lazy{}), "not made yet when the loop ends")
}

// plusTen embeds a literal without Stop, and compares with that.
type plusTen struct{ *backoff.ExponentialBackOff }

func (p plusTen) NextBackOff() time.Duration {
	wait := p.ExponentialBackOff.NextBackOff()
	if wait == p.Stop {
		return backoff.Stop
	}
	return wait + 10
}

// An embedded policy is not told that a loop asks: its Stop is the 0 of v4, for which its owner looks.
func TestExponentialEmbeddedStop(t *testing.T) {
	literal := &backoff.ExponentialBackOff{InitialInterval: 10, MaxElapsedTime: 25, Clock: clockOf(0, 0, 10, 20)}
	operation, calls := failing(9)
	require.Same(t, errFailed, backoff.Retry(operation, plusTen{literal}))
	require.Equal(t, 3, *calls)

	asked := backoff.RetryAfter(errFailed, 50)
	operation = func() error { return asked }
	var waits []time.Duration
	literal.Clock = clockOf(0, 0, 30)
	require.Same(t, asked, backoff.RetryNotify(operation, plusTen{literal}, func(_ error, wait time.Duration) { waits = append(waits, wait) }))
	require.Equal(t, []time.Duration{50}, waits, "the wait that a server asks for is kept")
}

// locked guards the policy that it embeds, so that loops may share it.
type locked struct {
	mu sync.Mutex
	*backoff.ExponentialBackOff
}

func (l *locked) NextBackOff() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ExponentialBackOff.NextBackOff()
}

func (l *locked) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ExponentialBackOff.Reset()
}

// The race detector sees it if a loop writes to a policy that its owner's lock guards.
func TestExponentialEmbeddedLock(t *testing.T) {
	l := &locked{ExponentialBackOff: backoff.NewExponentialBackOff(backoff.WithInitialInterval(1), backoff.WithMaxInterval(1))}
	var loops sync.WaitGroup
	for range 4 {
		loops.Add(1)
		go func() {
			defer loops.Done()
			operation, _ := failing(1000)
			_ = backoff.Retry(operation, backoff.WithMaxRetries(l, 200))
		}()
	}
	loops.Wait()
}

// Copies of a policy share nothing but their Clock.
func TestExponentialCopy(t *testing.T) {
	clock := clockOf(0, time.Minute, time.Minute)
	template := backoff.NewExponentialBackOff(backoff.WithClockProvider(clock))
	template.Reset()
	b := *template
	template.Reset()
	require.Equal(t, time.Minute, b.GetElapsedTime())
}

// A decorator that starts the sequence over before each wait does not lose what a server has asked for.
func TestRetryAfterReset(t *testing.T) {
	restarting := alter(backoff.NewExponentialBackOff(), func(below backoff.BackOff) time.Duration {
		below.Reset()
		return below.NextBackOff()
	})
	asked := backoff.RetryAfter(errFailed, 10*time.Second)
	started := recorded(t, restarting, slices.Repeat([]error{asked}, 20)...)
	require.GreaterOrEqual(t, slices.Min(started), 10*time.Second)
	require.Greater(t, slices.Max(started), 10*time.Second, "the jitter is added")
}

// What a server has asked for holds for one question, also if a decorator goes on to another policy in it.
func TestRetryAfterOnce(t *testing.T) {
	first := backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter))
	err := backoff.Retry(func() error {
		return backoff.RetryAfter(errFailed, time.Hour)
	}, &fallback{first})
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, 750*time.Millisecond, first.NextBackOff())
}

// fallback asks a policy once, and then never retries.
type fallback struct{ backoff.BackOff }

func (f *fallback) Unwrap() backoff.BackOff { return f.BackOff }

func (f *fallback) NextBackOff() time.Duration {
	wait := f.BackOff.NextBackOff()
	f.BackOff = &backoff.StopBackOff{}
	return wait
}

func TestOptions(t *testing.T) {
	clock, random := clockOf(0), seeded()
	require.Equal(t, &backoff.ExponentialBackOff{
		InitialInterval:     1,
		RandomizationFactor: 0.2,
		Multiplier:          3,
		MaxInterval:         4,
		MaxElapsedTime:      5,
		Stop:                6,
		Clock:               clock,
		Rand:                random,
		Jitter:              backoff.EqualJitter,
	}, backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(1),
		backoff.WithRandomizationFactor(0.2),
		backoff.WithMultiplier(3),
		backoff.WithMaxInterval(4),
		backoff.WithMaxElapsedTime(5),
		backoff.WithRetryStopDuration(6),
		backoff.WithClockProvider(clock),
		backoff.WithJitter(backoff.EqualJitter),
		backoff.WithRand(random),
	))
}

func TestDefaults(t *testing.T) {
	require.Equal(t, &backoff.ExponentialBackOff{
		InitialInterval:     500 * time.Millisecond,
		RandomizationFactor: 0.5,
		Multiplier:          1.5,
		MaxInterval:         time.Minute,
		MaxElapsedTime:      15 * time.Minute,
		Stop:                -1,
		Clock:               backoff.SystemClock,
	}, backoff.NewExponentialBackOff())
}

func TestSystemClock(t *testing.T) {
	before := time.Now()
	now := backoff.SystemClock.Now()
	require.False(t, now.Before(before))
	require.False(t, now.After(time.Now()))
}

// manual is a Clock that a test sets.
type manual struct{ now time.Time }

func (m *manual) Now() time.Time { return m.now }

// After Reset, nothing is left of a Clock that has been replaced, even if the two are 2,000 years apart.
func TestClockReplaced(t *testing.T) {
	b := &backoff.ExponentialBackOff{Clock: clockOf(0)}
	b.Reset()
	clock := &manual{date(2026, 1, 1)}
	b.Clock = clock
	b.Reset()
	clock.now = clock.now.Add(time.Hour)
	require.Equal(t, time.Hour, b.GetElapsedTime())
}

// A Clock that steps back neither stops a policy early nor extends it without end.
func TestClockStepsBack(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		clock []time.Duration // at Reset and at each NextBackOff
		want  []time.Duration
	}{
		"after the start":  {[]time.Duration{0, 8 * s, 2 * s, 9 * s, 10 * s}, []time.Duration{s, s, s, backoff.Stop}},
		"before the start": {[]time.Duration{0, 8 * s, -100 * s, -91 * s, -90 * s}, []time.Duration{s, s, s, backoff.Stop}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backoff.ExponentialBackOff{
				InitialInterval: s, MaxInterval: s, MaxElapsedTime: 10 * s, Stop: backoff.Stop, Clock: clockOf(test.clock...),
			}
			b.Reset()
			require.Equal(t, test.want, draws(b, len(test.want)))
		})
	}
}

func TestGetElapsedTime(t *testing.T) {
	b := &backoff.ExponentialBackOff{Clock: clockOf(0, 3, 5, -9, -7, 20, 24)}
	require.Zero(t, b.GetElapsedTime(), "before Reset")
	b.Reset()
	require.EqualValues(t, 3, b.GetElapsedTime())
	require.EqualValues(t, 5, b.GetElapsedTime())
	require.Zero(t, b.GetElapsedTime(), "never negative")
	require.EqualValues(t, 2, b.GetElapsedTime(), "a clock before the start starts it over")
	b.Reset()
	require.EqualValues(t, 4, b.GetElapsedTime())
}

// GetElapsedTime beside a running loop is no data race (with -race).
func TestGetElapsedTimeRace(t *testing.T) {
	b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(0))
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

const unknownJitter backoff.Jitter = 255

func TestJitterString(t *testing.T) {
	require.Equal(t, "Jitter(255)", unknownJitter.String())
	first := len(jitters) // that is unknown
	require.Equal(t, fmt.Sprintf("Jitter(%d)", first), backoff.Jitter(first).String())
	var zero backoff.Jitter
	require.Equal(t, backoff.ProportionalJitter, zero)
}

// requireUniform requires that waits keep exactly to the bounds, have the mean and the spread of a
// uniform distribution between them, and reach into the outermost percent at both ends.
func requireUniform(t *testing.T, waits []time.Duration, low, high time.Duration, formula string) {
	t.Helper()
	least, most, width, n := slices.Min(waits), slices.Max(waits), high-low, float64(len(waits))
	tenths, sum := make([]int, 10), 0.0
	for _, wait := range waits {
		sum += float64(wait)
		if width > 0 {
			tenths[max(0, min(9, 10*(wait-low)/width))]++
		}
	}
	even := least >= low && least <= low+width/100 && most <= high && most >= high-width/100 &&
		math.Abs(sum/n-float64(low)/2-float64(high)/2) <= 5*float64(width)/math.Sqrt(12*n)+1
	for _, count := range tenths {
		even = even && (width == 0 || math.Abs(float64(count)-n/10) <= 5*math.Sqrt(n/10))
	}
	if !even {
		t.Errorf("waits from %v to %v, by tenths %v, where the comment in exponential.go, %s, spreads them evenly from %v to %v",
			least, most, tenths, formula, low, high)
	}
}

var formulaText = regexp.MustCompile(`(?m)^\t(.+)$`)

// formulas returns the formula of each strategy, from the comments in exponential.go.
func formulas(t *testing.T) map[backoff.Jitter]string {
	t.Helper()
	all := map[backoff.Jitter]string{}
	for i, constant := range jitterConstants(t) {
		found := formulaText.FindStringSubmatch(constant.Doc.Text())
		if found == nil {
			t.Fatalf("let the comment of %s in exponential.go have its formula, on a line of its own as in the others", constant.Names[0])
		}
		all[backoff.Jitter(i)] = found[1]
	}
	return all
}

// evaluate returns the value of a formula. Of what U draws from, it takes the start if u is 0, and the
// end if u is 1.
func evaluate(t *testing.T, formula string, u float64, letters map[string]float64) time.Duration {
	t.Helper()
	tree, err := parser.ParseExpr(strings.NewReplacer("·", "*", "−", "-").Replace(formula))
	require.NoError(t, err, formula)
	var value func(ast.Expr) float64
	value = func(e ast.Expr) float64 {
		switch e := e.(type) {
		case *ast.ParenExpr:
			return value(e.X)
		case *ast.BasicLit:
			number, err := strconv.ParseFloat(e.Value, 64)
			require.NoError(t, err, formula)
			return number
		case *ast.Ident:
			require.Contains(t, letters, e.Name, formula)
			return letters[e.Name]
		case *ast.BinaryExpr:
			x, y := value(e.X), value(e.Y)
			return map[token.Token]float64{token.ADD: x + y, token.SUB: x - y, token.MUL: x * y, token.QUO: x / y}[e.Op]
		case *ast.CallExpr:
			x, y := value(e.Args[0]), value(e.Args[1])
			return map[string]float64{"U": x + u*(y-x), "min": min(x, y), "max": max(x, y)}[fmt.Sprint(e.Fun)]
		}
		require.Fail(t, "not understood", formula)
		return 0
	}
	return time.Duration(math.Round(value(tree)))
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

// The waits of each strategy are spread evenly over the range that the formula in its comment says. If
// a server asks for a wait, the range moves up until it starts there. So clients that were told the
// same time come back spread over its width.
func TestJitterFormula(t *testing.T) {
	const s = time.Second
	all := formulas(t)
	all[unknownJitter] = all[backoff.ProportionalJitter]
next:
	for jitter, formula := range all {
		for name, at := range map[string]struct {
			retry int // the one looked at, from 1
			limit time.Duration
		}{
			"first":              {1, 10 * s},
			"third":              {3, 10 * s},
			"just below the cap": {3, 4500 * time.Millisecond},
			"at the cap":         {9, 10 * s},
			"near the cap":       {1, 2 * s},
			"B = C":              {1, s},
		} {
			letters := map[string]float64{"B": 1e9, "C": float64(at.limit), "P": 1e9, "f": 0.3}
			letters["I"] = min(math.Ldexp(1e9, at.retry-1), letters["C"])
			low, high := evaluate(t, formula, 0, letters), evaluate(t, formula, 1, letters)
			for where, server := range map[string]time.Duration{
				"no wait asked for": 0, "below": low / 2, "inside": (low + high) / 2, "above": 7 * high,
			} {
				if server == 0 && where != "no wait asked for" {
					continue
				}
				if strings.Contains(formula, "P") && (at.retry > 1 || name == "near the cap" && server <= low) {
					continue // P is known for the first wait, which is cut off near the cap
				}
				even := t.Run(fmt.Sprint(jitter, ", ", name, ", ", where), func(t *testing.T) {
					b := &backoff.ExponentialBackOff{
						InitialInterval: s, Multiplier: 2, MaxInterval: at.limit, Jitter: jitter,
						RandomizationFactor: 0.3, Rand: seeded(),
					}
					errs := make([]error, at.retry)
					for i := range errs {
						errs[i] = errFailed
					}
					errs[at.retry-1] = fmt.Errorf("wrapped: %w", backoff.RetryAfter(errFailed, server))
					waits := make([]time.Duration, 2_000)
					for i := range waits {
						waits[i] = recorded(t, b, errs...)[at.retry-1]
					}
					start := max(low, server)
					requireUniform(t, waits, start, start+high-low, formula)
				})
				if !even {
					continue next // one line is enough
				}
			}
		}
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

	b.Reset()
	b.InitialInterval = 1
	b.NextBackOff()
	b.InitialInterval = base
	require.Equal(t, base, b.NextBackOff(), "B is more than 3·P")
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

// Whatever the fields, a wait is not shorter than a server asks for, and with any strategy but v4's not
// longer than MaxInterval otherwise. It never overflows.
func TestJitterBounds(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	for _, jitter := range append(jitters, unknownJitter) {
		for _, limit := range []time.Duration{1, 2, 3, time.Second, most - 1, most} {
			for _, initial := range []time.Duration{0, 1, limit / 2, limit, most} {
				for _, server := range []time.Duration{0, 1, limit/2 + 1, limit, most - 1, most} {
					b := &backoff.ExponentialBackOff{
						InitialInterval: initial, MaxInterval: limit, Jitter: jitter, RandomizationFactor: 1,
						Clock: backoff.SystemClock, Rand: seeded(),
					}
					asked := backoff.RetryAfter(errFailed, server)
					for _, wait := range recorded(t, b, asked, asked, asked, asked, asked, asked, asked, asked) {
						proportional := jitter == backoff.ProportionalJitter || jitter == unknownJitter
						if wait < server || server == 0 && (wait > limit && !proportional || initial == 0 && wait != 0) {
							t.Fatalf("%v: B = %d, C = %d, server's %d: wait of %d", jitter, initial, limit, server, wait)
						}
					}
				}
			}
		}
	}
}
