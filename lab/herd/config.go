package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// config is what the flags say.
type config struct {
	plan // what the flags set of it

	scenario, shape, only string
	troubles              []trouble
	clients, runs, seeds  int
	size                  int // of batches, and of pools of workers
	svg                   string
}

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{}
	c.queue = fifo
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
	case !slices.Contains(scenarios, c.scenario):
		return c, fmt.Errorf("-scenario %q is not %s", c.scenario, strings.Join(scenarios, ", "))
	case shapes[c.shape].plan == nil:
		return c, fmt.Errorf("-shape %q is not %s", c.shape, shapeNames())
	case shares[c.times] == nil:
		return c, fmt.Errorf("-times %q is not %s", c.times, strings.Join(slices.Sorted(maps.Keys(shares)), ", "))
	case min(c.clients, c.runs, c.seeds, c.servers, c.processes) < 1 || !(min(c.rate, c.guess) > 0):
		return c, errors.New("-clients, -runs, -seeds, -servers, -processes, -rate and -guess must be above zero")
	case !(c.load > 0 && c.load <= 1):
		return c, errors.New("-load is not a number above 0, up to 1")
	case c.timeout <= c.answer:
		return c, errors.New("-timeout must be longer than -answer")
	case len(c.chosen(c.plan)) == 0:
		return c, fmt.Errorf("-only %q is in no name of a way", c.only)
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
	others, _, only := strings.Cut(f.Usage, ": ")
	switch {
	case only && !slices.Contains(strings.Split(others, ", "), c.scenario):
		return fmt.Errorf("-%s is for %s, not for -scenario %s", f.Name, others, c.scenario)
	case strings.HasPrefix(f.Value.String(), "-"):
		return fmt.Errorf("-%s %s is below zero", f.Name, f.Value)
	case !sensible(f):
		return fmt.Errorf("-%s %s is too large", f.Name, f.Value)
	}
	return nil
}

// sensible reports whether the value of a flag is not so large that sums overflow. A simulation may still take long.
func sensible(f *flag.Flag) bool {
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return true // it has been looked at in Set
	}
	switch v := value.Get().(type) {
	case int:
		return v <= 1_000_000
	case float64:
		return v <= 1_000_000 && (f.Name != "poison" && f.Name != "slow" || v <= 1)
	case time.Duration:
		return v <= 100*time.Hour
	}
	return true
}

// flags returns the flags. The usage of one that is not for all scenarios starts with those that it is for, and a
// colon.
func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.StringVar(&c.scenario, "scenario", "programs", "`which` to simulate ("+strings.Join(scenarios, ", ")+")")
	flags.Uint64Var(&c.seed, "seed", 1, "`seed` of the random numbers")
	flags.IntVar(&c.seeds, "seeds", 1, "programs, slots, margins: `number` of seeds, from -seed on; with more than one, figures are ranges")
	flags.StringVar(&c.svg, "svg", "", "programs: write a chart of the load in the first trouble to this `file`")
	c.serviceFlags(flags)
	c.programFlags(flags)
	flags.IntVar(&c.clients, "clients", 100, "contention: `number` of clients")
	flags.IntVar(&c.runs, "runs", 100, "contention: how many `runs` to take the mean of")
	return flags
}

// serviceFlags are about the service, its load and its troubles.
func (c *config) serviceFlags(flags *flag.FlagSet) {
	flags.Float64Var(&c.rate, "rate", 60, "programs: `number` of requests that the service can do in a second")
	flags.IntVar(&c.servers, "servers", 6, "programs: `number` of requests that the service works on at once, each at an equal\n"+
		"part of its rate")
	flags.StringVar(&c.times, "times", "exponential", "programs: how the work of requests is distributed: `constant`, exponential or heavy")
	flags.DurationVar(&c.answer, "answer", 100*time.Millisecond, "programs: how `long` an answer takes besides the queue and the work")
	flags.Float64Var(&c.slow, "slow", 0, "programs: `share` of the calls whose answers take -slowly (default 0)")
	flags.DurationVar(&c.slowly, "slowly", 500*time.Millisecond, "programs: how `long` slow answers take besides the queue and the work")
	flags.Func("queue", "programs: `fifo` works through the service's queue in order, a duration refuses what would wait\n"+
		"for longer, and none refuses what the service cannot do now (default fifo)", c.setQueue)
	flags.Float64Var(&c.refusal, "refusal", 0.1, "programs: `share` of the work of an answer that a refusal takes")
	flags.DurationVar(&c.wait, "wait", 0, "programs: for how `long` a service asks those that it refuses to wait (default not at all)")
	flags.Float64Var(&c.load, "load", 0.6, "programs: `load` before the trouble, as a share of what the service can do")
	flags.Func("trouble", "programs: `troubles`, separated by commas: none, a time for which the service is down, half (of its\n"+
		"capacity), flapping (five seconds down, five up), fail:N% (of the attempts), hang:N% (of the\n"+
		"calls); each may have a load of its own after an @ (default "+usualTroubles+")", c.setTroubles)
	flags.DurationVar(&c.after, "after", 0, "programs: for how `long` calls begin after the trouble (default 3m)")
}

// programFlags are about the clients of a service.
func (c *config) programFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.shape, "shape", "handler", "programs: how calls begin: `"+shapeNames()+"`")
	flags.StringVar(&c.only, "only", "", "programs: print only the ways with one of these `texts`, separated by commas, in their names")
	flags.IntVar(&c.processes, "processes", 5, "programs: `number` of processes")
	flags.Float64Var(&c.guess, "guess", 1, "programs: `factor` by which those who count slots take the capacity for too large, or the spare\n"+
		"capacity for first waits")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "programs: `timeout` of an attempt")
	flags.DurationVar(&c.deadline, "deadline", -1, "programs: `deadline` of a call, 0 for none (default 5s for a handler, else none)")
	flags.DurationVar(&c.front, "front", 0, "programs: put a service in front, which calls this one in the same way; attempts there have\n"+
		"this `timeout` (default none)")
	flags.IntVar(&c.size, "size", 0, "programs: `number` of calls in a batch, of devices (default 1000), or of workers (default as many\n"+
		"as make the load)")
	flags.Float64Var(&c.poison, "poison", 0, "programs: `share` of calls that never succeed; they are not counted (default 0)")
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
