package bench_test

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var judge = flag.Bool("bars", false, "measure, and fail if the library is slower than promised")

// Each task is measured in the first minRounds, and then, as long as it misses a bar, up to maxRounds: so a busy
// machine takes longer, but comes to the same result.
const (
	minRounds = 300
	maxRounds = 1000
)

// A bar promises that peer's time for the task is at most factor times that of each of the others.
type bar struct {
	task      string
	peer      string
	factor    float64
	others    []string
	collected bool // the garbage collector's work is included
}

func bars() []bar {
	all := []bar{
		{task: perCall, peer: ours, factor: 0.65, others: []string{cenkaltiV4}},
		{task: perCall, peer: ours, factor: 1, others: []string{cenkaltiV5, cenkaltiV7}, collected: true},
		{task: perCall, peer: attempts, factor: 1.2, others: []string{ours}},
		{task: timedCall, peer: numbered, factor: 1.05, others: []string{ours}, collected: true},
		{task: timedCall, peer: service, factor: 1.25, others: []string{numbered}, collected: true},
		{task: timedParallel, peer: service, factor: 1.25, others: []string{numbered}, collected: true},
		{task: tenFailures, peer: ours, factor: 0.12, others: others},
		{task: nextDefault, peer: ours, factor: 0.7, others: []string{cenkaltiV4}},
	}
	for _, leaf := range leaves {
		all = append(all, bar{task: readyConstant, peer: leaf.name, factor: 1, others: others})
	}
	for _, jitter := range jitters {
		all = append(all, bar{
			task: nextUnlimited + jitter.String(), peer: ours, factor: 1.3, others: []string{cenkaltiV5, cenkaltiV7},
		})
	}
	return all
}

// TestBars holds the library to its promises of performance. Without -bars it looks at allocations
// alone, which do not depend on the machine's load.
func TestBars(t *testing.T) {
	t.Run("Allocations", testAllocations)
	if !*judge {
		t.Skip("time and memory take a minute: run with -bars")
	}
	t.Run("Time", testTimes)
	t.Run("Memory", testMemory)
}

func testAllocations(t *testing.T) {
	most := map[string]float64{perCall: 2, timedCall: 6} // and none in the others
	for _, task := range tasks(t.Context()) {
		for _, e := range task.entries {
			if !strings.HasPrefix(e.peer, ours) || task.name == timedParallel { // its goroutines are allocated, too
				continue
			}
			limit := most[task.name]
			if e.peer == service || e.peer == numbered {
				limit = 4
			}
			run := e.build(t)
			allocs := testing.AllocsPerRun(1000, func() { run(1) })
			require.LessOrEqual(t, allocs, limit, "%s, %s", task.name, e.peer)
		}
	}
}

// Each round takes the contests in a new order.
func testTimes(t *testing.T) {
	start, rounds := time.Now(), 0
	contests := contestsOf(t, bars())
	for pending := slices.Clone(contests); len(pending) > 0 && rounds < maxRounds; rounds++ {
		rand.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
		for _, c := range pending {
			c.round()
		}
		pending = slices.DeleteFunc(pending, func(c *contest) bool { return rounds+1 >= minRounds && c.met() })
	}

	for _, c := range contests {
		for _, b := range c.bars {
			factor, other := c.factor(b)
			verdict := t.Logf
			if factor > b.factor {
				verdict = t.Errorf
			}
			verdict("%s, collected %v: %s takes %.1f ns, %.3f of %s; at most %.2f",
				b.task, b.collected, b.peer, c.best(b.peer), factor, other, b.factor)
		}
	}
	t.Logf("%d rounds, %v", rounds, time.Since(start).Round(time.Second))
}

// contestsOf returns the contests of bars, each with the peers that its bars compare.
func contestsOf(t *testing.T, bars []bar) (contests []*contest) {
	for _, task := range tasks(t.Context()) {
		for _, collected := range []bool{false, true} {
			c := newContest(t, task, collected)
			for _, b := range bars {
				if b.task == task.name && b.collected == collected {
					c.bars = append(c.bars, b)
				}
			}
			c.runners = slices.DeleteFunc(c.runners, func(r *runner) bool {
				return !slices.ContainsFunc(c.bars, func(b bar) bool {
					return b.peer == r.peer || slices.Contains(b.others, r.peer)
				})
			})
			if len(c.bars) > 0 {
				contests = append(contests, c)
			}
		}
	}
	return contests
}

func (c *contest) met() bool {
	return !slices.ContainsFunc(c.bars, func(b bar) bool {
		factor, _ := c.factor(b)
		return factor > b.factor
	})
}

// factor returns how much of the time of the fastest of b's others b's peer takes, and its name.
func (c *contest) factor(b bar) (float64, string) {
	fastest := slices.MinFunc(b.others, func(x, y string) int { return cmp.Compare(c.best(x), c.best(y)) })
	return c.best(b.peer) / c.best(fastest), fastest
}

// A call that waits after an attempt that used some stack takes at most a twentieth more memory than one of
// cenkalti/backoff v4. (If attempts use next to none, it depends on 16 bytes whether the 2 KB with which a goroutine
// starts are enough, and a call then takes 2.8 or 4.6 KB, whatever the library.) A bar that is
// missed gets more rounds here too.
func testMemory(t *testing.T) {
	least := map[string]float64{ours: math.Inf(1), cenkaltiV4: math.Inf(1)}
	for round := 0; round < 3 || round < 12 && least[ours] > 1.05*least[cenkaltiV4]; round++ {
		for _, p := range peers {
			if best, ok := least[p.name]; ok {
				least[p.name] = min(best, weigh(*waiters, p))
			}
		}
	}
	t.Logf("%.0f bytes, and %.0f of cenkalti/backoff v4", least[ours], least[cenkaltiV4])
	require.LessOrEqual(t, least[ours], 1.05*least[cenkaltiV4])
}
