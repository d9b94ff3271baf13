// Table reads the output of the benchmarks and prints the table of docs/measured.md in Markdown.
//
// Of the rounds in the output the fastest counts: noise only ever adds time.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// rows are the peers in the order of the table, each with its name there.
var rows = []struct{ peer, name string }{
	{"backoff", "**`Retry`**"},
	{"backoff-Attempts", "**`Attempts`**"},
	{"backoff-Retrier-Slots", "**`Retrier`**, with slots"},
	{"cenkalti-v4", "cenkalti v4"},
	{"cenkalti-v5", "cenkalti v5"},
	{"cenkalti-v7", "cenkalti v7"},
	{"sethvargo", "sethvargo/go-retry"},
	{"failsafe-go", "failsafe-go (shared)"},
	{"avast-v4", "avast/retry-go v4 (no time limit)"},
	{"avast-v5", "avast/retry-go v5 (no time limit)"},
	{"eapache", "eapache/go-resiliency (shared, no time limit)"},
	{"hand-written", "a loop by hand"},
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	r, err := read(in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s, %s cores, %s %s, %s, the fastest of %d rounds\n\n",
		r.cpu, r.cores, runtime.Version(), r.system, time.Now().Format(time.DateOnly), r.rounds)
	fmt.Fprintln(w, "| | per call, ns (allocs) | with a timeout, ns (allocs) | reused, ns | ten failures, ns | waiting, B |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|")
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", row.name,
			r.call("per-call", row.peer), r.call("timed-call", row.peer), r.get("ready", row.peer, "sec/op"),
			r.get("ten-failures", row.peer, "sec/op"), r.get("waiting-call", row.peer, "B/call"))
	}
	return w.Flush()
}

// A figure is named by its task, its peer and its unit.
type figure struct{ task, peer, unit string }

type results struct {
	least              map[figure]float64
	rounds             int
	cpu, cores, system string
}

func read(in io.Reader) (results, error) {
	r := results{least: map[figure]float64{}}
	counts := map[figure]int{}
	reader := benchfmt.NewReader(in, "standard input")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return r, record
		case *benchfmt.Result:
			var f figure
			_, parts := record.Name.Parts()
			for _, part := range parts {
				key, value, _ := strings.Cut(string(part), "=")
				switch {
				case key == "/task":
					f.task = value
				case key == "/peer":
					f.peer = value
				case strings.HasPrefix(key, "-"):
					r.cores = key[1:]
				}
			}
			for _, v := range record.Values {
				f.unit = v.Unit
				if least, ok := r.least[f]; !ok || v.Value < least {
					r.least[f] = v.Value
				}
				counts[f]++
				r.rounds = max(r.rounds, counts[f])
			}
			r.cpu = record.GetConfig("cpu")
			r.system = record.GetConfig("goos") + "/" + record.GetConfig("goarch")
		}
	}
	if err := reader.Err(); err != nil {
		return r, err
	}
	if len(counts) == 0 {
		return r, errors.New("no benchmark in the input")
	}
	return r, nil
}

// call returns the time of a call and its allocations.
func (r results) call(task, peer string) string {
	took := r.get(task, peer, "sec/op")
	if took == unmeasured {
		return unmeasured
	}
	return fmt.Sprintf("%s (%s)", took, r.get(task, peer, "allocs/op"))
}

// unmeasured stands for a figure that the input does not have.
const unmeasured = "–"

// get returns a figure, times in nanoseconds.
func (r results) get(task, peer, unit string) string {
	value, ok := r.least[figure{task, peer, unit}]
	if unit == "sec/op" {
		value *= 1e9
	}
	switch {
	case !ok:
		return unmeasured
	case unit == "sec/op" && value < 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}
