package bench_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// One measurement takes one or two slices, short enough for many to be undisturbed. Where the work of the garbage
// collector counts, a slice is long enough for some cycles.
const (
	slice          = time.Millisecond
	collectedSlice = 10 * time.Millisecond
)

// A contest is a task whose peers are measured one right after the other, many times. Noise only ever adds time, so
// the least of each peer counts.
type contest struct {
	task      string
	collected bool // the garbage collector's work is included
	runners   []*runner
	bars      []bar // of TestBars
}

type runner struct {
	peer string
	run  func(n int)
	n    int     // how many times take a slice
	best float64 // ns for each time
}

func newContest(tb testing.TB, t task, collected bool) *contest {
	c := &contest{task: t.name, collected: collected}
	for _, e := range t.entries {
		c.runners = append(c.runners, &runner{peer: e.peer, run: e.build(tb), n: 1, best: math.Inf(1)})
	}
	return c
}

// round measures each runner once, in a new order. Where its work is not included, the garbage collector runs only
// before that: on a busy machine no measurement would otherwise be free of it.
func (c *contest) round() {
	runtime.GC()
	shortest := collectedSlice
	if !c.collected {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		shortest = slice
	}
	rand.Shuffle(len(c.runners), func(i, j int) { c.runners[i], c.runners[j] = c.runners[j], c.runners[i] })
	for _, r := range c.runners {
		start := time.Now()
		r.run(r.n)
		took := time.Since(start)
		if took < shortest {
			r.n *= 2
		} else {
			r.best = min(r.best, float64(took)/float64(r.n))
		}
	}
}

// best returns a peer's time in ns, or +Inf if it does not do the task.
func (c *contest) best(peer string) float64 {
	r := c.runner(peer)
	if r == nil {
		return math.Inf(1)
	}
	return r.best
}

// runner returns a peer's runner, or nil if it does not do the task.
func (c *contest) runner(peer string) *runner {
	i := slices.IndexFunc(c.runners, func(r *runner) bool { return r.peer == peer })
	if i < 0 {
		return nil
	}
	return c.runners[i]
}
