package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"example.com/backoff/lab/command"
	"example.com/backoff/lab/report"
)

// entry is a setting of a way that takes part, a row of the table.
type entry struct {
	way string
	setting
	title   string
	tallies [][]tally // by scene and seed
}

// entries returns the settings of a way that take part.
func (w way) entries(which string) (entries []*entry) {
	for i, s := range w.settings {
		documented := i == 0 && which == both
		if which != every && !documented && s.name != w.best {
			continue
		}
		title := w.name
		if len(w.settings) > 1 {
			title += ": " + s.name
		}
		entries = append(entries, &entry{way: w.name, setting: s, title: title})
	}
	return entries
}

// play has all entries go through all scenes with all seeds, as many at once as there are processors.
func (o options) play() {
	var runs []func()
	for _, e := range o.entries {
		e.tallies = make([][]tally, len(o.scenes))
		for i, s := range o.scenes {
			e.tallies[i] = make([]tally, o.seeds)
			for k := range o.seeds {
				p := o.plan
				p.scene = s
				p.load = cmp.Or(s.load, o.load)
				p.procs = cmp.Or(s.procs, o.procs)
				p.seed = uint64(k + 1)
				runs = append(runs, func() { e.tallies[i][k] = play(e.set, p) })
			}
		}
	}
	command.Parallel(len(runs), func(i int) { runs[i]() })
}

// mean returns the mean of a figure over the seeds, means those of all scenes and their mean at last.
func mean(tallies []tally, figure func(tally) float64) float64 {
	sum := 0.0
	for _, t := range tallies {
		sum += figure(t)
	}
	return sum / float64(len(tallies))
}

func (e *entry) means(figure func(tally) float64) []float64 {
	var all []float64
	sum := 0.0
	for _, tallies := range e.tallies {
		m := mean(tallies, figure)
		all = append(all, m)
		sum += m
	}
	return append(all, sum/float64(len(all)))
}

// write writes the tables, and the figures of all runs to a file.
func (o options) write(w io.Writer) error {
	if o.settings == every {
		o.writeSettings(w)
	} else {
		o.writeTable(w, "Lost, %", tally.percent, report.Short)
		o.writeTable(w, "Lost, seconds of traffic", tally.seconds, report.Decimals(1))
		o.explain(w)
	}
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, o.lines(), 0o644)
}

func (o options) writeTable(w io.Writer, title string, figure func(tally) float64, show func(float64) string) {
	head := []string{title}
	for _, s := range o.scenes {
		head = append(head, s.name)
	}
	table := [][]string{append(head, "mean")}
	for _, e := range o.entries {
		row := []string{e.title}
		for _, m := range e.means(figure) {
			row = append(row, show(m))
		}
		table = append(table, row)
	}
	report.Write(w, table)
}

// writeSettings writes which setting of each way loses least over the scenes.
func (o options) writeSettings(w io.Writer) {
	total := func(e *entry) float64 { return e.means(tally.percent)[len(o.scenes)] }
	first := map[string]*entry{}
	for _, e := range o.entries {
		if first[e.way] == nil || total(e) < total(first[e.way]) {
			first[e.way] = e
		}
	}

	table := [][]string{{"Way", "setting", "lost, %", "", "what it is"}}
	for _, e := range o.entries {
		mark := ""
		if e == first[e.way] {
			mark = best
		}
		table = append(table, []string{e.way, e.name, report.Decimals(1)(total(e)), mark, e.about})
	}
	report.Write(w, table)
}

// explain writes what the scenes are.
func (o options) explain(w io.Writer) {
	var table [][]string
	for _, s := range o.scenes {
		table = append(table, []string{s.name, s.about})
	}
	report.Write(w, table)
}

// lines returns the figures of all runs.
func (o options) lines() []byte {
	lines := []byte("scene\tway\tsetting\tseed\tlost, %\tlost, seconds\tattempts\n")
	for _, e := range o.entries {
		for i, s := range o.scenes {
			for k, t := range e.tallies[i] {
				lines = fmt.Appendf(lines, "%s\t%s\t%s\t%d\t%.2f\t%.2f\t%.2f\n", s.name, e.way, e.name, k+1, t.percent(), t.seconds(), t.attempts())
			}
		}
	}
	return lines
}
