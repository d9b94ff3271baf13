package main

import (
	"fmt"
	"math"
)

// trial is a way and a plan, with its outcomes by seed.
type trial struct {
	way
	plan
	outcomes []*outcome
}

// try simulates each way in each plan with each seed. It returns all ways in the first plan,
// then all in the next one.
func (c config) try(ways []way, plans ...plan) []trial {
	all := make([]trial, len(plans)*len(ways))
	for i := range all {
		all[i] = trial{ways[i%len(ways)], plans[i/len(ways)], make([]*outcome, c.seeds)}
	}
	parallel(len(all)*c.seeds, func(i int) {
		t, k := all[i/c.seeds], i%c.seeds
		t.plan.seed += uint64(k)
		t.outcomes[k] = play(t.way, t.plan)
	})
	return all
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

// decimals returns what shows a number with so many decimals.
func decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
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
	lost, slowest := 0.0, 0.0
	for _, o := range t.outcomes {
		lost = max(lost, o.lostShare())
		slowest = max(slowest, o.longest())
	}
	switch {
	case lost >= 9.95:
		return t.span((*outcome).lostShare, decimals(0), " %")
	case lost >= 0.05:
		return t.span((*outcome).lostShare, decimals(1), " %")
	case slowest >= 300:
		return t.span(func(o *outcome) float64 { return o.longest() / 60 }, decimals(0), " min")
	}
	return t.span((*outcome).longest, decimals(0), " s")
}
