package main

import (
	"fmt"
	"slices"

	"example.com/backoff/lab/command"
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
	command.Parallel(len(all)*c.seeds, func(i int) {
		t, k := all[i/c.seeds], i%c.seeds
		t.seed = 1 + uint64(k)
		t.histories[k] = play(ways[t.way], t.plan)
	})
	return slices.Collect(slices.Chunk(all, len(c.ways)))
}

// figures returns a figure of each history.
func (t trial) figures(figure func(*history) float64) []float64 {
	var all []float64
	for _, h := range t.histories {
		all = append(all, figure(h))
	}
	return all
}

// mean returns a figure on average.
func (t trial) mean(figure func(*history) float64) float64 {
	sum := 0.0
	for _, one := range t.figures(figure) {
		sum += one
	}
	return sum / float64(len(t.histories))
}

// span shows a figure, as a range if the seeds differ.
func (t trial) span(figure func(*history) float64, show func(float64) string) string {
	return report.Span(t.figures(figure), show)
}

// The units of what is lost.
const (
	inSeconds = "seconds"
	inPercent = "percent"
	inBoth    = "both"
)

var units = map[string]string{
	inSeconds: "seconds of the usual traffic",
	inPercent: "per cent of all calls",
	inBoth:    "seconds of the usual traffic and in per cent of all calls",
}

// harm shows the calls that are lost or, if none are, how long the slowest takes. Where no traffic is usual, they are in
// per cent.
func (t trial) harm(unit string) string {
	if slices.Max(t.figures(lostShare)) < 0.05 {
		return fmt.Sprintf("0 (%s s)", t.span(longest, report.Short))
	}
	percent := t.span(lostShare, report.Short) + " %"
	seconds := t.span(t.lostSeconds, report.Short) + " s"
	switch {
	case unit == inPercent || t.load == 0:
		return percent
	case unit == inBoth:
		return seconds + ", " + percent
	}
	return seconds
}

func longest(h *history) float64   { return h.longest() }
func lostShare(h *history) float64 { return h.share() }

// lostSeconds returns for how long as many calls usually begin as are lost.
func (p plan) lostSeconds(h *history) float64 { return float64(h.lost()) / p.demand() }
