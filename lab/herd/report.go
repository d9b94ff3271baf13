package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// cell is what a plan comes to in one way, by seed.
type cell struct {
	plan
	way       way
	histories []history
}

// run has all plans gone through in all ways, with all seeds, so many at once. It returns them by plan and way.
func (c config) run(plans []plan, atOnce int, play func(way, plan) (history, error)) ([][]cell, error) {
	var rows [][]cell
	for _, p := range plans {
		var row []cell
		for _, w := range c.ways {
			row = append(row, cell{p, w, make([]history, c.seeds)})
		}
		rows = append(rows, row)
	}

	errs := make([]error, len(plans)*len(c.ways)*c.seeds)
	parallel(len(errs), atOnce, func(i int) {
		k, seed := i/c.seeds, i%c.seeds
		one := rows[k/len(c.ways)][k%len(c.ways)]
		one.seed = uint64(1 + seed)
		one.histories[seed], errs[i] = play(one.way, one.plan)
	})
	return rows, errors.Join(errs...)
}

// parallel calls f for each number below n, on so many goroutines.
func parallel(n, goroutines int, f func(int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, goroutines) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// lost returns for how many seconds as many calls of a stream usually begin as are lost, by seed.
func (c cell) lost(stream int) (all []float64) {
	for _, h := range c.histories {
		t := h.tallies[stream]
		usual := cmp.Or(c.kinds()[stream].usual, float64(t.begun)/c.closing())
		all = append(all, float64(t.lost())/usual)
	}
	return all
}

// show returns what a table has of a stream. Where all calls begin at once, no traffic is usual: those that are lost are
// in per cent, and how long half of the others take stands beside them.
func (c cell) show(stream int, means bool) string {
	if len(c.histories) == 0 {
		return nothing
	}
	if s := c.kinds()[stream]; s.burst > 0 && s.every == 0 {
		var share, half []float64
		for _, h := range c.histories {
			share = append(share, h.tallies[stream].share())
			half = append(half, h.tallies[stream].half())
		}
		return span(share, short) + " %, half after " + span(half, short) + " s"
	}
	lost := c.lost(stream)
	if means {
		return short(mean(lost))
	}
	return span(lost, short)
}

// line is a row of a table: the cells of a plan, for one of its streams.
type line struct {
	name   string
	stream int
	cells  []cell
}

func linesOf(rows [][]cell) (lines []line) {
	for _, row := range rows {
		for i, s := range row[0].kinds() {
			name := row[0].name
			if s.name != "" {
				name += ": " + s.name
			}
			if !s.silent {
				lines = append(lines, line{name, i, row})
			}
		}
	}
	return lines
}

// write writes the table of a scenario.
func (c config) write(w io.Writer, rows [][]cell) {
	lines := linesOf(rows)
	fmt.Fprint(w, "Lost, s")
	for _, one := range c.ways {
		fmt.Fprint(w, " | ", one.title)
	}
	fmt.Fprintln(w, "\n---"+strings.Repeat("|---:", len(c.ways)))
	for _, one := range lines {
		fmt.Fprint(w, one.name)
		for _, cell := range one.cells {
			fmt.Fprint(w, " | ", cell.show(one.stream, c.means))
		}
		fmt.Fprintln(w)
	}
	if c.mean {
		c.writeSums(w, lines, "mean", decimal, func(lost []float64, _ float64) float64 { return mean(lost) / float64(len(lines)) })
	}
	if c.summary {
		c.summarize(w, lines)
	}
}

// summarize writes what is lost more than by the better of no retries and three, and in how many rows that is much.
func (c config) summarize(w io.Writer, lines []line) {
	above := func(limit float64) func([]float64, float64) float64 {
		return func(lost []float64, best float64) float64 {
			if mean(lost) > best+limit {
				return 1
			}
			return 0
		}
	}
	c.writeSums(w, lines, "more than by the better of no retries and 3, in sum", short, func(lost []float64, best float64) float64 {
		return max(0, mean(lost)-best)
	})
	c.writeSums(w, lines, "rows above 10 s more", whole, above(10))
	c.writeSums(w, lines, "rows above 50 s more", whole, above(50))
}

// writeSums writes a last row: for each way, the sum of a figure over all lines. A figure is told what is lost, by seed,
// and what the better of no retries and three loses.
func (c config) writeSums(w io.Writer, lines []line, name string, show func(float64) string, figure func(lost []float64, best float64) float64) {
	sums := make([]float64, len(c.ways))
	for _, one := range lines {
		best := forever
		for _, cell := range one.cells {
			if cell.way.name == "none" || cell.way.name == "retries" {
				best = min(best, mean(cell.lost(one.stream)))
			}
		}
		for i, cell := range one.cells {
			sums[i] += figure(cell.lost(one.stream), best)
		}
	}
	fmt.Fprint(w, name)
	for _, sum := range sums {
		fmt.Fprint(w, " | ", show(sum))
	}
	fmt.Fprintln(w)
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, one := range all {
		sum += one
	}
	return sum / float64(len(all))
}

// nothing stands where there is no figure.
const nothing = "–"

// short shows a number, with a decimal if it is small.
func short(v float64) string {
	switch {
	case math.IsNaN(v):
		return nothing
	case v == 0:
		return "0"
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func decimal(v float64) string { return fmt.Sprintf("%.1f", v) }
func whole(v float64) string   { return fmt.Sprintf("%.0f", v) }

// span shows a figure of several runs: it is a range if they differ in what is shown.
func span(figures []float64, show func(float64) string) string {
	least, most := show(slices.Min(figures)), show(slices.Max(figures))
	if least == most {
		return least
	}
	return least + "–" + most
}
