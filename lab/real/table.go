//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// measure measures all cells, and prints a table for each load.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	programs, version := findPostgres()
	if programs == "" {
		o.servers = slices.DeleteFunc(slices.Clone(o.servers), needsPostgres)
		version = "not found: the rows that need it are left out; Debian's package is postgresql"
	}
	cells := o.cells()
	if len(cells) == 0 {
		return errors.New("no PostgreSQL in PATH nor in Debian's folder, which all these rows need; Debian's package is postgresql")
	}

	expected := o.expected(len(cells))
	fmt.Fprintf(stdout, "%d cells, which take about %v\n", len(cells), expected.Round(time.Second))
	fmt.Fprintf(stdout, "%d processors, %s, PostgreSQL %s\nload average before: %s\n\n", runtime.NumCPU(), runtime.Version(), version, loadAverage())
	ctx, cancel := context.WithTimeout(ctx, 2*expected+time.Minute)
	defer cancel()

	if slices.ContainsFunc(o.servers, needsPostgres) {
		folder, end, err := startPostgres(ctx, stderr, programs)
		if err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
		defer end()
		for i := range cells {
			cells[i].database = folder
		}
	}
	reports, err := o.measureAll(ctx, cells, stderr)
	if err == nil {
		o.print(stdout, reports)
	}
	return err
}

// expected returns how long so many cells take. The lanes begin one after the other.
func (o options) expected(cells int) time.Duration {
	rounds := time.Duration((cells-1)/o.lanes + 1)
	return rounds*o.takes() + o.begins(min(o.lanes, cells)-1)
}

// begins returns when a lane begins.
func (o options) begins(lane int) time.Duration {
	return o.takes() * time.Duration(lane) / time.Duration(o.lanes)
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
		for _, server := range o.servers {
			for _, client := range o.clients {
				c := o.cell
				c.server, c.client, c.load = server, client, load
				all = append(all, c)
			}
		}
	}
	return all
}

// measureAll measures cells in several lanes, each of which begins a little later than the one before.
func (o options) measureAll(ctx context.Context, cells []cell, stderr io.Writer) ([]report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reports := make([]report, len(cells))
	next := make(chan int, len(cells))
	for i := range cells {
		next <- i
	}
	close(next)

	var lanes sync.WaitGroup
	for lane := range min(o.lanes, len(cells)) {
		lanes.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(o.begins(lane)):
			}
			for i := range next {
				r, err := cells[i].run(ctx, stderr)
				if err != nil {
					cancel(fmt.Errorf("%v: %w", cells[i], err))
					return
				}
				reports[i] = r
				fmt.Fprintf(stderr, "%v: %.0f %% lost, %v\n", cells[i], r.lost(), r.counts)
			}
		})
	}
	lanes.Wait()
	return reports, context.Cause(ctx)
}

// print prints the tables.
func (o options) print(w io.Writer, reports []report) {
	late := time.Duration(0)
	for _, load := range o.loads {
		fmt.Fprintf(w, "Load %g, the server is stopped for %g s. Lost %% of the operations begun in %g s:\n\n| |",
			load, o.down.Seconds(), o.duration.Seconds())
		for _, name := range o.clients {
			fmt.Fprintf(w, " %s |", clients[name].title)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(o.clients)))
		for _, name := range o.servers {
			fmt.Fprintf(w, "| %s |", servers[name].title)
			for range o.clients {
				fmt.Fprintf(w, " %.0f |", reports[0].lost())
				late = max(late, reports[0].late)
				reports = reports[1:]
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "No operation began more than %v late. Load average after: %s\n", late.Round(time.Millisecond), loadAverage())
}
