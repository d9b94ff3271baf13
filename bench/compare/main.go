// Compare measures the library beside its peers in one run, and holds it to its bars.
//
// It runs all cases several times, in a new order each time, so that a slow minute of the machine and
// what one case leaves behind for the next touch all of them alike. It prints the medians, with
// their ratios to the hand-written loop and to the fastest peer, as text or, with -markdown, as
// Markdown; with -short it is the one table of the README. It exits with 1 if a bar is missed; with
// -bars=false it does not look at them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"
)

func main() {
	testing.Init()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 21, "how many `times` each case is measured")
	benchtime := flags.Duration("benchtime", 50*time.Millisecond, "how long one measurement takes")
	waiting := flags.Int("waiting", 100_000, "how many `calls` wait at once when memory is measured")
	only := flags.String("only", "", "measure only the tasks that match this `regexp`")
	markdown := flags.Bool("markdown", false, "print tables in Markdown")
	short := flags.Bool("short", false, "print one small table in Markdown, the one in the README")
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
	where := fmt.Sprintf("%s, %d cores, %s %s/%s, %s", cpu(), runtime.NumCPU(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().Format(time.DateOnly))
	if *short {
		r.printShort(stdout, where)
	} else {
		fmt.Fprintln(stdout, where)
		r.print(stdout, *markdown)
	}
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

// cpu returns the name of the processor, as far as the system tells it.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	if name := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(info); name != nil {
		return string(name[1])
	}
	return "unknown processor"
}
