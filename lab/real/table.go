//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// lanes is how many cells are measured side by side.
const lanes = 6

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
	fmt.Fprintf(stdout, "%d processors, %s, PostgreSQL %s\n\n", runtime.NumCPU(), runtime.Version(), version)
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
	rounds := time.Duration((cells-1)/lanes + 1)
	return rounds*o.takes() + o.begins(min(lanes, cells)-1)
}

// begins returns when a lane begins.
func (o options) begins(lane int) time.Duration {
	return o.takes() * time.Duration(lane) / time.Duration(lanes)
}

// cells returns all cells, in the order of the tables.
func (o options) cells() (all []cell) {
	for _, load := range loads {
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

	var running sync.WaitGroup
	for lane := range min(lanes, len(cells)) {
		running.Go(func() {
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
				fmt.Fprintf(stderr, "%v: %.0f %% of %d lost\n", cells[i], r.lost(), r.begun)
			}
		})
	}
	running.Wait()
	return reports, context.Cause(ctx)
}

// print prints the tables.
func (o options) print(w io.Writer, reports []report) {
	late := time.Duration(0)
	for _, load := range loads {
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
	fmt.Fprintf(w, "No operation began more than %v late.\n", late.Round(time.Millisecond))
}
