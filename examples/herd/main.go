// Herd simulates crowds of clients that retry with this library's policies, and counts the load on
// their server. Nothing sleeps: time and randomness are simulated, and the same -seed gives the same
// figures. Events happen in the order of their times; those of the same nanosecond happen in the
// order in which they were scheduled. Each scenario has a baseline that does not retry.
//
// # Contention
//
// Clients update one row under optimistic concurrency: each reads the row's version, then writes
// with that version. A write whose version is stale by the time it arrives fails, and its client
// backs off and reads again. Every message between a client and the server takes |Normal(10, 2)| ms.
// All clients start together. The base is 5 ms, so that the first interval is 10 ms; it doubles up
// to a cap of 2 s. This is the experiment of "Exponential Backoff And Jitter" (AWS Architecture
// Blog), with the library's default jitter of ±50 % and additive jitter added. The results are the
// number of writes that reach the server (calls), and the time until the last client knows that it
// is done, as means over -runs runs.
//
// # Outage
//
// Each client begins an operation every 100 s on average, at random, whether or not its earlier ones
// have ended. The server can answer twice that load, and evens out peaks over 100 ms (or of ten
// requests). It refuses what exceeds that; a refusal takes a tenth of the work of an answer. 30 s
// after the start the service goes down for 60 s, during which all requests fail. A tenth of the
// clients hold a connection, notice at once, and begin an operation there and then: those fail
// together. The outcome of a request takes |Normal(100, 20)| ms to reach its client. New operations
// begin until 210 s after the service is back.
//
// The immediate retries are ten attempts without a wait. "default" is the library's default policy,
// which gives up after 15 minutes; the others give up after 2 minutes, and have the jitter that they
// are named for. An operation that is given up is lost. With a budget, every 100 clients form a
// process that shares one [backoff.Budget].
//
// The results are the requests per second while the service is down, on average and in the worst
// second; how long after its return it last fails more than 1 % of a second's requests; and how many
// operations are lost.
//
// # Amplification
//
// Each attempt of an operation fails with the same probability, independently of all others. There
// are up to three retries. Without a budget, an operation takes 1 + p + p² + p³ requests on average
// at a failure rate of p. With a budget, failing retries may cost no more than successes at the first
// attempt earn, which makes at most 1 + (1−p)/5p requests. The figures are means over 100,000
// operations, one after the other, after 20,000 more in which the budget settles. (See Marc Brooker,
// "Fixing retries with token buckets and circuit breakers".)
//
// # Blip
//
// A service works through a queue of requests, in order, whether or not their clients still wait for
// them. It loses all of its capacity for ten seconds, and then has all of it again. A client gives
// up an attempt after a second, and makes up to three retries. The clients are ten processes; with a
// budget, each of them has one [backoff.Budget].
//
// The model and its parameters are those of the metastable failure in Bronson et al., "Metastable
// Failures in Distributed Systems" (HotOS 2021; see also Huang et al., "Metastable Failures in the
// Wild", OSDI 2022): a capacity of 300 requests per second, an answer that takes 100 ms besides the
// queue, a blip of ten seconds. The timeout, the number of retries, the unlimited queue, and arrivals
// and work that are exponentially distributed were chosen before the first run.
//
// The results are how long after the blip 90 % of the operations succeed again, and the goodput in
// the fifth minute after it: the share of the operations that succeed.
//
// # Retry-After
//
// 10,000 clients send a request at the same moment to a service that can answer 1,000 per second, and
// evens out peaks over 100 ms. It refuses the rest, and asks for a wait of ten seconds. Outcomes take
// as long to reach the clients as in the outage. "to the nanosecond" is a client that waits exactly as
// long as it is asked to; the others use [backoff.ExponentialBackOff], which waits at least as long
// and adds its own jitter. The results are the most requests in a second and in 100 ms after those
// ten seconds, the number of all requests, and the time until the last client is served.
//
// Herd exits with 0 if all is well, with 1 if the results cannot be written, and with 2 if it was
// called wrongly.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
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
	out := bufio.NewWriter(stdout)
	picture := simulate(c, out, stderr)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
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

// simulate runs the scenarios of c, prints the results of each as soon as it has them, and returns
// the chart.
func simulate(c config, out *bufio.Writer, stderr io.Writer) (picture string) {
	if c.runs("contention") {
		p := newProgress("contention", stderr)
		rows := runContention(c.contentionClients, c.repeats, c.seed, p)
		p.clear()
		if c.csv {
			writeContentionCSV(out, rows)
		} else {
			writeContention(out, rows, c.repeats)
		}
		out.Flush()
		if c.chart == "calls" || c.chart == "time" {
			picture = drawContention(rows, c.chart)
		}
	}
	if c.runs("outage") {
		for _, clients := range c.outageClients {
			p := newProgress(fmt.Sprint("outage, ", clients, " clients"), stderr)
			results := runOutage(clients, c.seed, p)
			p.clear()
			writeOutage(out, results)
			out.Flush()
			if c.chart == "rate" {
				picture = drawOutage(results)
			}
		}
	}
	if c.runs("amplification") {
		p := newProgress("amplification", stderr)
		rows := runAmplification(c.rates, c.seed, p)
		p.clear()
		if c.csv {
			writeAmplificationCSV(out, rows)
		} else {
			writeAmplification(out, rows)
		}
		out.Flush()
		if c.chart == "requests" {
			picture = drawAmplification(rows)
		}
	}
	if c.runs("blip") {
		p := newProgress("blip", stderr)
		results := runBlip(blipLoads(), c.seed, p)
		p.clear()
		writeBlip(out, results)
		out.Flush()
		if c.chart == "goodput" {
			picture = drawBlip(results, 0.8)
		}
	}
	if c.runs("retry-after") {
		p := newProgress("retry-after", stderr)
		results := runRetryAfter(c.seed, p)
		p.clear()
		writeRetryAfter(out, results)
	}
	return picture
}

