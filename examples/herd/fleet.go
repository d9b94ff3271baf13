package main

import (
	"fmt"
	"io"
	"strconv"

	"example.com/backoff"
)

// fleet is a blip in which each of many processes has a budget.
type fleet struct {
	*blip
	processes, capacity int
}

func newFleet(processes, capacity int) fleet {
	s := strategy{name: fullBudget, policy: three(backoff.FullJitter), budget: &backoff.Budget{Capacity: capacity}}
	return fleet{&blip{strategy: s}, processes, capacity}
}

// held returns what the full buckets of all processes pay for, in seconds of the service's capacity.
func (f fleet) held() float64 {
	return float64(f.processes*(f.capacity/backoff.DefaultRetryCost)) / serviceRate
}

// fleets is the result without retries for each load, and that of each number of processes and
// capacity for each load.
type fleets struct {
	without []*blip
	rows    [][]fleet
}

func runFleet(processes, capacities []int, seed uint64, p *progress) fleets {
	loads := blipLoads()
	var all fleets
	for _, n := range processes {
		for _, capacity := range capacities {
			row := make([]fleet, len(loads))
			for i := range row {
				row[i] = newFleet(n, capacity)
			}
			all.rows = append(all.rows, row)
		}
	}
	all.without = make([]*blip, len(loads))
	parallel((1+len(all.rows))*len(loads), p, func(i int) {
		load := loads[i%len(loads)]
		if i < len(loads) {
			all.without[i] = simulateBlip(strategy{name: noRetries, policy: never}, 1, load, seed)
		} else {
			f := &all.rows[i/len(loads)-1][i%len(loads)]
			f.blip = simulateBlip(f.strategy, f.processes, load, seed)
		}
	})
	return all
}

func writeFleet(w io.Writer, all fleets) {
	fmt.Fprintf(w, "Fleet: the blip with a budget in each process; when the service recovers, and when by the law\n\n")
	above, below, without := []string{"", "", ""}, []string{"processes", "Capacity", "held"}, []string{noRetries, "", ""}
	for _, b := range all.without {
		above = append(above, "", fmt.Sprintf("%.0f %% load", b.load*100))
		below = append(below, "recovered", "law")
		without = append(without, verdict(b.recovery()), "")
	}
	table := [][]string{above, below, without}
	for _, fleets := range all.rows {
		f := fleets[0]
		row := []string{strconv.Itoa(f.processes), strconv.Itoa(f.capacity), fmt.Sprintf("%.1f s", f.held())}
		for i, f := range fleets {
			recovered := "> 300 s" // all that is simulated
			if after, ok := f.recovery(); ok {
				recovered = fmt.Sprintf("%d s", after)
			}
			row = append(row, recovered, fmt.Sprintf("%.0f s", all.without[i].law(f.held())))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

func writeFleetCSV(w io.Writer, all fleets) {
	fmt.Fprintln(w, "processes,capacity,load,recovered,goodput")
	for _, fleets := range all.rows {
		for _, f := range fleets {
			recovered := ""
			if after, ok := f.recovery(); ok {
				recovered = strconv.Itoa(after)
			}
			fmt.Fprintf(w, "%d,%d,%g,%s,%.3f\n", f.processes, f.capacity, f.load, recovered, f.last())
		}
	}
}
