package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"example.com/backoff/lab/report"
)

const usualDeadline = 5 * time.Second

// program returns the plan of a program in a trouble.
func (c config) program(t trouble) plan {
	p := c.plan
	p.trouble = t
	p.load = cmp.Or(t.at, p.load)
	if p.deadline < 0 {
		p.deadline = 0
		if slices.Contains([]string{"handler", "burst", "loop"}, c.shape) {
			p.deadline = usualDeadline
		}
	}

	switch c.shape {
	case "batch":
		p.atOnce = c.size
		p.load = 0
	case "burst":
		p.atOnce = c.size
		p.within = time.Second
		p.load = 0
	case "devices":
		p.atOnce = c.size
		p.processes = c.size
		p.neighbours = p.demand()
		p.load = 0
	case "loop":
		p.closed = c.size
	case "tool":
		p.fresh = true
	}
	return p
}

// writePrograms runs the programs, and writes their table, and the chart if there is to be one.
func writePrograms(c config, w io.Writer) error {
	all := c.run()
	table := [][]string{{""}}
	for _, name := range c.ways {
		table = append(table, []string{name})
	}
	for _, trials := range all {
		for _, column := range c.columns(trials[0].plan) {
			table[0] = append(table[0], trials[0].trouble.name+column.title)
			for i, t := range trials {
				table[i+1] = append(table[i+1], column.show(t))
			}
		}
	}

	fmt.Fprintf(w, "By trouble and load: what is lost, in %s, or 0 and the time of the slowest call\n\n", units[c.unit])
	report.Write(w, table)
	if c.svg == "" {
		return nil
	}
	return os.WriteFile(c.svg, []byte(draw(all[0])), 0o666)
}

// column is what a table shows of the trials in a trouble.
type column struct {
	title string // after the trouble's name
	show  func(trial) string
}

// columns returns the columns about a trouble.
func (c config) columns(p plan) []column {
	lost := column{"", func(t trial) string { return t.harm(c.unit) }}
	others := column{": others lost", func(t trial) string { return t.span(othersShare, report.Short) + " %" }}
	switch {
	case c.shape == "devices":
		median := func(h *history) float64 { return h.half() }
		return []column{
			{": half took at most", func(t trial) string { return t.span(median, report.Decimals(1)) + " s" }},
			others,
		}
	case p.has(part):
		median := func(h *history) float64 { return h.others.half() }
		return []column{
			lost,
			others,
			{": half of them took at most", func(t trial) string { return t.span(median, report.Decimals(2)) + " s" }},
		}
	}
	return []column{lost}
}

func othersShare(h *history) float64 { return h.others.share() }
