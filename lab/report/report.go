// Package report has what the commands of the laboratory print alike.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Names returns the names in a table, for a message.
func Names[T any](table map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// Decimals returns what shows a number with so many decimals.
func Decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
}

// Short shows a number, with a decimal if it is small.
func Short(v float64) string {
	if v < 9.95 {
		return Decimals(1)(v)
	}
	return Decimals(0)(v)
}

// Span shows a figure of several runs: it is a range if they differ in what is shown.
func Span(figures []float64, show func(float64) string) string {
	least, most := show(slices.Min(figures)), show(slices.Max(figures))
	if least == most {
		return least
	}
	return least + "–" + most
}

// Write writes the rows of a table, and an empty line after them.
func Write(w io.Writer, rows [][]string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	fmt.Fprintln(table)
	table.Flush()
}
