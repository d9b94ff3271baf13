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

	scenario, shape, only          string
	clients, processes, capacities numbers[int]
	loads, rates                   numbers[float64]
	troubles                       []trouble
	runs, seeds, retries, refund   int
	size                           int // of batches and pools of workers
	bound, pool                    int // over all processes
	perSecond, guess               float64
	work                           time.Duration
	csv, neighboursToo             bool
	svg                            string
}

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

// single holds the flags for which a scenario takes one number, and others several.
var single = map[string]string{"blip": "processes", "programs": "processes load"}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{
		clients:    numbers[int]{least: 1, most: 1_000_000},
		processes:  numbers[int]{least: 1, most: 100_000},
		capacities: numbers[int]{most: 1_000_000},
		loads:      numbers[float64]{least: 0.01, most: 1},
		rates:      numbers[float64]{most: 1},
	}
	_ = c.setTroubles(usualTroubles)
	flags := c.flags()
	flags.SetOutput(stderr)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return c, err
	case err != nil:
		return c, errReported
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.scenario != "all" && !slices.Contains(names(), c.scenario):
		return c, fmt.Errorf("-scenario %q is not %s or all", c.scenario, strings.Join(names(), ", "))
	case shapes[c.shape].plan == nil:
		return c, fmt.Errorf("-shape %q is not %s", c.shape, shapeNames())
	case len(c.chosen(plan{processes: 1, rate: 1})) == 0:
		return c, fmt.Errorf("-only %q is in no name of a strategy", c.only)
	case shares[c.times] == nil:
		return c, fmt.Errorf("-times %q is not %s", c.times, strings.Join(slices.Sorted(maps.Keys(shares)), ", "))
	case c.rate != 0 && c.rate < 1:
		return c, errors.New("-rate must be at least 1")
	case min(c.runs, c.seeds, c.servers) < 1 || !(min(c.perSecond, c.guess) > 0) || c.timeout < answerTime:
		return c, errors.New("-runs, -seeds, -servers, -per-second and -guess must be above zero, and -timeout at least 100ms")
	}
	flags.Visit(func(f *flag.Flag) {
		if err == nil {
			err = c.check(f)
		}
	})
	return c, err
}

// check reports what is wrong with a flag that is set.
func (c *config) check(f *flag.Flag) error {
	scenarios, _, only := strings.Cut(f.Usage, ": ")
	value := f.Value.String()
	switch {
	case only && !slices.Contains(strings.Split(scenarios, ", "), c.scenario):
		return fmt.Errorf("-%s is for %s, not for -scenario %s", f.Name, scenarios, c.scenario)
	case strings.HasPrefix(value, "-"):
		return fmt.Errorf("-%s %s is below zero", f.Name, value)
	case !c.sensible(f):
		return fmt.Errorf("-%s %s is too large or too small", f.Name, value)
	case strings.Contains(value, ",") && slices.Contains(strings.Fields(single[c.scenario]), f.Name):
		return fmt.Errorf("-%s takes one number for -scenario %s", f.Name, c.scenario)
	}
	return nil
}

// sensible reports whether the value of a flag is neither so large that sums overflow nor so small that time
// stands still. A simulation may still take long.
func (c *config) sensible(f *flag.Flag) bool {
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return true // it has been looked at in Set
	}
	switch v := value.Get().(type) {
	case int:
		return v <= 1_000_000
	case float64:
		return v <= 1_000_000 && (f.Name != "poison" || v <= 1)
	case time.Duration:
		return v <= 100*time.Hour
	}
	return true
}

// flags returns the flags. The usage of one that is not for all scenarios starts with those that it is
// for, and a colon.
func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.StringVar(&c.scenario, "scenario", "all", "`which` to simulate ("+strings.Join(names(), ", ")+" or all)")
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.IntVar(&c.seeds, "seeds", 1, "blip, fleet, programs: `number` of seeds, from -seed on; with more than one,\n"+
		"figures are ranges")
	flags.BoolVar(&c.csv, "csv", false, "contention, fleet: print the results, and nothing else, as clients,time,calls,algorithm, the\n"+
		"time in ms, or as processes,capacity,load,recovered,goodput, the recovery in seconds, empty\n"+
		"if it takes more than 300")
	flags.StringVar(&c.svg, "svg", "", "programs: write a chart to this `file`: the load in one trouble, or for several how long the\n"+
		"slowest operation takes, or what the neighbours lose")
	c.serviceFlags(flags)
	c.programFlags(flags)
	c.otherFlags(flags)
	return flags
}

