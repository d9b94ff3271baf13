// Herd simulates crowds of clients that retry, each with a policy of package backoff of its own, and
// counts what their server has to bear. Nothing sleeps: time and randomness are simulated, and the
// same -seed gives the same figures.
//
// # Contention
//
// Clients update one row under optimistic concurrency: each reads the row's version, then writes
// with that version. A write whose version is stale by the time it arrives fails, and its client
// backs off and reads again. Every message between a client and the server takes |Normal(10, 2)| ms.
// All clients start together. The base is 5 ms, so that the first interval is 10 ms; it doubles up
// to a cap of 2 s. That is the experiment of "Exponential Backoff And Jitter" (AWS Architecture
// Blog), with the library's default, proportional jitter of ±50 %, and additive jitter besides. The
// results are the number of writes that reach the server (calls), and the time until the last
// client knows that it is done, as means over -runs runs.
//
// # Outage
//
// Each client begins an operation every 100 s on average, at random, whether or not its earlier ones
// have ended. The server can answer twice that load, and evens out peaks over 100 ms (or of ten
// requests). What exceeds that is turned away, which takes a tenth of the work of an answer. 30 s
// after the start the service goes down for 60 s, during which all requests fail. A tenth of the
// clients hold a connection, notice at once, and begin an operation there and then: those fail
// together. A failure takes |Normal(100, 20)| ms to reach its client. Operations go on to begin for
// 210 s after the service is back.
//
// The hand-written loop tries 10 times without a wait. The others are the library's default policy
// with the jitter that they are named for, and with a MaxElapsedTime of 2 minutes, after which an
// operation is lost. With a budget, each 100 clients are one process that shares a Budget with the
// default values; an operation that it refuses a retry is lost.
//
// The results are the requests per second while the service is down, on average and in the worst
// second; how long after its return it still fails more than 1 % of a second's requests; and how
// many operations are lost.
//
// Which of the strategies without a budget loses the fewest operations depends on the model: with the
// capacity at 1.5 times the load instead of twice, full jitter loses more than the default, as its
// waits are shorter on average. What does not depend on it is that without jitter the failures come
// back in waves, and that a budget takes the load off at once, so that the service recovers as soon
// as it is back, at the price of the operations that are given up early.
//
// Herd exits with 0 if all is well, with 1 if the chart cannot be written, and with 2 if it was
// called wrongly.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errReported):
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "herd:", err)
		return 2
	}
	var picture string
	if c.scenario != "outage" {
		p := newProgress("contention", stderr)
		rows := runContention(c.contenders, c.runs, c.seed, p)
		p.clear()
		if c.csv {
			writeCSV(stdout, rows)
		} else {
			writeContention(stdout, rows, c.runs)
		}
		if c.svg != "" && c.chart != "rate" {
			picture = drawContention(rows, c.chart)
		}
	}
	if c.scenario != "contention" {
		for _, clients := range c.survivors {
			p := newProgress(fmt.Sprint("outage, ", clients, " clients"), stderr)
			results := runOutage(clients, c.seed, p)
			p.clear()
			writeOutage(stdout, results)
			if c.svg != "" && c.chart == "rate" {
				picture = drawOutage(results)
			}
		}
	}
	if c.svg == "" {
		return 0
	}
	if err := os.WriteFile(c.svg, []byte(picture), 0o666); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	return 0
}

type config struct {
	scenario   string
	contenders []int // numbers of clients for the contention
	survivors  []int // and for the outage
	runs       int
	seed       uint64
	csv        bool
	svg, chart string
}

// errReported is for errors that the flag package has told the user of.
var errReported = errors.New("reported")

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{contenders: []int{10, 20, 50, 100}, survivors: []int{100_000}}
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.scenario, "scenario", "both", "`which` to simulate: contention, outage or both")
	clients := flags.String("clients", "", "`numbers` of clients, separated by commas: for the contention, or for the\n"+
		"outage if that is the scenario (default 10,20,50,100 and 100000)")
	flags.IntVar(&c.runs, "runs", 100, "how many `runs` of the contention to take the mean of")
	flags.Uint64Var(&c.seed, "seed", 1, "`number` that the random numbers come from")
	flags.BoolVar(&c.csv, "csv", false, "print the contention's results, and nothing else, as clients,time,calls,algorithm;\n"+
		"the time in ms")
	flags.StringVar(&c.svg, "svg", "", "write a chart to this `file`")
	flags.StringVar(&c.chart, "chart", "", "`what` the chart shows: calls, time (both by clients, of the contention) or rate\n"+
		"(requests per second, of the outage) (default calls; rate if the scenario is outage)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return c, err
	} else if err != nil {
		return c, errReported
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := c.setClients(*clients); err != nil {
		return c, err
	}
	if c.runs < 1 || c.runs > 100_000 {
		return c, fmt.Errorf("-runs %d is not from 1 to 100000", c.runs)
	}
	if c.csv && c.scenario == "outage" {
		return c, errors.New("-csv is for the contention, not for -scenario outage")
	}
	if c.csv {
		c.scenario = "contention" // the only one that would be printed
	}
	return c, c.checkChart()
}

// setClients parses the flag -clients, if it is not empty.
func (c *config) setClients(list string) error {
	target, most := &c.contenders, 1000
	switch c.scenario {
	case "both", "contention":
	case "outage":
		target, most = &c.survivors, 1_000_000
	default:
		return fmt.Errorf("-scenario %q is not contention, outage or both", c.scenario)
	}
	if list == "" {
		return nil
	}
	*target = nil
	for _, field := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		switch {
		case err != nil || n < 1:
			return fmt.Errorf("-clients %q: %q is not a number of clients", list, field)
		case n > most && c.scenario != "outage":
			return fmt.Errorf("-clients %d: the contention takes %d at most; -scenario outage takes more", n, most)
		case n > most:
			return fmt.Errorf("-clients %d: the outage takes %d at most", n, most)
		}
		*target = append(*target, n)
	}
	return nil
}

// checkChart sets the default of -chart, and checks that there will be the data for it.
func (c *config) checkChart() error {
	switch {
	case c.chart != "" && c.svg == "":
		return errors.New("-chart needs -svg with the file to write")
	case c.svg == "":
		return nil
	case c.chart == "" && c.scenario == "outage":
		c.chart = "rate"
	case c.chart == "":
		c.chart = "calls"
	}
	switch c.chart {
	case "calls", "time":
		if c.scenario == "outage" {
			return fmt.Errorf("-chart %s is of the contention, not of -scenario outage", c.chart)
		}
		if len(c.contenders) < 2 {
			return fmt.Errorf("-chart %s needs at least two numbers of clients", c.chart)
		}
	case "rate":
		if c.scenario == "contention" {
			return errors.New("-chart rate is of the outage, not of the contention")
		}
		if len(c.survivors) != 1 {
			return errors.New("-chart rate needs a single number of clients")
		}
	default:
		return fmt.Errorf("-chart %q is not calls, time or rate", c.chart)
	}
	return nil
}
