//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// measure measures all cells, and prints a table for each load.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	folder, version := findPostgres()
	if folder == "" {
		o.servers = slices.DeleteFunc(slices.Clone(o.servers), server.needsPostgres)
		version = "not found: the rows that need it are left out; Debian's package is postgresql"
	}
	cells := o.cells()
	if len(cells) == 0 {
		return errors.New("no PostgreSQL in PATH nor in Debian's folder, which all these rows need; Debian's package is postgresql")
	}

	rounds := math.Ceil(float64(len(cells)) / float64(o.lanes))
	expected := time.Duration(rounds+1) * o.takes()
	fmt.Fprintf(stdout, "%d cells, which take about %v\n", len(cells), expected.Round(time.Minute/10))
	fmt.Fprintf(stdout, "%d processors, %s, PostgreSQL %s, load average before: %s\n\n", runtime.NumCPU(), runtime.Version(), version, loadAverage())
	ctx, cancel := context.WithTimeout(ctx, 2*expected+time.Minute)
	defer cancel()

	if slices.ContainsFunc(o.servers, server.needsPostgres) {
		postgres, err := start(ctx, stderr, "postgres", o.cell)
		if err != nil {
			return err
		}
		defer postgres.end()
		if o.Database, err = postgres.line(); err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
	}
	results, err := o.measureAll(ctx, cells, stderr)
	if err != nil {
		return err
	}
	o.print(stdout, cells, results)
	return nil
}

// loadAverage returns what Linux says about the last one, five and fifteen minutes.
func loadAverage() string {
	content, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(content))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

// cells returns all cells, in the order of the tables.
func (o options) cells() (all []cell) {
	for _, load := range o.loads {
		for _, s := range o.servers {
			for _, client := range o.clients {
				for run := range o.runs {
					c := o.cell
					c.Server, c.Client, c.Load = s.name, client.name, load
					c.Seed += uint64(run)
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// measureAll measures cells in several lanes, each of which begins a little later than the one before.
func (o options) measureAll(ctx context.Context, cells []cell, stderr io.Writer) ([]outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := io.Discard
	if o.verbose {
		log = stderr
	}
	outcomes := make([]outcome, len(cells))
	next := make(chan int, len(cells))
	for i := range cells {
		cells[i].Database = o.Database
		next <- i
	}
	close(next)

	var lanes sync.WaitGroup
	for lane := range min(o.lanes, len(cells)) {
		lanes.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(lane) * o.takes() / time.Duration(o.lanes)):
			}
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				outcome, err := cells[i].run(ctx, stderr, log)
				if err != nil {
					cancel(fmt.Errorf("%v: %w", cells[i], err))
					return
				}
				outcomes[i] = outcome
				fmt.Fprintf(log, "%v: %.1f %% lost, %+v\n", cells[i], outcome.lost(), outcome)
			}
		})
	}
	lanes.Wait()
	return outcomes, context.Cause(ctx)
}

// print prints the tables.
func (o options) print(w io.Writer, cells []cell, outcomes []outcome) {
	trouble := "stopped"
	if o.Trouble == "half" {
		trouble = "has half of its capacity"
	}
	latest := time.Duration(0)
	for _, load := range o.loads {
		fmt.Fprintf(w, "Load %g. The server is %s for %v. Lost, in %% of the operations begun in %v; after the comma, how long after the trouble the server is back:\n\n",
			load, trouble, o.Down, o.Duration)
		fmt.Fprint(w, "| |")
		for _, c := range o.clients {
			fmt.Fprintf(w, " %s |", c.title)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(o.clients)))
		for _, s := range o.servers {
			fmt.Fprintf(w, "| %s |", s.title)
			for range o.clients {
				fmt.Fprintf(w, " %s |", figures(cells[:o.runs], outcomes[:o.runs]))
				for _, outcome := range outcomes[:o.runs] {
					latest = max(latest, outcome.Latest)
				}
				cells, outcomes = cells[o.runs:], outcomes[o.runs:]
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "No operation began more than %v late. Load average after: %s\n", latest.Round(time.Millisecond), loadAverage())
}

// figures returns the text of a cell of the table: from the least to the most of several runs.
func figures(cells []cell, outcomes []outcome) string {
	least, most := 100.0, 0.0
	soonest, last := math.MaxInt, 0
	for i, o := range outcomes {
		least, most = min(least, o.lost()), max(most, o.lost())
		back := o.back(cells[i])
		if back < 0 {
			back = math.MaxInt
		}
		soonest, last = min(soonest, back), max(last, back)
	}
	return span(fmt.Sprintf("%.0f", least), fmt.Sprintf("%.0f", most)) + ", " + span(seconds(soonest), seconds(last))
}

func seconds(n int) string {
	if n == math.MaxInt {
		return "never"
	}
	return fmt.Sprintf("%d s", n)
}

func span(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}
