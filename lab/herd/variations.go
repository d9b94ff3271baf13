package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/backoff/lab/report"
)

// variations are the rows of a table of handlers. In each, something is different.
var variations = []struct {
	name   string
	change func(*plan)
}{
	{"answers of 0.35 of the timeout", func(p *plan) { p.answer = 350 * time.Millisecond }},
	{"and 20 processes", func(p *plan) { p.answer, p.processes = 350*time.Millisecond, 20 }},
	{"timeout 3 s, deadline 15 s", func(p *plan) { p.timeout, p.deadline = 3*time.Second, 15*time.Second }},
	{"the busiest process has 10 times the calls", func(p *plan) { p.skew = 10 }},
	{"and another is that every 10 s", func(p *plan) { p.skew, p.move = 10, 10*time.Second }},
	{"1 process", func(p *plan) { p.processes = 1 }},
	{"50 processes", func(p *plan) { p.processes = 50 }},
	{"400 processes", func(p *plan) { p.processes = 400 }},
	{"timeout 0.1 s, ten times as fast", func(p *plan) {
		p.timeout, p.deadline, p.answer = 100*time.Millisecond, 500*time.Millisecond, 10*time.Millisecond
		p.rate, p.servers = 200, 2
	}},
	{"timeout 10 s, a tenth as fast", func(p *plan) {
		p.timeout, p.deadline, p.answer, p.servers = 10*time.Second, 50*time.Second, time.Second, 60
	}},
	{"deadline 1 s", func(p *plan) { p.deadline = time.Second }},
	{"no deadline", func(p *plan) { p.deadline = 0 }},
	{"the same work in all requests", func(p *plan) { p.spread = constant }},
	{"work with a heavy tail", func(p *plan) { p.spread = heavy }},
	{"the service heeds cancellation", func(p *plan) { p.heeds = true }},
	{"it takes the newest request first", func(p *plan) { p.order = newest }},
	{"it refuses while 30 requests wait", func(p *plan) { p.line = 30 }},
	{"it works on all requests at once", func(p *plan) { p.order = sharing }},
	{"and heeds cancellation", func(p *plan) { p.order, p.heeds = sharing, true }},
	{"half of the answers are final errors", func(p *plan) { p.final = 0.5 }},
	{"all processes restart in the trouble", func(p *plan) { p.restart = true }},
	{"four times the processes from the trouble on", func(p *plan) { p.grow = 4 }},
}

const variedTroubles = "none@0.6,none@0.9,10s@0.3,10s@0.6,10s@0.9,60s@0.8,half@0.8,stuck:30%"

// variedWays are those in the cells of the variations.
var variedWays = []string{noRetries, byNumber, slots, slotsBudget}

// writeVariations runs the variations, and writes their table.
func writeVariations(c config, w io.Writer) error {
	c.ways = variedWays
	err := c.setTroubles(variedTroubles)
	if err != nil {
		return err
	}

	table := [][]string{{""}}
	for _, t := range c.troubles {
		table[0] = append(table[0], t.name)
	}
	for _, v := range variations {
		if !c.wants(v.name) {
			continue
		}
		varied := c
		v.change(&varied.plan)
		row := []string{v.name}
		for _, trials := range varied.run() {
			var lost []string
			for _, t := range trials {
				figure := t.lostSeconds
				if c.unit == inPercent {
					figure = lostShare
				}
				lost = append(lost, report.Short(t.mean(figure)))
			}
			row = append(row, strings.Join(lost, "/"))
		}
		table = append(table, row)
	}

	fmt.Fprintf(w, "By trouble and load: what is lost on average, in %s: %s\n\n", units[c.unit], strings.Join(variedWays, " / "))
	report.Write(w, table)
	return nil
}
