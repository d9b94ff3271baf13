package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what the flags say. Zero, or no numbers, means what the scenario has by itself.
type config struct {
	plan // what the flags set of it is for all plans of the scenario

	scenario, shape                  string
	clients, processes, capacities   numbers[int]
	loads, rates                     numbers[float64]
	runs, seeds, perProcess, retries int
	size                             int // of batches and pools
	perSecond                        float64
	work, interval                   time.Duration
	csv, long                        bool
	svg                              string
}

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

// single holds the flags for which a scenario takes one number, and others several.
var single = map[string]string{
	"outage": "clients load", "blip": "processes", "programs": "processes load",
	"rules": "load", "retry-after": "clients",
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
	if shapes[c.shape] == nil {
		return c, fmt.Errorf("-shape %q is not %s", c.shape, shapeNames())
	}
	if c.runs < 1 || c.seeds < 1 || c.perProcess < 1 || !(c.perSecond > 0) || c.rate != 0 && c.rate < 1 {
		return c, errors.New("-runs, -seeds, -per-process and -per-second must be above zero, and -rate at least 1")
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
		return v <= 1_000_000 && (f.Name != "failing" || v <= 1)
	case time.Duration:
		seconds := f.Name == "restart" || f.Name == "duration" && c.scenario != "blip"
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
	flags.IntVar(&c.seeds, "seeds", 1, "outage, blip, fleet, rules, programs: `number` of seeds, from -seed on; with more\n"+
		"than one, figures are ranges")

	flags.StringVar(&c.shape, "shape", "arrivals", "programs: how operations begin: `"+shapeNames()+"`")
	flags.IntVar(&c.size, "size", 0, "programs: `number` of operations in a batch, or of workers in a pool (default 1000, or as\n"+
		"many as make the load)")
	flags.Var(&c.clients, "clients", "contention, outage, retry-after: `numbers` of clients, separated by commas\n"+
		"(default 10,20,50,100), or the one of the outage (2000) or the retry-after (10000)")
	flags.IntVar(&c.perProcess, "per-process", 100, "outage: `number` of clients of a process")
	flags.Var(&c.processes, "processes", "blip, fleet, rules, programs: `numbers` of processes, separated by commas\n"+
		"(default 1,10,100,300,1000), or of the rules (10,100,1000), or one (10)")
	flags.DurationVar(&c.restart, "restart", 0, "blip, fleet: after how `long` each process starts anew (default never)")
	flags.Float64Var(&c.beside, "beside", 0, "blip, programs: `number` of requests per second of each process to another service, which\n"+
		"succeed, in its budget")
	flags.Float64Var(&c.perSecond, "per-second", 10, "amplification: `number` of operations in a second")
	flags.DurationVar(&c.work, "work", 0, "contention: for how `long` a write occupies the row")
	flags.IntVar(&c.retries, "retries", 3, "amplification, blip, fleet, rules: `number` of retries of an operation")
	flags.Var(&c.capacities, "capacity", "fleet: `capacities` of each process's budget, separated by commas (default 500,0);\n"+
		"0 sizes itself")
	flags.DurationVar(&c.interval, "interval", 0, "retry-after: InitialInterval of some strategies, the first `wait` (default 10s)")
	flags.Func("queue", "outage, blip, fleet, rules, programs: `fifo` works through the service's queue in order,\n"+
		"lifo takes the newest first, a duration refuses what would wait for longer, and none\n"+
		"refuses what the service cannot do now (default none in the outage, else fifo)", c.setQueue)
	flags.Float64Var(&c.refusal, "refusal", 0.1, "outage, blip, fleet, rules, programs, retry-after: `share` of the work of an answer that\n"+
		"a refusal takes")
	flags.Float64Var(&c.rate, "rate", 0, "programs: `number` of requests that the service can do in a second\n"+
		"(default 30)")
	flags.Var(&c.loads, "load", "outage, blip, fleet, rules, programs: `loads` before the service is down, as shares of\n"+
		"what it can do, separated by commas (default 0.7,0.8,0.9 in the blip, 0.6 in the\n"+
		"programs, else 0.8)")
	flags.DurationVar(&c.duration, "duration", 0, "outage, blip, fleet, rules, programs: for how `long` the service is down\n"+
		"(default 1m in the outage, else 10s; in the programs the troubles of the page)")
	flags.BoolVar(&c.long, "long", false, "programs: ten minutes too, among the troubles of the page; it takes minutes")
	flags.DurationVar(&c.after, "after", 0, "outage, blip, programs: for how `long` operations begin after it\n"+
		"(default 30m in the outage, else 5m; in the programs at least 8 outages)")
	flags.Float64Var(&c.failing, "failing", 0, "outage, blip, programs: `rate` at which attempts fail from the outage on")
	flags.Var(&c.rates, "rates", "amplification: failure `rates`, separated by commas (default from 0 to 1 in steps of 0.05)")
	flags.IntVar(&c.runs, "runs", 100, "contention: how many `runs` to take the mean of")
	flags.BoolVar(&c.csv, "csv", false, "contention, fleet: print the results, and nothing else, as clients,time,calls,algorithm, the\n"+
		"time in ms, or as processes,capacity,load,recovered,goodput, the recovery in seconds, empty\n"+
		"if it takes more than 300")
	flags.StringVar(&c.svg, "svg", "", "outage, blip: write a chart over time to this `file`, of the requests or the goodput")
	return flags
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

func (c *config) setQueue(s string) (err error) {
	named := map[string]time.Duration{"fifo": fifo, "lifo": lifo, "none": noQueue}
	if c.queue = named[s]; c.queue != 0 {
		return nil
	}
	if c.queue, err = time.ParseDuration(s); err == nil && c.queue <= 0 {
		err = errors.New("not above zero")
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
