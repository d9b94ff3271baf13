package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"example.com/backoff"
)

const (
	serviceRate = 300.0 // requests per second that the service of the blip can do
	blipAfter   = 5 * time.Minute
)

func blipStrategies(retries, refund int) []strategy {
	full := jittered(retries, backoff.FullJitter)
	return []strategy{
		{name: noRetries, policy: noRetry},
		{name: proportional, policy: jittered(retries, backoff.ProportionalJitter)},
		{name: fullJitter, policy: full},
		{name: fixed500, policy: full, process: budget(500, 0, refund)},
		{name: withBudget, policy: full, process: budget(0, 0, refund)},
	}
}

// blip is the plan of the blip at a load.
func (c config) blip(load float64) plan {
	p := c.plan
	p.processes = c.processes.or(10)[0]
	p.rate = serviceRate
	p.load = load
	p.queue = cmp.Or(p.queue, fifo)
	p.from = troubleAt
	p.duration = cmp.Or(p.duration, 10*time.Second)
	p.after = cmp.Or(p.after, blipAfter)
	p.window = 5
	return p
}

// blips are the results for each load, and for each strategy.
type blips []trial

func runBlip(c config) blips {
	var plans []plan
	for _, load := range c.loads.or(0.7, 0.8, 0.9) {
		plans = append(plans, c.blip(load))
	}
	return c.try(blipStrategies(c.retries, c.refund), plans...)
}

func (all blips) table(w io.Writer) {
	first := all[0].plan
	fmt.Fprintf(w, "Blip: a service without capacity for %g s, by its load before: when it recovers, and the operations lost\n%s\n\n",
		first.duration.Seconds(), first.described())
	above, below := []string{""}, []string{""}
	strategies := len(blipStrategies(0, 0))
	for i := 0; i < len(all); i += strategies {
		above = append(above, "", fmt.Sprintf("%.4g %% load", all[i].load*100))
		below = append(below, "recovered", "lost")
	}
	writeStrategies(w, [][]string{above, below}, strategies, all, trial.blipCells)
}

func (t trial) blipCells() []string { return []string{t.recovered(), t.lost()} }
