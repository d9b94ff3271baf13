package backoff_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

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
		t.Errorf("waits from %v to %v, by tenths %v, where the comment in jitter.go, %s, spreads them evenly from %v to %v",
			least, most, tenths, formula, low, high)
	}
}

var formulaText = regexp.MustCompile(`(?m)^\t(.+)$`)

// formulas returns the formula of each strategy, from the comments in jitter.go.
func formulas(t *testing.T) map[backoff.Jitter]string {
	t.Helper()
	all := map[backoff.Jitter]string{}
	for i, constant := range jitterConstants(t) {
		found := formulaText.FindStringSubmatch(constant.Doc.Text())
		if found == nil {
			t.Fatalf("let the comment of %s in jitter.go have its formula, on a line of its own as in the others", constant.Names[0])
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
