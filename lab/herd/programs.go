package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
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
		if c.shape == "handler" || c.shape == "burst" {
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
	case "tool":
		p.fresh = true
	}
	return p
}

// writePrograms runs the programs, and writes their table, and the chart if there is to be one.
func writePrograms(c config, w io.Writer) error {
	all := c.run()
	columns := c.columns()
	table := [][]string{{""}}
	for _, name := range c.ways {
		table = append(table, []string{name})
	}
	for _, trials := range all {
		for _, column := range columns {
			table[0] = append(table[0], trials[0].trouble.name+column.title)
			for i, t := range trials {
				table[i+1] = append(table[i+1], column.show(t))
			}
		}
	}

	fmt.Fprint(w, "By trouble and load: the calls that are lost or, if none is, the slowest one, where a column says nothing else\n\n")
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

func (c config) columns() []column {
	if c.shape != "devices" {
		return []column{{"", trial.harm}}
	}
	return []column{
		{": half took at most", func(t trial) string { return t.span((*history).half, report.Decimals(1)) + " s" }},
		{": others lost", func(t trial) string { return t.span((*history).othersShare, report.Decimals(1)) + " %" }},
	}
}
