package main

import (
	"fmt"
	"io"
)

// writeContention prints one table for the calls and one for the times, with a column for each
// number of clients.
func writeContention(w io.Writer, rows []contention, runs int) {
	plural := "s"
	if runs == 1 {
		plural = ""
	}
	fmt.Fprintf(w, "Contention: clients that update one row, mean of %d run%s\n", runs, plural)
	writePivot(w, "calls", rows, func(r contention) string { return fmt.Sprintf("%.0f", r.calls) })
	writePivot(w, "time (s)", rows, func(r contention) string { return fmt.Sprintf("%.2f", r.time/1000) })
	fmt.Fprintln(w)
}

func writePivot(w io.Writer, title string, rows []contention, cell func(contention) string) {
	strategies := len(contenders())
	fmt.Fprintf(w, "\n%-16s", title)
	for i := 0; i < len(rows); i += strategies {
		fmt.Fprintf(w, "%9d", rows[i].clients)
	}
	fmt.Fprintln(w, " clients")
	for s := range strategies {
		fmt.Fprintf(w, "%-16s", rows[s].label)
		for i := s; i < len(rows); i += strategies {
			fmt.Fprintf(w, "%9s", cell(rows[i]))
		}
		fmt.Fprintln(w)
	}
}

// writeCSV uses the columns and names of the published figures.
func writeCSV(w io.Writer, rows []contention) {
	fmt.Fprintln(w, "clients,time,calls,algorithm")
	for _, r := range rows {
		fmt.Fprintf(w, "%d,%.0f,%.1f,%s\n", r.clients, r.time, r.calls, r.name)
	}
}

func writeOutage(w io.Writer, results []outage) {
	first := results[0]
	fmt.Fprintf(w, "Outage: 60 s, under %g requests/s from %d clients, %d operations in all\n\n",
		first.load(), first.clients, first.operations)
	fmt.Fprintf(w, "%-20s%14s%14s%14s%12s%10s%8s\n",
		"", "requests/s", "over steady", "worst second", "recovered", "lost", "lost")
	fmt.Fprintf(w, "%-20s%14s%14s%14s%12s%10s%8s\n",
		"", "while down", "load", "requests", "after", "", "of all")
	for _, o := range results {
		fmt.Fprintf(w, "%-20s%14.0f%13.1f×%14d%10d s%10d%6.1f %%\n", o.label,
			o.mean(), o.mean()/o.load(), o.peak(), o.recovery(), o.lost, o.lostShare())
	}
	fmt.Fprintln(w)
}
