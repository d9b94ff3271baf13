package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// config is what the flags say.
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

// errReported is returned for errors that the flag package has printed already.
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
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.BoolVar(&c.csv, "csv", false, "print the results, and nothing else, of the amplification as\n"+
		"rate,requests,strategy if that is the scenario; else of the contention as\n"+
		"clients,time,calls,algorithm, the time in ms")
	flags.StringVar(&c.svg, "svg", "", "write a chart to this `file`")
	flags.StringVar(&c.chart, "chart", "", "`what` the chart shows: calls or time (by clients, of the contention), rate (requests\n"+
		"per second, of the outage), requests (by failure rate, of the amplification) or\n"+
		"goodput (over time, of the blip) (default: the scenario's first chart)")
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
