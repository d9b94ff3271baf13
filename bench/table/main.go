// Table reads the output of the benchmarks and prints tables with the README's figures, in Markdown.
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

// names are the peers in the order of the tables, each with its name there and what its call does
// differently from the library's.
var names = []struct{ peer, name, differs string }{
	{"backoff", "**`Retry`**", ""},
	{"backoff-Attempts", "**`Attempts`**", ""},
	{"cenkalti-v4", "cenkalti/backoff v4", ""},
	{"cenkalti-v5", "cenkalti/backoff v5", ""},
	{"cenkalti-v7", "cenkalti/backoff v7", ""},
	{"sethvargo", "sethvargo/go-retry", ""},
	{"failsafe-go", "failsafe-go", "the policy is shared by all calls"},
	{"avast-v4", "avast/retry-go v4", "no time limit"},
	{"avast-v5", "avast/retry-go v5", "no time limit"},
	{"eapache", "eapache/go-resiliency", "no time limit; the policy is shared by all calls"},
	{"hand-written", "a loop by hand", ""},
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
	fmt.Fprintf(w, "%s, %s cores, %s %s/%s, %s, the fastest of %d rounds\n\n",
		r.cpu, r.cores, runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().Format(time.DateOnly), r.rounds)
	fmt.Fprintln(w, "| built for each call, succeeds at once | time | memory | allocations | differs |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---|")
	for _, n := range names {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", n.name, r.get("per-call", n.peer, "sec/op"),
			r.get("per-call", n.peer, "B/op"), r.get("per-call", n.peer, "allocs/op"), n.differs)
	}
	fmt.Fprintln(w, "\n| built before | the same policy, succeeds at once | constant policy, succeeds at once | ten failures, no waits | memory of a waiting call |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|")
	for _, n := range names {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", n.name, r.get("ready", n.peer, "sec/op"),
			r.get("ready-constant", n.peer, "sec/op"), r.get("ten-failures", n.peer, "sec/op"),
			r.get("waiting-call", n.peer, "B/call"))
	}
	return w.Flush()
}

// A figure is named by its task, its peer and its unit.
type figure struct{ task, peer, unit string }

type results struct {
	least      map[figure]float64
	rounds     int
	cpu, cores string
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

// get returns a figure with its unit.
func (r results) get(task, peer, unit string) string {
	value, ok := r.least[figure{task, peer, unit}]
	switch ns := value * 1e9; {
	case !ok:
		return "–"
	case unit == "sec/op" && ns < 10:
		return fmt.Sprintf("%.1f ns", ns)
	case unit == "sec/op":
		return fmt.Sprintf("%.0f ns", ns)
	case unit == "allocs/op":
		return fmt.Sprintf("%.0f", value)
	default:
		return fmt.Sprintf("%.0f B", value)
	}
}
