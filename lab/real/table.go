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

// stagger is how much later than the one before each lane begins, so that not all servers come back at once.
const stagger = time.Second

// measure measures all cells, and prints a table, with what there is if ctx ends meanwhile.
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

	expected := o.expected(cells)
	fmt.Fprintf(stdout, "%d cells, which take up to %v\n", len(cells), expected)
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
	o.print(stdout, reports)
	return err
}

// cells returns all cells, in the order of the table.
func (o options) cells() (all []cell) {
	for _, server := range o.servers {
		for _, trouble := range o.troubles {
			for _, way := range o.ways {
				for seed := range o.seeds {
					c := o.cell
					c.server, c.trouble, c.way, c.seed = server, trouble, way, uint64(seed+1)
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// expected returns how long the cells take at most, in rounds of the longest ones.
func (o options) expected(cells []cell) time.Duration {
	longest := time.Duration(0)
	for _, c := range cells {
		longest = max(longest, c.takes())
	}
	rounds := (len(cells)-1)/o.lanes + 1
	return time.Duration(rounds)*longest + time.Duration(o.lanes)*stagger
}

// measureAll measures cells in several lanes.
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
	for lane := range min(o.lanes, len(cells)) {
		running.Go(func() {
			_ = pause(ctx, time.Duration(lane)*stagger)
			for i := range next {
				r, err := cells[i].run(ctx, stderr)
				if err != nil {
					cancel(fmt.Errorf("%v: %w", cells[i], err))
					return
				}
				reports[i] = r
				fmt.Fprintf(stderr, "%v: %s %% of %d lost\n", cells[i], percent(r.lost()), r.begun)
			}
		})
	}
	running.Wait()
	return reports, context.Cause(ctx)
}

// print prints the table. Its cells are in the order of the reports.
func (o options) print(w io.Writer, reports []report) {
	fmt.Fprintf(w, "Lost %% of the operations begun from the trouble on, until %v after it. It begins after %v.\n\n",
		o.after, o.from)
	fmt.Fprint(w, "| The server | Trouble |")
	for _, name := range o.ways {
		fmt.Fprintf(w, " %s |", ways[name].title)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---:|", len(o.ways)))

	late := latest(reports)
	for _, server := range o.servers {
		for _, trouble := range o.troubles {
			fmt.Fprintf(w, "| %s | %v |", rows[server].title, trouble)
			for range o.ways {
				fmt.Fprintf(w, " %s |", span(reports[:o.seeds]))
				reports = reports[o.seeds:]
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "\nNo operation began more than %v late.\n", late.Round(time.Millisecond))
}

// latest returns how much later than it should have any operation began.
func latest(reports []report) (late time.Duration) {
	for _, r := range reports {
		late = max(late, r.late)
	}
	return late
}

// span returns what is lost, as a range if the seeds differ.
func span(seeds []report) string {
	lost := make([]float64, 0, len(seeds))
	for _, r := range seeds {
		if r.begun > 0 {
			lost = append(lost, r.lost())
		}
	}
	if len(lost) == 0 {
		return "not measured"
	}
	text := percent(slices.Min(lost))
	if most := percent(slices.Max(lost)); most != text {
		text += "–" + most
	}
	return text
}

// percent shows a share, with a decimal if it is small.
func percent(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
