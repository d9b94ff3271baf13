package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/backoff"
)

// fleets are the results without retries for each load, and those of each number of processes, Capacity
// (which names the strategies) and load.
type fleets struct{ without, rows []trial }

func runFleet(c config) (all fleets) {
	var strategies []strategy
	for _, capacity := range c.capacities.or(500, 0) {
		strategies = append(strategies, strategy{
			name:    strconv.Itoa(capacity),
			policy:  jittered(c.retries, backoff.FullJitter),
			process: budget(capacity, 0, c.refund),
		})
	}
	var plans []plan
	for _, load := range c.loads.or(0.8) {
		plans = append(plans, c.blip(load))
	}
	all.without = c.try([]strategy{{policy: noRetry}}, plans...)
	for _, processes := range c.processes.or(1, 10, 100, 300, 1000) {
		for i := range plans {
			plans[i].processes = processes
		}
		trials := c.try(strategies, plans...)
		for s := range strategies {
			for i := range plans {
				all.rows = append(all.rows, trials[i*len(strategies)+s])
			}
		}
	}
	return all
}

// cells returns the results as the cells of a table.
func (all fleets) cells() [][]string {
	rows := [][]string{{"processes", "capacity", "load", "recovered", "goodput"}}
	for _, t := range all.rows {
		rows = append(rows, []string{strconv.Itoa(t.processes), t.name, fmt.Sprintf("%g", t.load),
			t.span((*outcome).recovered, wholeSeconds, ""), t.span((*outcome).lastMinute, decimals(3), "")})
	}
	return rows
}

func (all fleets) csv(w io.Writer) {
	for _, row := range all.cells() {
		fmt.Fprintln(w, strings.ReplaceAll(strings.Join(row, ","), never, ""))
	}
}

func (all fleets) table(w io.Writer) {
	fmt.Fprintf(w, "Fleet: the blip with a budget in each process; when the service recovers, in s, if it does in %g\n%s\n\n",
		blipAfter.Seconds(), all.rows[0].described())
	for _, t := range all.without {
		fmt.Fprintf(w, "no retries, %.4g %% load: %s\n", t.load*100, t.recovered())
	}
	fmt.Fprintln(w)
	writeTable(w, all.cells())
}
