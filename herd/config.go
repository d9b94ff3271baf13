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

// config is what the flags say. A duration of zero, or no numbers, means what the scenario has by itself.
type config struct {
	scenario                          string
	clients, processes, capacities    numbers[int]
	loads, rates                      numbers[float64]
	runs, perProcess, retries, layers int
	perSecond                         float64
	work, duration, after, answer     time.Duration
	interval, maxInterval, restart    time.Duration
	bound                             time.Duration // of the queue; 0 for none, or newestFirst
	closed                            bool
	seed                              uint64
	csv                               bool
	svg                               string
}

// back returns when the service is back, closing when the last operations begin.
func (c *config) back() time.Duration    { return down + c.duration }
func (c *config) closing() time.Duration { return c.back() + c.after }

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

// single holds the flags for which a scenario takes one number, and others several.
var single = map[string]string{
	"outage": "clients load", "amplification": "capacity", "blip": "processes", "rules": "load", "retry-after": "clients",
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{
		clients:    numbers[int]{least: 1, most: 1_000_000},
		processes:  numbers[int]{least: 1, most: 100_000},
		capacities: numbers[int]{most: 1_000_000},
		loads:      numbers[float64]{least: 0.01, most: 1},
		rates:      numbers[float64]{most: 1},
	}
	flags := c.flags()
	flags.SetOutput(stderr)
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
	if c.runs < 1 || c.perProcess < 1 || c.layers > 10 || c.retries > 1000 || !(c.perSecond > 0) {
		return c, errors.New("-runs, -per-process and -per-second must be above zero, -layers at most 10, and -retries at most 1000")
	}
	var err error
	flags.Visit(func(f *flag.Flag) {
		scenarios, _, only := strings.Cut(f.Usage, ": ")
		switch value := f.Value.String(); {
		case only && !slices.Contains(strings.Split(scenarios, ", "), c.scenario):
			err = fmt.Errorf("-%s is for %s, not for -scenario %s", f.Name, scenarios, c.scenario)
		case strings.HasPrefix(value, "-"):
			err = fmt.Errorf("-%s %s is below zero", f.Name, value)
		case !c.sensible(f):
			err = fmt.Errorf("-%s %s is too large or too small", f.Name, value)
		case strings.Contains(value, ",") && slices.Contains(strings.Fields(single[c.scenario]), f.Name):
			err = fmt.Errorf("-%s takes one number for -scenario %s", f.Name, c.scenario)
		}
	})
	if c.svg != "" && (c.scenario == "contention" && len(c.clients.values) == 1 || c.scenario == "fleet" && len(c.processes.values) == 1) {
		err = errors.New("-svg needs at least two numbers of clients or processes")
	}
	return c, err
}

// sensible reports whether the value of a flag is neither so large that sums overflow nor so small that time
// stands still. A simulation may still take long.
func (c *config) sensible(f *flag.Flag) bool {
	value, _ := f.Value.(flag.Getter)
	if value == nil {
		return true // it has been looked at in Set
	}
	switch v := value.Get().(type) {
	case int:
		return v <= 1_000_000
	case float64:
		return v <= 1_000_000
	case time.Duration:
		seconds := f.Name == "restart" || f.Name == "duration" && c.scenario == "outage"
		return v <= 100*time.Hour && (!seconds || v == 0 || v >= time.Second)
	}
	return true
}

