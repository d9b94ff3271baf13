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
	scenario              string
	contentionClients     []int
	outageClients         []int
	rates                 []float64
	capacity              int // of the amplification
	processes, capacities []int
	repeats               int
	seed                  uint64
	csv                   bool
	svg, chart            string
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

// onlyFor holds the scenarios that a flag is for, if it is not for all.
var onlyFor = map[string][]string{
	"clients":   {"contention", "outage"},
	"rates":     {"amplification"},
	"processes": {"fleet"},
	"capacity":  {"fleet", "amplification"},
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{
		contentionClients: []int{10, 20, 50, 100},
		outageClients:     []int{5000},
		capacity:          500,
		processes:         []int{1, 10, 100, 300, 1000},
		capacities:        []int{500, 50},
	}
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
		"fleet, retry-after or all")
	var clients, capacities []int
	flags.Func("clients", "`numbers` of clients, separated by commas: for the contention, or for the\n"+
		"outage if that is the scenario (default 10,20,50,100 and 5000)", list(&clients, number(1_000_000)))
	flags.Func("rates", "failure `rates` for the amplification, separated by commas\n"+
		"(default from 0 to 1 in steps of 0.05)", list(&c.rates, rate))
	flags.Func("processes", "`numbers` of processes for the fleet, separated by commas\n"+
		"(default 1,10,100,300,1000)", list(&c.processes, number(100_000)))
	flags.Func("capacity", "`capacities` of each process's budget for the fleet, separated by commas, or\n"+
		"the one of the amplification if that is the scenario (default 500,50 and 500)", list(&capacities, number(1_000_000)))
	flags.IntVar(&c.repeats, "runs", 100, "how many `runs` of the contention to take the mean of")
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.BoolVar(&c.csv, "csv", false, "print the results, and nothing else, of the amplification as\n"+
		"rate,requests,strategy if that is the scenario; of the fleet as\n"+
		"processes,capacity,load,recovered,goodput, the recovery in seconds, empty if it takes\n"+
		"more than 300; else of the contention as clients,time,calls,algorithm, the time in ms")
	flags.StringVar(&c.svg, "svg", "", "write a chart to this `file`")
	flags.StringVar(&c.chart, "chart", "", "`what` the chart shows: calls or time (by clients, of the contention), rate (requests\n"+
		"per second, of the outage), requests or failed (by failure rate, of the\n"+
		"amplification), goodput (over time, of the blip) or recovery (by what the buckets\n"+
		"hold, of the fleet) (default: the scenario's first chart)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return c, err
	} else if err != nil {
		return c, errReported
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !slices.Contains([]string{"contention", "outage", "both", "amplification", "blip", "fleet", "retry-after", "all"}, c.scenario) {
		return c, fmt.Errorf("-scenario %q is not contention, outage, both, amplification, blip, fleet, retry-after or all", c.scenario)
	}
	var err error
	flags.Visit(func(f *flag.Flag) {
		if scenarios := onlyFor[f.Name]; scenarios != nil && !slices.ContainsFunc(scenarios, c.runs) {
			err = fmt.Errorf("-%s is for the %s, not for -scenario %s", f.Name, strings.Join(scenarios, " and the "), c.scenario)
		}
	})
	if err != nil {
		return c, err
	}
	return c, c.check(clients, capacities)
}

// check sets what depends on several flags, and checks all that can be wrong about them.
func (c *config) check(clients, capacities []int) error {
	switch {
	case clients == nil:
	case c.scenario == "outage":
		c.outageClients = clients
	case slices.Max(clients) > 1000:
		return fmt.Errorf("-clients %d: the contention takes 1000 at most; -scenario outage takes more", slices.Max(clients))
	default:
		c.contentionClients = clients
	}
	switch {
	case capacities == nil:
	case c.scenario != "amplification":
		c.capacities = capacities
	case len(capacities) > 1:
		return errors.New("-capacity takes one number for the amplification")
	default:
		c.capacity = capacities[0]
	}
	if c.repeats < 1 || c.repeats > 100_000 {
		return fmt.Errorf("-runs %d is not from 1 to 100000", c.repeats)
	}
	if c.csv {
		switch c.scenario {
		case "all", "both":
			c.scenario = "contention" // the only one that is printed
		case "contention", "amplification", "fleet":
		default:
			return fmt.Errorf("-csv is for the contention, the amplification and the fleet, not for -scenario %s", c.scenario)
		}
	}
	return c.checkChart()
}

// list returns a parser of values that are separated by commas.
func list[T any](target *[]T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		*target = nil
		for _, field := range strings.Split(s, ",") {
			v, err := parse(strings.TrimSpace(field))
			if err != nil {
				return err
			}
			*target = append(*target, v)
		}
		return nil
	}
}

// number returns a parser of numbers from 1 to most.
func number(most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%q is not a number from 1 to %d", s, most)
		}
		return n, nil
	}
}

func rate(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is not a rate from 0 to 1", s)
	}
	return v, nil
}

// charts holds, for each scenario, what a chart can show.
var charts = map[string][]string{
	"contention":    {"calls", "time"},
	"outage":        {"rate"},
	"both":          {"calls", "time", "rate"},
	"amplification": {"requests", "failed"},
	"blip":          {"goodput"},
	"fleet":         {"recovery"},
	"all":           {"calls", "time", "rate", "requests", "failed", "goodput", "recovery"},
}

// checkChart sets the default of -chart, and checks that there will be the data for it.
func (c *config) checkChart() error {
	switch possible := charts[c.scenario]; {
	case c.chart != "" && c.svg == "":
		return errors.New("-chart needs -svg with the file to write")
	case c.svg == "":
		return nil
	case !slices.Contains(charts["all"], c.chart) && c.chart != "":
		return fmt.Errorf("-chart %q is not one of %s", c.chart, strings.Join(charts["all"], ", "))
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
