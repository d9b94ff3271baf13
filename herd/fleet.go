package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/backoff"
)

// fleets are the results without retries, and those of each number of processes and Capacity, for each load.
type fleets struct {
	without []*blip
	rows    []fleet
}

type fleet struct {
	*blip
	capacity int
}

func runFleet(c config) fleets {
	loads := c.blipLoads()
	all := fleets{without: make([]*blip, len(loads))}
	processes, capacities := c.processes.or(1, 10, 100, 300, 1000), c.capacities.or(500, 0)
	all.rows = make([]fleet, len(processes)*len(capacities)*len(loads))
	parallel(len(loads)+len(all.rows), func(i int) {
		load := loads[i%len(loads)]
		if i < len(loads) {
			all.without[i] = simulateBlip(strategy{policy: never}, c, blipProcesses, load)
			return
		}
		i -= len(loads)
		n, capacity := processes[i/len(loads)/len(capacities)], capacities[i/len(loads)%len(capacities)]
		s := strategy{policy: jittered(c.retries, backoff.FullJitter), process: budget(capacity, 0, backoff.WithBudget)}
		all.rows[i] = fleet{simulateBlip(s, c, n, load), capacity}
	})
	return all
}

// cells returns the results as the cells of a table.
func (all fleets) cells() [][]string {
	rows := [][]string{{"processes", "capacity", "load", "recovered", "goodput"}}
	for _, f := range all.rows {
		recovered := ""
		if after, ok := f.recovered(); ok {
			recovered = strconv.Itoa(after)
		}
		rows = append(rows, []string{strconv.Itoa(f.processes), strconv.Itoa(f.capacity), fmt.Sprintf("%g", f.load),
			recovered, fmt.Sprintf("%.3f", f.last())})
	}
	return rows
}

func (all fleets) csv(w io.Writer) {
	for _, row := range all.cells() {
		fmt.Fprintln(w, strings.Join(row, ","))
	}
}

func (all fleets) table(w io.Writer) {
	fmt.Fprintf(w, "Fleet: the blip with a budget in each process; when the service recovers, in s, if it does in %g\n\n", blipAfter.Seconds())
	for _, b := range all.without {
		fmt.Fprintf(w, "no retries, %.4g %% load: %s\n", b.load*100, verdict(b.recovered()))
	}
	fmt.Fprintln(w)
	writeTable(w, all.cells())
}
