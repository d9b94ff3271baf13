package main

import (
	"io"
	"strings"
)

// situations are rows of the table of slots, with the flags of each.
var situations = []struct{ name, flags string }{
	{"10 s down, load 0.6", "-trouble 10s -load 0.6"},
	{"10 s down, load 0.8", "-trouble 10s -load 0.8"},
	{"10 s down, load 0.9", "-trouble 10s -load 0.9"},
	{"60 s down, load 0.8", "-trouble 60s -load 0.8"},
	{"half of the capacity for 60 s, load 0.8", "-trouble half -load 0.8"},
	{"10 % of the calls hang for ever", "-trouble hang:10%"},
	{"20 % of them", "-trouble hang:20%"},
	{"40 % of them", "-trouble hang:40%"},
	{"answers take half of the timeout, no trouble", "-trouble none -answer 500ms"},
	{"four times too many slots, 10 s down, load 0.6", "-trouble 10s -load 0.6 -guess 4"},
	{"four times too many slots, 10 s down, load 0.8", "-trouble 10s -load 0.8 -guess 4"},
	{"four times too many slots, 10 s down, load 0.9", "-trouble 10s -load 0.9 -guess 4"},
	{"no deadline, 60 s down, load 0.6", "-trouble 60s -load 0.6 -deadline 0"},
}

// slotWays are the columns.
const slotWays = "no retries,Retrier"

// slots are the results for each situation.
type slots struct{ rows []programs }

func runSituations(c config) (all slots) {
	for _, s := range situations {
		one, err := parse(strings.Fields("-scenario programs "+s.flags), io.Discard)
		if err != nil {
			panic(err)
		}
		one.seed, one.seeds, one.only = c.seed, c.seeds, slotWays
		all.rows = append(all.rows, runPrograms(one))
	}
	return all
}

func (all slots) table(w io.Writer) {
	head := []string{"lost"}
	for _, t := range all.rows[0].trials {
		head = append(head, t.way.name)
	}
	table := [][]string{head}
	for i, programs := range all.rows {
		row := []string{situations[i].name}
		for _, t := range programs.trials {
			row = append(row, t.span((*outcome).lostShare, decimals(1), " %"))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}