// flags returns the flags. The usage of one that is not for all scenarios starts with those that it is
// for, and a colon.
func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.StringVar(&c.scenario, "scenario", "all", "`which` to simulate ("+strings.Join(names(), ", ")+" or all)")
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.Var(&c.clients, "clients", "contention, outage, retry-after: `numbers` of clients, separated by commas\n"+
		"(default 10,20,50,100), or the one of the outage (2000) or the retry-after (10000)")
	flags.DurationVar(&c.work, "work", 0, "contention: for how `long` a write occupies the row")
	flags.IntVar(&c.runs, "runs", 100, "contention: how many `runs` to take the mean of")
	flags.DurationVar(&c.duration, "duration", 0, "outage, blip, fleet, rules: for how `long` the service is down\n"+
		"(default 1m in the outage, else 10s)")
	flags.Var(&c.loads, "load", "outage, blip, fleet, rules: `loads` before the service is down, as shares of its capacity,\n"+
		"separated by commas (default 0.7,0.8,0.9), or the one of the outage or the rules (0.8)")
	flags.DurationVar(&c.answer, "answer", 100*time.Millisecond, "outage, blip, fleet, rules: how `long` an answer takes besides the queue")
	flags.DurationVar(&c.after, "after", 0, "outage: for how `long` operations begin after it (default 30m)")
	flags.DurationVar(&c.interval, "interval", 0, "outage, retry-after: InitialInterval: the `wait` in the outage (default 500ms), or of two\n"+
		"strategies of the retry-after (10s)")
	flags.DurationVar(&c.maxInterval, "max-interval", time.Minute, "outage: MaxInterval, the longest `wait`")
	flags.IntVar(&c.perProcess, "per-process", 100, "outage: `number` of clients of a process")
	flags.BoolVar(&c.closed, "closed", false, "outage: clients are workers: each begins an operation a second after its last has ended,\n"+
		"and at no other time")
	flags.Var(&c.rates, "rates", "amplification: failure `rates`, separated by commas (default from 0 to 1 in steps of 0.05)")
	flags.Float64Var(&c.perSecond, "per-second", 10, "amplification: `number` of operations in a second")
	flags.IntVar(&c.layers, "layers", 1, "amplification: `number` of layers that retry")
	flags.Var(&c.processes, "processes", "blip, fleet, rules: `numbers` of processes, separated by commas\n"+
		"(default 1,10,100,300,1000), or of the rules (10,100,1000), or the one of the blip (10)")
	flags.Var(&c.capacities, "capacity", "amplification, fleet: `capacities` of each process's budget, separated by commas\n"+
		"(default 500,0), or the one of the amplification (0); 0 sizes itself")
	flags.IntVar(&c.retries, "retries", 3, "amplification, blip, fleet, rules: `number` of retries of an operation")
	flags.DurationVar(&c.restart, "restart", 0, "blip, fleet, rules: after how `long` each process starts anew (default never)")
	flags.Func("queue", "blip, fleet, rules: `fifo` works through the service's queue in order, lifo takes the newest\n"+
		"first, and a duration refuses what would wait for longer (default fifo)", c.setQueue)
	flags.BoolVar(&c.csv, "csv", false, "contention, fleet: print the results, and nothing else, as clients,time,calls,algorithm, the\n"+
		"time in ms, or as processes,capacity,load,recovered,goodput, the recovery in seconds, empty\n"+
		"if it takes more than 300")
	flags.StringVar(&c.svg, "svg", "", "contention, outage, amplification, blip, fleet: write a chart to this `file`, of the time by\n"+
		"clients, the requests over time, the operations that fail by failure rate, the goodput over\n"+
		"time, or the recovery by processes")
	return flags
}

func (c *config) setQueue(s string) (err error) {
	switch s {
	case "fifo":
		c.bound = 0
	case "lifo":
		c.bound = newestFirst
	default:
		if c.bound, err = time.ParseDuration(s); err == nil && c.bound <= 0 {
			err = errors.New("not above zero")
		}
	}
	return err
}

// numbers is a flag of numbers from least to most, separated by commas. It sorts them.
type numbers[T int | float64] struct {
	values      []T
	least, most T
}

func (n *numbers[T]) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(n.values), " ", ","), "[]")
}

func (n *numbers[T]) Set(s string) error {
	n.values = nil
	for _, field := range strings.Split(s, ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		v := T(f)
		if err != nil || float64(v) != f || v < n.least || v > n.most {
			return fmt.Errorf("%q is not a number from %v to %v", field, n.least, n.most)
		}
		n.values = append(n.values, v)
	}
	slices.Sort(n.values)
	n.values = slices.Compact(n.values)
	return nil
}

// or returns the numbers that were given, or others.
func (n *numbers[T]) or(others ...T) []T {
	if n.values == nil {
		return others
	}
	return n.values
}
