// Compare measures the library beside its peers in one run, and holds it to its bars.
//
// It runs all cases several times, one after the other, so that a slow minute of the machine
// touches all of them alike. It prints the medians, with their ratios to the hand-written loop and
// to the fastest peer, as text or, with -markdown, as tables for a README. It exits with 1 if a bar
// is missed; with -bars=false it does not look at them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"example.com/backoff/bench"
)

func main() {
	testing.Init()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 7, "how many `times` each case is measured")
	benchtime := flags.Duration("benchtime", 100*time.Millisecond, "how long one measurement takes")
	waiting := flags.Int("waiting", 100_000, "how many `calls` wait at once when memory is measured")
	only := flags.String("only", "", "measure only the tasks that match this `regexp`")
	markdown := flags.Bool("markdown", false, "print tables in Markdown")
	judge := flags.Bool("bars", true, "exit with 1 if a bar is missed")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	pattern, err := regexp.Compile(*only)
	if err == nil && (*rounds < 1 || *waiting < 1 || *benchtime <= 0 || flags.NArg() > 0) {
		err = errors.New("-rounds, -waiting and -benchtime must be above zero, and there are no arguments")
	}
	if err == nil {
		err = flag.Set("test.benchtime", benchtime.String())
	}
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 2
	}

	r := measure(*rounds, *waiting, pattern.MatchString, stderr)
	fmt.Fprintf(stdout, "%s, %d cores, %s %s/%s, %s\n", cpu(), runtime.NumCPU(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().Format(time.DateOnly))
	r.print(stdout, *markdown)
	if !*judge {
		return 0
	}
	fmt.Fprintln(stdout)
	missed := 0
	for _, b := range bars(r) {
		fmt.Fprintln(stdout, b)
		if !b.met() {
			missed++
		}
	}
	if missed > 0 {
		fmt.Fprintf(stdout, "%d bars missed\n", missed)
		return 1
	}
	return 0
}

// A figure is what one peer needed for one task, once for each round.
type figure struct {
	task, peer    string
	times, allocs []float64 // in ns, or bytes for memory; and in objects
}

type results []*figure

func measure(rounds, waiting int, wanted func(string) bool, progress io.Writer) results {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r results
	for round := range rounds {
		for _, c := range bench.Cases(ctx) {
			if wanted(c.Task) {
				b := testing.Benchmark(c.Run)
				r.add(c.Task, c.Peer, float64(b.T.Nanoseconds())/float64(b.N), float64(b.AllocsPerOp()))
			}
		}
		for _, w := range bench.Waiters {
			if wanted(bench.Waiting) {
				bytes, _ := bench.Weigh(waiting, w.Build)
				r.add(bench.Waiting, w.Peer, bytes, math.NaN())
			}
		}
		fmt.Fprintf(progress, "round %d of %d\n", round+1, rounds)
	}
	return r
}

func (r *results) add(task, peer string, time, allocs float64) {
	f := r.find(task, peer)
	if f == nil {
		f = &figure{task: task, peer: peer}
		*r = append(*r, f)
	}
	f.times = append(f.times, time)
	f.allocs = append(f.allocs, allocs)
}

func (r results) find(task, peer string) *figure {
	for _, f := range r {
		if f.task == task && f.peer == peer {
			return f
		}
	}
	return nil
}

// time returns the median of the figure's times, or NaN if there is none.
func (r results) time(task, peer string) float64 {
	if f := r.find(task, peer); f != nil {
		return median(f.times)
	}
	return math.NaN()
}

func (r results) allocs(task, peer string) float64 {
	if f := r.find(task, peer); f != nil {
		return median(f.allocs)
	}
	return math.NaN()
}

func (r results) fastestPeer(task string) float64 {
	fastest := math.NaN()
	for _, f := range r {
		if f.task == task && f.peer != bench.Ours && f.peer != bench.Hand {
			if m := median(f.times); !(m >= fastest) {
				fastest = m
			}
		}
	}
	return fastest
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

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
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*g", digits, v)
}

// cpu returns the name of the processor, as far as the system tells it.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	if name := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(info); name != nil {
		return string(name[1])
	}
	return "unknown processor"
}
