package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/backoff/lab/report"
)

// trial is a way in a plan, with what happens by seed.
type trial struct {
	way string
	plan
	histories []*history
}

// run simulates, in each trouble, each way with each seed.
func (c config) run() [][]trial {
	var all []trial
	for _, t := range c.troubles {
		for _, name := range c.ways {
			all = append(all, trial{name, c.program(t), make([]*history, c.seeds)})
		}
	}
	parallel(len(all)*c.seeds, func(i int) {
		t, k := all[i/c.seeds], i%c.seeds
		t.seed = 1 + uint64(k)
		t.histories[k] = play(ways[t.way], t.plan)
	})
	return slices.Collect(slices.Chunk(all, len(c.ways)))
}

// parallel calls f for each number below n, on as many goroutines as there are processors.
func parallel(n int, f func(int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// figures returns a figure of each history.
func (t trial) figures(figure func(*history) float64) []float64 {
	var all []float64
	for _, h := range t.histories {
		all = append(all, figure(h))
	}
	return all
}

// span shows a figure, as a range if the seeds differ.
func (t trial) span(figure func(*history) float64, show func(float64) string) string {
	return report.Span(t.figures(figure), show)
}

// harm shows the share of the calls that are lost or, if none are, how long the slowest takes.
func (t trial) harm() string {
	if slices.Max(t.figures((*history).lostShare)) >= 0.05 {
		return t.span((*history).lostShare, report.Percent) + " %"
	}
	return t.span((*history).longest, report.Decimals(0)) + " s"
}