// serviceFlags are about the service, its load and its troubles.
func (c *config) serviceFlags(flags *flag.FlagSet) {
	flags.Func("queue", "blip, fleet, programs: `fifo` works through the service's queue in order, a duration\n"+
		"refuses what would wait for longer, and none refuses what the service cannot do now\n"+
		"(default fifo)", c.setQueue)
	flags.Float64Var(&c.refusal, "refusal", 0.1, "blip, fleet, programs: `share` of the work of an answer that a refusal takes")
	flags.DurationVar(&c.wait, "wait", 0, "programs: for how `long` a service with -queue none asks those that it refuses to wait\n"+
		"(default not at all)")
	flags.IntVar(&c.servers, "servers", 1, "blip, fleet, programs: `number` of requests that the service works on at once, each at an\n"+
		"equal part of its rate")
	flags.StringVar(&c.times, "times", "exponential", "blip, fleet, programs: how the work of requests is distributed: `constant`, exponential or\n"+
		"heavy")
	flags.Float64Var(&c.rate, "rate", 0, "programs: `number` of requests that the service can do in a second (default 30)")
	flags.Var(&c.loads, "load", "blip, fleet, programs: `loads` before the trouble, as shares of what the service can do,\n"+
		"separated by commas (default 0.7,0.8,0.9 in the blip, 0.6 in the programs, else 0.8)")
	flags.Func("trouble", "programs: `troubles`, separated by commas: none, a time for which the service is down, half (of\n"+
		"its capacity), flapping (five seconds down, five up), or a percentage of attempts that\n"+
		"fail after ten seconds down (default "+usualTroubles+")", c.setTroubles)
	flags.DurationVar(&c.duration, "duration", 0, "blip, fleet, programs: for how `long` the service is down (default 10s), in the programs\n"+
		"for how long half and flapping last (default 2m)")
	flags.DurationVar(&c.after, "after", 0, "blip, programs: for how `long` operations begin after it (default 5m, in the programs at least\n"+
		"8 times the trouble)")
	flags.DurationVar(&c.timeout, "timeout", defaultTimeout, "blip, fleet, programs: `timeout` of an attempt")
}

// programFlags are about the clients of a service.
func (c *config) programFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.shape, "shape", "arrivals", "programs: how operations begin: `"+shapeNames()+"`")
	flags.StringVar(&c.only, "only", "", "programs: print only the strategies with this `text` in their names")
	flags.IntVar(&c.size, "size", 0, "programs: `number` of operations in a batch, of connections (default 1000), or of workers\n"+
		"(default as many as make the load)")
	flags.IntVar(&c.bound, "bound", 0, "programs: `number` of operations in progress in all processes, waits included (default half of\n"+
		"what the service can do within -timeout)")
	flags.IntVar(&c.pool, "pool", 0, "programs: `number` of attempts in flight in all processes, at least one in each (default as\n"+
		"-bound)")
	flags.BoolVar(&c.oneTimeout, "one-timeout", false, "programs: the timeout of an attempt includes its wait for a place in the pool (default not)")
	flags.DurationVar(&c.patience, "patience", 0, "programs: for how `long` an operation waits for its place within -bound (default as long as it\n"+
		"takes)")
	flags.Float64Var(&c.poison, "poison", 0, "programs: `share` of operations that never succeed; they are not counted (default 0)")
	flags.BoolVar(&c.neighboursToo, "neighbours", false, "programs: print what requests of other programs lose: they are 5 % of the load and make no\n"+
		"retries")
	flags.Float64Var(&c.guess, "guess", 1, "programs: `factor` by which first waits take the spare capacity for too large")
	flags.Var(&c.processes, "processes", "blip, fleet, programs: `numbers` of processes, separated by commas\n"+
		"(default 1,10,100,300,1000), or one (default 10)")
	flags.Float64Var(&c.beside, "beside", 0, "blip, programs: `number` of requests per second of each process to another service, which\n"+
		"succeed, in its budget")
	flags.IntVar(&c.retries, "retries", 3, "amplification, blip, fleet: `number` of retries of an operation")
	flags.Var(&c.capacities, "capacity", "fleet: `capacities` of each process's budget, separated by commas (default 500,0);\n"+
		"0 sizes itself")
	flags.IntVar(&c.refund, "refund", 0, "amplification, blip, fleet, programs: the budgets' `SuccessRefund` (default 1)")
}

// otherFlags are those of scenarios without such a service.
func (c *config) otherFlags(flags *flag.FlagSet) {
	flags.Var(&c.clients, "clients", "contention: `numbers` of clients, separated by commas (default 10,20,50,100)")
	flags.DurationVar(&c.work, "work", 0, "contention: for how `long` a write occupies the row (default 0s)")
	flags.IntVar(&c.runs, "runs", 100, "contention: how many `runs` to take the mean of")
	flags.Float64Var(&c.perSecond, "per-second", 10, "amplification: `number` of operations in a second")
	flags.Var(&c.rates, "rates", "amplification: failure `rates`, separated by commas (default from 0 to 1 in steps of 0.05)")
}

func (c *config) setQueue(s string) (err error) {
	named := map[string]time.Duration{"fifo": fifo, "none": noQueue}
	c.queue = named[s]
	if c.queue != 0 {
		return nil
	}
	c.queue, err = time.ParseDuration(s)
	if err == nil && c.queue <= 0 {
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
