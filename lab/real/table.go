//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/backoff/lab/report"
)

// stagger is how much later than the one before each lane begins, so that not all servers come back at once.
const stagger = time.Second

// measure measures all cells, and prints a table.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	cells := o.cells()
	counts := make([]count, len(cells))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.lanes)
	for i, c := range cells {
		group.Go(func() (err error) {
			if i < o.lanes {
				_ = pause(ctx, time.Duration(i)*stagger)
			}
			counts[i], err = c.run(ctx, stderr)
			if err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
			fmt.Fprintf(stderr, "%v: %s %% of %d lost\n", c, report.Short(counts[i].lost()), counts[i].begun)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	o.print(stdout, counts)
	return nil
}

// cells returns all cells, in the order of the table.
func (o options) cells() (all []cell) {
	for _, server := range o.servers {
		for _, trouble := range o.troubles {
			for _, way := range o.ways {
				for seed := range o.seeds {
					c := o.cell
					c.server, c.trouble, c.way, c.seed = server, trouble, way, uint64(seed+1)
					c.load = kinds[trouble].load
					if c.duration == 0 || trouble == fail {
						c.duration = kinds[trouble].duration
					}
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// print prints the table. Its cells are in the order of the counts.
func (o options) print(w io.Writer, counts []count) {
	late := time.Duration(0)
	var cells []string
	for seeds := range slices.Chunk(counts, o.seeds) {
		var lost []float64
		for _, one := range seeds {
			lost = append(lost, one.lost())
			late = max(late, one.late)
		}
		cells = append(cells, report.Span(lost, report.Short))
	}

	table := [][]string{{"Lost, %"}}
	for _, name := range o.ways {
		table[0] = append(table[0], ways[name].title)
	}
	for _, server := range o.servers {
		for _, trouble := range o.troubles {
			name := kinds[trouble].title + ", " + rows[server].title
			table = append(table, append([]string{name}, cells[:len(o.ways)]...))
			cells = cells[len(o.ways):]
		}
	}
	report.Write(w, table)
	fmt.Fprintf(w, "With %d processors and %s, no operation began more than %v late.\n",
		runtime.NumCPU(), runtime.Version(), late.Round(time.Millisecond))
}
