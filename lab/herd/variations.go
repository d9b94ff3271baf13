package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// variations are the rows of a table of handlers. In each, something is different.
var variations = []struct{ name, flags string }{
	{"as in the other tables", ""},
	{"20 processes", "-processes 20"},
	{"answers of 0.35 of the timeout", "-answer 350ms"},
	{"and 20 processes", "-answer 350ms -processes 20"},
	{"timeout 3 s, deadline 15 s", "-timeout 3s -deadline 15s"},
	{"deadline 1 s, as the timeout", "-deadline 1s"},
	{"the busiest process has 10 times the calls", "-skew 10"},
	{"and another is that every 10 s", "-skew 10 -move 10s"},
	{"all processes restart in the trouble", "-restart"},
	{"four times the processes from the trouble on", "-grow 4"},
}

const variedTroubles = "none@0.6,none@0.9,10s@0.3,10s@0.6,10s@0.9,60s@0.8,half@0.8"

// variedWays are those in the cells of the variations.
var variedWays = []string{noRetries, byNumber, slots, slotsBudget}

// vary runs the handlers with the flags of a row, in some troubles, with the seeds of c.
func (c config) vary(flags, troubles string) programs {
	row, err := parse(append(strings.Fields(flags), "-trouble", troubles), io.Discard)
	if err != nil {
		panic(err)
	}
	row.seeds, row.from, row.exactly = c.seeds, c.from, variedWays
	return runPrograms(row)
}

// writeVariations runs the variations, and writes their table.
func writeVariations(c config, w io.Writer) {
	fmt.Fprintf(w, "Variations: by trouble and load, the calls that are lost, in per cent: %s\n\n",
		strings.Join(variedWays, " / "))
	table := [][]string{{""}}
	for i, v := range variations {
		row := []string{v.name}
		all := c.vary(v.flags, variedTroubles)
		for trials := range slices.Chunk(all.trials, all.ways) {
			if i == 0 {
				table[0] = append(table[0], trials[0].trouble.name)
			}
			row = append(row, cell(trials))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

// cell shows what is lost in one trouble, by the ways that are shown, on average over the seeds.
func cell(trials []trial) string {
	lost := map[string]string{}
	for _, t := range trials {
		lost[t.way.name] = percent(t.mean((*outcome).lostShare))
	}
	var figures []string
	for _, name := range variedWays {
		figures = append(figures, lost[name])
	}
	return strings.Join(figures, "/")
}