type config struct {
	scenario          string
	contentionClients []int
	outageClients     []int
	rates             []float64
	repeats           int
	seed              uint64
	csv               bool
	svg, chart        string
}

// runs reports whether c asks for a scenario.
func (c *config) runs(scenario string) bool {
	switch c.scenario {
	case "all":
		return true
	case "both":
		return scenario == "contention" || scenario == "outage"
	}
	return c.scenario == scenario
}

// errReported is for errors that the flag package has told the user of.
var errReported = errors.New("reported")

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{contentionClients: []int{10, 20, 50, 100}, outageClients: []int{100_000}}
	for i := range 21 {
		c.rates = append(c.rates, float64(i)/20)
	}
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Herd simulates crowds of clients that retry, and counts the load on their server.")
		flags.PrintDefaults()
	}
	flags.StringVar(&c.scenario, "scenario", "all", "`which` to simulate: contention, outage, both of these, amplification, blip,\n"+
		"retry-after or all")
	clients := flags.String("clients", "", "`numbers` of clients, separated by commas: for the contention, or for the\n"+
		"outage if that is the scenario (default 10,20,50,100 and 100000)")
	rates := flags.String("rates", "", "failure `rates` for the amplification, separated by commas\n"+
		"(default from 0 to 1 in steps of 0.05)")
	flags.IntVar(&c.repeats, "runs", 100, "how many `runs` of the contention to take the mean of")
	flags.Uint64Var(&c.seed, "seed", 1, "`number` that the random numbers come from")
	flags.BoolVar(&c.csv, "csv", false, "print the results, and nothing else, of the amplification as\n"+
		"rate,requests,strategy if that is the scenario; else of the contention as\n"+
		"clients,time,calls,algorithm, the time in ms")
	flags.StringVar(&c.svg, "svg", "", "write a chart to this `file`")
	flags.StringVar(&c.chart, "chart", "", "`what` the chart shows: calls or time (by clients, of the contention), rate (requests\n"+
		"per second, of the outage), requests (by failure rate, of the amplification) or\n"+
		"goodput (over time, of the blip) (default the first one of the scenario)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return c, err
	} else if err != nil {
		return c, errReported
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !slices.Contains([]string{"contention", "outage", "both", "amplification", "blip", "retry-after", "all"}, c.scenario) {
		return c, fmt.Errorf("-scenario %q is not contention, outage, both, amplification, blip, retry-after or all", c.scenario)
	}
	if err := c.setClients(*clients); err != nil {
		return c, err
	}
	if err := c.setRates(*rates); err != nil {
		return c, err
	}
	if c.repeats < 1 || c.repeats > 100_000 {
		return c, fmt.Errorf("-runs %d is not from 1 to 100000", c.repeats)
	}
	if c.csv {
		switch c.scenario {
		case "all", "both":
			c.scenario = "contention" // the only one that is printed
		case "contention", "amplification":
		default:
			return c, fmt.Errorf("-csv is for the contention and the amplification, not for -scenario %s", c.scenario)
		}
	}
	return c, c.checkChart()
}

// setClients parses the flag -clients, if it is not empty.
func (c *config) setClients(list string) error {
	if list == "" {
		return nil
	}
	target, most := &c.contentionClients, 1000
	switch {
	case c.scenario == "outage":
		target, most = &c.outageClients, 1_000_000
	case !c.runs("contention"):
		return fmt.Errorf("-clients is for the contention and the outage, not for -scenario %s", c.scenario)
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

// setRates parses the flag -rates, if it is not empty.
func (c *config) setRates(list string) error {
	if list == "" {
		return nil
	}
	if !c.runs("amplification") {
		return fmt.Errorf("-rates is for the amplification, not for -scenario %s", c.scenario)
	}
	c.rates = nil
	for _, field := range strings.Split(list, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return fmt.Errorf("-rates %q: %q is not a rate from 0 to 1", list, field)
		}
		c.rates = append(c.rates, rate)
	}
	return nil
}

// charts holds, for each scenario, what a chart can show.
var charts = map[string][]string{
	"contention":    {"calls", "time"},
	"outage":        {"rate"},
	"both":          {"calls", "time", "rate"},
	"amplification": {"requests"},
	"blip":          {"goodput"},
	"all":           {"calls", "time", "rate", "requests", "goodput"},
}

// checkChart sets the default of -chart, and checks that there will be the data for it.
func (c *config) checkChart() error {
	switch possible := charts[c.scenario]; {
	case c.chart != "" && c.svg == "":
		return errors.New("-chart needs -svg with the file to write")
	case c.svg == "":
		return nil
	case !slices.Contains(charts["all"], c.chart) && c.chart != "":
		return fmt.Errorf("-chart %q is not calls, time, rate, requests or goodput", c.chart)
	case len(possible) == 0:
		return fmt.Errorf("there is no chart of -scenario %s", c.scenario)
	case c.chart == "":
		c.chart = possible[0]
	case !slices.Contains(possible, c.chart):
		return fmt.Errorf("-chart %s is not of -scenario %s", c.chart, c.scenario)
	}
	switch {
	case (c.chart == "calls" || c.chart == "time") && len(c.contentionClients) < 2:
		return fmt.Errorf("-chart %s needs at least two numbers of clients", c.chart)
	case c.chart == "rate" && len(c.outageClients) != 1:
		return errors.New("-chart rate needs a single number of clients")
	}
	return nil
}
