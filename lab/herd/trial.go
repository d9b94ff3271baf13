package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// trial is a way and a plan, with its outcomes by seed.
type trial struct {
	way
	plan
	outcomes []*outcome
}

// try simulates each way in each plan with each seed. It returns all ways in the first plan, then all in the next one.
func (c config) try(ways []way, plans ...plan) []trial {
	all := make([]trial, len(plans)*len(ways))
	for i := range all {
		all[i] = trial{ways[i%len(ways)], plans[i/len(ways)], make([]*outcome, c.seeds)}
	}
	parallel(len(all)*c.seeds, func(i int) {
		t, k := all[i/c.seeds], i%c.seeds
		t.plan.seed = 1 + uint64(k)
		t.outcomes[k] = play(t.way, t.plan)
	})
	return all
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

// span returns a figure of the outcomes, or its range over the seeds, with a unit.
func (t trial) span(figure func(*outcome) float64, show func(float64) string, unit string) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, o := range t.outcomes {
		least, most = min(least, figure(o)), max(most, figure(o))
	}
	text := show(least)
	if show(most) != text {
		text += "–" + show(most)
	}
	return text + unit
}

// mean returns the mean of a figure over the seeds.
func (t trial) mean(figure func(*outcome) float64) float64 {
	sum := 0.0
	for _, o := range t.outcomes {
		sum += figure(o)
	}
	return sum / float64(len(t.outcomes))
}

// harm returns the share of the calls that are lost or, if none are, how long the slowest takes.
func (t trial) harm() string {
	lost := 0.0
	for _, o := range t.outcomes {
		lost = max(lost, o.lostShare())
	}
	if lost >= 0.05 {
		return t.span((*outcome).lostShare, percent, " %")
	}
	return t.span((*outcome).longest, decimals(0), " s")
}

// decimals returns what shows a number with so many decimals.
func decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
}

// percent shows a share, with a decimal if it is small.
func percent(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// writeTable writes rows of cells, of which the first is a name, and an empty line after them.
func writeTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(w, "%*s", widths[i+1]+2, cell)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
