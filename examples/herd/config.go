package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what the flags say.
type config struct {
	scenario              string
	contentionClients     []int
	work                  time.Duration
	repeats               int
	outage                outageSetting
	rates                 []float64
	perSecond             float64
	layers                int
	capacity              int // of the amplification
	blip                  setting
	loads                 []float64 // of the blip, the fleet and the rules
	processes, capacities []int     // of the fleet
	ruled                 []int     // processes of the rules
	crowd                 int       // clients of the Retry-After
	initial               time.Duration
	seed                  uint64
	csv                   bool
	svg                   string
}

// runs reports whether c asks for a scenario.
func (c *config) runs(scenario string) bool { return c.scenario == "all" || c.scenario == scenario }

// middle returns the load that rules and charts show.
func middle(loads []float64) float64 { return loads[len(loads)/2] }

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

// onlyFor holds the scenarios that a flag is for, if it is not for all, and those for which it takes a
// single value.
var onlyFor = map[string]struct{ scenarios, single string }{
	"after":        {"outage", ""},
	"answer":       {"outage blip fleet rules", ""},
	"capacity":     {"fleet amplification", "amplification"},
	"clients":      {"contention outage retry-after all", "outage retry-after"},
	"closed":       {"outage", ""},
	"duration":     {"outage blip fleet rules", ""},
	"interval":     {"outage retry-after", ""},
	"layers":       {"amplification", ""},
	"load":         {"outage blip fleet rules", "outage rules"},
	"max-interval": {"outage", ""},
	"per-process":  {"outage", ""},
	"per-second":   {"amplification", ""},
	"processes":    {"blip fleet rules", "blip"},
	"queue":        {"blip fleet rules", ""},
	"rates":        {"amplification", ""},
	"restart":      {"blip fleet rules", ""},
	"retries":      {"blip fleet amplification", ""},
	"runs":         {"contention all", ""},
	"work":         {"contention", ""},
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{
		contentionClients: []int{10, 20, 50, 100},
		outage: outageSetting{clients: 2000, perProcess: 100, load: 0.8, duration: time.Minute, after: 30 * time.Minute,
			answer: answerLatency, interval: 500 * time.Millisecond, most: time.Minute},
		blip:       setting{processes: blipProcesses, stall: 10 * time.Second, answer: answerLatency, retries: retries},
		loads:      []float64{0.7, 0.8, 0.9},
		processes:  []int{1, 10, 100, 300, 1000},
		capacities: []int{500, 0},
		ruled:      []int{10, 100, 1000},
		crowd:      10_000,
		initial:    10 * time.Second,
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
	var clients, processes, capacities []int
	var loads []float64
	duration := func(name, usage string, least time.Duration, targets ...*time.Duration) {
		flags.Func(name, usage, func(s string) error {
			d, err := time.ParseDuration(s)
			if err == nil && d < least {
				err = fmt.Errorf("less than %v", least)
			}
			for _, target := range targets {
				*target = d
			}
			return err
		})
	}
	flags.StringVar(&c.scenario, "scenario", "all", "`which` to simulate: "+strings.Join(names(), ", ")+" or all")
	flags.Func("clients", "`numbers` of clients of the contention, separated by commas (default 10,20,50,100),\n"+
		"or the one of the outage (2000) or the retry-after (10000)", list(&clients, number(1, 1_000_000)))
	duration("work", "for how `long` a write occupies the row of the contention (default 0)", 0, &c.work)
	flags.IntVar(&c.repeats, "runs", 100, "how many `runs` of the contention to take the mean of")
	duration("duration", "for how `long` the service is down (default 1m in the outage, else 10s)", 100*time.Millisecond, &c.outage.duration, &c.blip.stall)
	flags.Func("load", "`loads` before the service is down, as shares of its capacity, separated by commas\n"+
		"(default 0.7,0.8,0.9), or the one of the outage or the rules (0.8)", list(&loads, share(0.01, 1)))
	duration("answer", "how `long` an answer takes besides the queue (default 100ms)", 0, &c.outage.answer, &c.blip.answer)
	duration("after", "for how `long` operations begin after the outage (default 30m)", time.Minute, &c.outage.after)
	duration("interval", "InitialInterval: the `wait` in the outage (default 500ms), or of two strategies\n"+
		"of the retry-after (10s)", time.Millisecond, &c.outage.interval, &c.initial)
	duration("max-interval", "MaxInterval: the `wait` in the outage (default 1m)", time.Millisecond, &c.outage.most)
	flags.Func("per-process", "`number` of clients of a process in the outage (default 100)", one(&c.outage.perProcess, number(1, 1_000_000)))
	flags.BoolVar(&c.outage.closed, "closed", false, "in the outage, clients are workers: each begins an operation a second after its last\n"+
		"has ended, and at no other time")
	flags.Func("rates", "failure `rates` for the amplification, separated by commas\n"+
		"(default from 0 to 1 in steps of 0.05)", list(&c.rates, share(0, 1)))
	c.perSecond, c.layers = 10, 1
	flags.Func("per-second", "`number` of operations in a second of the amplification (default 10)", one(&c.perSecond, share(0.001, 1e6)))
	flags.Func("layers", "`number` of layers that retry in the amplification (default 1)", one(&c.layers, number(1, 5)))
	flags.Func("processes", "`numbers` of processes, separated by commas, of the fleet (default 1,10,100,300,1000)\n"+
		"or the rules (10,100,1000), or the one of the blip (10)", list(&processes, number(1, 100_000)))
	flags.Func("capacity", "`capacities` of each process's budget in the fleet, separated by commas\n"+
		"(default 500,0), or the one of the amplification (0); 0 sizes itself", list(&capacities, number(0, 1_000_000)))
	flags.Func("retries", "`number` of retries of an operation in the blip, the fleet and the amplification\n"+
		"(default 3)", one(&c.blip.retries, number(0, 100)))
	duration("restart", "after how `long` each process of the blip starts anew (default never)", time.Second, &c.blip.restart)
	flags.Func("queue", "of the blip's service: `fifo` works through all of it in order, lifo takes the\n"+
		"newest first, and a duration refuses what would wait for longer (default fifo)", c.queue)
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.BoolVar(&c.csv, "csv", false, "print the results, and nothing else, of the contention as\n"+
		"clients,time,calls,algorithm, the time in ms, or of the fleet as processes,capacity,load,\n"+
		"recovered,goodput, the recovery in seconds, empty if it takes more than 300")
	flags.StringVar(&c.svg, "svg", "", "write a chart to this `file`: of the time by clients (contention), of the requests over\n"+
		"time (outage), of the operations that fail by failure rate (amplification), of the goodput\n"+
		"over time (blip) or of the recovery by processes (fleet)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return c, err
	} else if err != nil {
		return c, errReported
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if c.scenario != "all" && !slices.Contains(names(), c.scenario) {
		return c, fmt.Errorf("-scenario %q is not %s or all", c.scenario, strings.Join(names(), ", "))
	}
	var err error
	flags.Visit(func(f *flag.Flag) {
		only, ok := onlyFor[f.Name]
		several := map[string]int{"clients": len(clients), "processes": len(processes), "capacity": len(capacities), "load": len(loads)}
		switch {
		case ok && !slices.Contains(strings.Fields(only.scenarios), c.scenario):
			err = fmt.Errorf("-%s is for %s, not for -scenario %s", f.Name, strings.ReplaceAll(only.scenarios, " ", ", "), c.scenario)
		case several[f.Name] > 1 && slices.Contains(strings.Fields(only.single), c.scenario):
			err = fmt.Errorf("-%s takes one number for -scenario %s", f.Name, c.scenario)
		}
	})
	if err != nil {
		return c, err
	}
	if clients != nil {
		c.contentionClients, c.outage.clients, c.crowd = clients, clients[0], clients[0]
	}
	if processes != nil {
		c.processes, c.ruled, c.blip.processes = processes, processes, processes[0]
	}
	if capacities != nil {
		c.capacities, c.capacity = capacities, capacities[0]
	}
	if loads != nil {
		c.loads, c.outage.load = loads, loads[0]
	}
	return c, c.check()
}

func names() (all []string) {
	for _, s := range scenarios() {
		all = append(all, s.name)
	}
	return all
}

func (c *config) queue(s string) (err error) {
	switch s {
	case "fifo":
		c.blip.bound = 0
	case "lifo":
		c.blip.bound = newestFirst
	default:
		if c.blip.bound, err = time.ParseDuration(s); err == nil && c.blip.bound <= 0 {
			err = errors.New("not above zero")
		}
	}
	return err
}

// check checks what no flag can by itself.
func (c *config) check() error {
	if slices.Max(c.contentionClients) > 1000 && c.runs("contention") {
		return fmt.Errorf("-clients %d: the contention takes 1000 at most", slices.Max(c.contentionClients))
	}
	if c.repeats < 1 || c.repeats > 100_000 {
		return fmt.Errorf("-runs %d is not from 1 to 100000", c.repeats)
	}
	if c.csv && c.scenario == "all" {
		c.scenario = "contention" // the only one that is printed
	}
	if c.csv && !slices.Contains([]string{"contention", "fleet"}, c.scenario) {
		return fmt.Errorf("-csv is for contention and fleet, not for -scenario %s", c.scenario)
	}
	switch {
	case c.svg == "":
	case !slices.Contains([]string{"contention", "outage", "amplification", "blip", "fleet"}, c.scenario):
		return fmt.Errorf("there is no chart of -scenario %s", c.scenario)
	case c.scenario == "contention" && len(c.contentionClients) < 2, c.scenario == "fleet" && len(c.processes) < 2:
		return errors.New("-svg needs at least two numbers of clients or processes")
	}
	return nil
}

// one returns a parser of a single value.
func one[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(s string) (err error) {
		*target, err = parse(s)
		return err
	}
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

// number returns a parser of whole numbers from least to most.
func number(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		return n, nil
	}
}

// share returns a parser of numbers from least to most.
func share(least, most float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= least && v <= most) {
			return 0, fmt.Errorf("%q is not a number from %g to %g", s, least, most)
		}
		return v, nil
	}
}
