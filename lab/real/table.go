//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
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
			fmt.Fprintf(stderr, "%v: %s %% of %d lost\n", c, report.Short(counts[i].lostShare()), counts[i].begun)
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
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// print prints the table. The counts are in the order of the cells.
func (o options) print(w io.Writer, counts []count) {
	late := time.Duration(0)
	for _, one := range counts {
		late = max(late, one.late)
	}

	table := [][]string{{"Lost"}}
	for _, name := range o.ways {
		table[0] = append(table[0], ways[name].title)
	}
	for _, server := range o.servers {
		for _, trouble := range o.troubles {
			row := []string{fmt.Sprintf("%v, %s", trouble, rows[server].title)}
			for range o.ways {
				row = append(row, trouble.lost(counts[:o.seeds]))
				counts = counts[o.seeds:]
			}
			table = append(table, row)
		}
	}
	report.Write(w, table)
	fmt.Fprintf(w, "In seconds of the usual traffic, and in per cent of the operations from the trouble until %v after it.\n"+
		"With %d processors and %s, no operation began more than %v late.\n",
		o.after, runtime.NumCPU(), runtime.Version(), late.Round(time.Millisecond))
}

// lost returns what is lost in the cells of some seeds.
func (t trouble) lost(seeds []count) string {
	var seconds, percent []float64
	for _, one := range seeds {
		seconds = append(seconds, one.lost()/(t.load*capacity))
		percent = append(percent, one.lostShare())
	}
	return report.Span(seconds, report.Short) + " s, " + report.Span(percent, report.Short) + " %"
}
