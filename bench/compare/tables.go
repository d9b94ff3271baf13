package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/backoff/bench"
)

// print writes a table for each task.
func (r results) print(w io.Writer, markdown bool) {
	var tasks []string
	for _, f := range r {
		if !slices.Contains(tasks, f.task) {
			tasks = append(tasks, f.task)
		}
	}
	for _, task := range tasks {
		unit := "ns"
		if task == bench.Waiting {
			unit = "bytes"
		}
		rows := [][]string{{task, unit, "allocs", "× hand loop", "× fastest peer"}}
		for _, f := range r {
			if f.task != task {
				continue
			}
			m := median(f.times)
			rows = append(rows, []string{
				f.peer, number(m, 4), number(median(f.allocs), 4),
				number(m/r.time(task, bench.Hand), 3), number(m/r.fastestPeer(task), 3),
			})
		}
		fmt.Fprintln(w)
		if markdown {
			printMarkdown(w, rows)
		} else {
			printText(w, rows)
		}
	}
}

func printText(w io.Writer, rows [][]string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush()
}

func printMarkdown(w io.Writer, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintln(w, "|", strings.Join(row, " | "), "|")
		if i == 0 {
			fmt.Fprintln(w, "|---|"+strings.Repeat("---:|", len(row)-1))
		}
	}
}

func number(v float64, digits int) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*g", digits, v)
}

// printShort writes one table with a row for each peer.
func (r results) printShort(w io.Writer, where string) {
	tasks := []string{bench.Success, bench.TenFailures, bench.Waiting}
	rows := [][]string{append([]string{where}, tasks...)}
	for _, waiter := range bench.Waiters {
		row := []string{waiter.Peer}
		for _, task := range tasks {
			cell := number(r.time(task, waiter.Peer), 2)
			if task == bench.Waiting {
				cell += " bytes"
			} else {
				cell += " ns, " + number(r.allocs(task, waiter.Peer), 2) + " allocs"
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	printMarkdown(w, rows)
}
