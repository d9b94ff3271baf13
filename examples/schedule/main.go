// Schedule draws the waits of an exponential policy: the range of each, the one that a random draw gives, and
// the total. By default these are the waits of a Retrier whose attempts may take a second or more.
//
//	go run ./examples/schedule -interval 1s -multiplier 2 -cap 10s -jitter FullJitter -retries 10
//
// It does not really wait, and counts no time for the attempts.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"example.com/backoff"
)

// jitters are the strategies that -jitter accepts by their names: all that the library has.
var jitters = allJitters()

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(1)
	}
}

// run is the program.
func run(args []string, out io.Writer) error {
	policy := backoff.NewExponentialBackOff()
	flags := flag.NewFlagSet("schedule", flag.ExitOnError)
	flags.DurationVar(&policy.InitialInterval, "interval", backoff.DefaultInitialInterval, "InitialInterval")
	flags.Float64Var(&policy.Multiplier, "multiplier", backoff.DefaultMultiplier, "Multiplier")
	flags.DurationVar(&policy.MaxInterval, "cap", backoff.DefaultMaxInterval, "MaxInterval")
	flags.DurationVar(&policy.MaxElapsedTime, "limit", 0, "MaxElapsedTime, 0 for none")
	flags.Float64Var(&policy.RandomizationFactor, "factor", backoff.DefaultRandomizationFactor,
		"RandomizationFactor, for ProportionalJitter")
	flags.Func("jitter", fmt.Sprintf("one of %v (default %v)", jitters, policy.Jitter), func(name string) error {
		return setJitter(&policy.Jitter, name)
	})
	retries := flags.Int("retries", 3, "how many retries to draw")
	seed := flags.Uint64("seed", 1, "what the drawn waits depend on")

	err := flags.Parse(args)
	if err != nil {
		return err
	}
	return draw(out, policy, *retries, *seed)
}

// allJitters returns the strategies that have a name. They are numbered from zero on.
func allJitters() []backoff.Jitter {
	var all []backoff.Jitter
	for j := backoff.Jitter(0); !strings.HasPrefix(j.String(), "Jitter("); j++ {
		all = append(all, j)
	}
	return all
}

// setJitter sets j by its name, in capitals or not.
func setJitter(j *backoff.Jitter, name string) error {
	for _, known := range jitters {
		if strings.EqualFold(name, known.String()) {
			*j = known
			return nil
		}
	}
	return fmt.Errorf("want one of %v", jitters)
}

// Sources of randomness that give the shortest and the longest waits.
const (
	lowest  constant = 0
	highest constant = math.MaxUint64
)

// constant is a rand.Source that always returns the same number.
type constant uint64

// Uint64 returns the number.
func (c constant) Uint64() uint64 {
	return uint64(c)
}

// wait is a wait and the range that it was drawn from.
type wait struct {
	shortest time.Duration
	longest  time.Duration
	drawn    time.Duration
	total    time.Duration // with all waits before it
}

// simulate returns the waits of policy before so many retries, or fewer if it stops.
func simulate(policy *backoff.ExponentialBackOff, source rand.Source, retries int) []wait {
	clock := new(simulatedClock)
	policy.Clock = clock
	policy.Rand = rand.New(source)
	policy.Reset()

	var waits []wait
	var total time.Duration
	for range retries {
		w := wait{
			shortest: peek(*policy, lowest),
			longest:  peek(*policy, highest),
			drawn:    policy.NextBackOff(),
		}
		if w.drawn < 0 {
			break
		}
		total += min(w.drawn, math.MaxInt64-total)
		w.total = total
		clock.now = clock.now.Add(w.drawn)
		waits = append(waits, w)
	}
	return waits
}

// peek returns the wait that policy, which is a copy, draws next from source, whatever the limit.
func peek(policy backoff.ExponentialBackOff, source rand.Source) time.Duration {
	policy.Rand = rand.New(source)
	policy.MaxElapsedTime = 0
	return policy.NextBackOff()
}

// simulatedClock is a Clock that shows the time after the waits.
type simulatedClock struct {
	now time.Time
}

// Now returns the time that the clock shows.
func (c *simulatedClock) Now() time.Time {
	return c.now
}

// draw writes a table of the waits, each with a bar for its range and an o where it is, and the totals.
func draw(out io.Writer, policy *backoff.ExponentialBackOff, retries int, seed uint64) error {
	waits := simulate(policy, rand.NewPCG(seed, 0), retries)
	var scale time.Duration
	for _, w := range waits {
		scale = max(scale, w.longest)
	}

	var text strings.Builder
	fmt.Fprintf(&text, "%5s  %9s  %9s  %9s  %9s\n", "retry", "shortest", "longest", "drawn", "total")
	for i, w := range waits {
		fmt.Fprintf(&text, "%5d  %9s  %9s  %9s  %9s  %s\n",
			i+1, short(w.shortest), short(w.longest), short(w.drawn), short(w.total), bar(w, scale))
	}
	fmt.Fprintf(&text, "\n%-12s  %7s  %9s\n", "", "retries", "total")
	addTotal(&text, "as drawn", waits)
	addTotal(&text, "all shortest", simulate(policy, lowest, retries))
	addTotal(&text, "all longest", simulate(policy, highest, retries))

	_, err := io.WriteString(out, text.String())
	return err
}

// short returns d with as many digits as a table needs.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return d.Round(time.Microsecond).String()
	case d < time.Minute:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// bar returns the range of w on a line of 40 columns that ends at scale.
func bar(w wait, scale time.Duration) string {
	const columns = 40
	column := func(d time.Duration) int {
		return int(float64(d) / float64(max(scale, 1)) * (columns - 1))
	}
	first := column(w.shortest)
	last := column(w.longest)

	line := []byte(strings.Repeat(" ", first) + strings.Repeat("-", last-first+1))
	line[column(w.drawn)] = 'o'
	return string(line)
}

// addTotal adds a line that says how many waits there are, and how long they take together.
func addTotal(text *strings.Builder, name string, waits []wait) {
	var total time.Duration
	if len(waits) > 0 {
		total = waits[len(waits)-1].total
	}
	fmt.Fprintf(text, "%-12s  %7d  %9s\n", name, len(waits), short(total))
}
