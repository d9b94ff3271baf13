package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// situations are rows of the table of slots, with the flags of each.
var situations = []struct{ name, flags string }{
	{"10 s down", "-trouble 10s"},
	{"10 s down, a quarter of these slots", "-trouble 10s -guess 0.25"},
	{"half of them", "-trouble 10s -guess 0.5"},
	{"one and a half times as many", "-trouble 10s -guess 1.5"},
	{"twice as many", "-trouble 10s -guess 2"},
	{"four times as many", "-trouble 10s -guess 4"},
	{"10 % of the calls hang forever", "-trouble hang:10%"},
	{"20 % of them", "-trouble hang:20%"},
	{"40 % of them", "-trouble hang:40%"},
	{"answers take half of the timeout, no trouble", "-trouble none -answer 500ms"},
}

// variations are the rows of another table, in each of the usual troubles. In each, something is different.
var variations = []struct{ name, flags string }{
	{"deadline 2 s", "-deadline 2s"},
	{"deadline 1.2 s", "-deadline 1200ms"},
	{"timeout 700 ms", "-timeout 700ms"},
	{"timeout 2 s", "-timeout 2s"},
	{"one process", "-processes 1"},
	{"one worker", "-servers 1"},
	{"200 requests/s", "-rate 200"},
	{"heavy-tailed work", "-times heavy"},
	{"answers take half of the timeout", "-answer 500ms"},
	{"a fifth of them 0.8 s", "-slow 0.2 -slowly 800ms"},
	{"refuses what would wait for 200 ms", "-queue 200ms"},
	{"refuses what it cannot do", "-queue none"},
	{"and asks for 3 s", "-queue none -wait 3s"},
}

// runRow runs the programs with the flags of a row, and the seeds of c.
func (c config) runRow(flags, only string) programs {
	row, err := parse(strings.Fields("-scenario programs "+flags), io.Discard)
	if err != nil {
		panic(err)
	}
	row.seed, row.seeds, row.only = c.seed, c.seeds, only
	return runPrograms(row)
}

// slots are the results for each situation.
type slots []programs

func runSlots(c config) (all slots) {
	for _, s := range situations {
		all = append(all, c.runRow(s.flags, noRetries+",Retrier"))
	}
	return all
}

func (all slots) table(w io.Writer) {
	fmt.Fprintf(w, "Slots: the calls that are lost, in per cent\n\n")
	head := []string{""}
	for _, t := range all[0].trials {
		head = append(head, t.way.name)
	}
	table := [][]string{head}
	for i, programs := range all {
		row := []string{situations[i].name}
		for _, t := range programs.trials {
			row = append(row, t.span((*outcome).lostShare, decimals(1), ""))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

// byHand are the ways without a Retrier that keep the service up in some troubles.
var byHand = []string{noRetries, three, threeBudget, placeEach, semaphore}

// margins are the results for each variation.
type margins []programs

func runMargins(c config) (all margins) {
	for _, v := range variations {
		all = append(all, c.runRow(v.flags, strings.Join(append(byHand, half), ",")))
	}
	return all
}

func (all margins) table(w io.Writer) {
	fmt.Fprintf(w, "Margins: the calls that are lost, in per cent: by the best of %s / %s / %s\n\n",
		strings.Join(byHand, ", "), half, halfBudget)
	table := [][]string{{""}}
	for i, programs := range all {
		row := []string{variations[i].name}
		for trials := range slices.Chunk(programs.trials, programs.ways) {
			if i == 0 {
				table[0] = append(table[0], trials[0].trouble.name)
			}
			best, with := best(trials)
			row = append(row, percent(best)+"/"+percent(with[half])+"/"+percent(with[halfBudget]))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

// best returns what is lost on average by the best of the ways by hand, and by each way.
func best(trials []trial) (least float64, lost map[string]float64) {
	least, lost = 100, map[string]float64{}
	for _, t := range trials {
		lost[t.way.name] = t.mean((*outcome).lostShare)
		if slices.Contains(byHand, t.way.name) {
			least = min(least, lost[t.way.name])
		}
	}
	return least, lost
}

// percent shows a share, with a decimal if it is small.
func percent(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
