package main

import (
	"fmt"
	"io"
	"strconv"

	"example.com/backoff"
)

// fleets are the result without retries for each load, and that of each number of processes and
// Capacity for each load.
type fleets struct {
	without []*blip
	rows    []fleet
}

type fleet struct {
	processes, capacity int
	blips               []*blip
}

func runFleet(c config) fleets {
	loads := len(c.loads)
	all := fleets{without: make([]*blip, loads)}
	for _, n := range c.processes {
		for _, capacity := range c.capacities {
			all.rows = append(all.rows, fleet{n, capacity, make([]*blip, loads)})
		}
	}
	parallel((1+len(all.rows))*loads, func(i int) {
		s := c.blip
		s.load = c.loads[i%loads]
		if i < loads {
			all.without[i] = simulateBlip(strategy{policy: never}, s, c.seed)
			return
		}
		f := all.rows[i/loads-1]
		s.processes = f.processes
		f.blips[i%loads] = simulateBlip(strategy{policy: jittered(s.retries, backoff.FullJitter),
			process: budget(f.capacity, 0, backoff.WithBudget)}, s, c.seed)
	})
	return all
}

// cells returns the results as the cells of a table.
func (all fleets) cells() [][]string {
	rows := [][]string{{"processes", "capacity", "load", "recovered", "goodput"}}
	for _, f := range all.rows {
		for _, b := range f.blips {
			recovered := ""
			if after, ok := b.recovered(); ok {
				recovered = strconv.Itoa(after)
			}
			rows = append(rows, []string{strconv.Itoa(f.processes), strconv.Itoa(f.capacity), fmt.Sprintf("%g", b.load),
				recovered, fmt.Sprintf("%.3f", b.last())})
		}
	}
	return rows
}

func writeFleet(w io.Writer, all fleets) {
	fmt.Fprintf(w, "Fleet: the blip with a budget in each process; when the service recovers, in s, if it does in %g\n\n", blipAfter.Seconds())
	for _, b := range all.without {
		fmt.Fprintf(w, "no retries, %.4g %% load: %s\n", b.load*100, verdict(b.recovered()))
	}
	fmt.Fprintln(w)
	writeTable(w, all.cells())
}
