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
	exactly               []string // names of ways, instead of only
	troubles              []trouble
	rules                 bool // show those of others too
	seeds                 int
	size                  int    // of batches and bursts, and the number of devices
	svg                   string // the file for a chart, if there is to be one
}

// usualFrom is how long calls begin before the trouble.
const usualFrom = 30 * time.Second

// names returns the names in a table.
func names[T any](table map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// errReported is returned for errors that the flag package has printed already.
var errReported = errors.New("reported")

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{}
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
	case scenarios[c.scenario] == nil:
		return c, fmt.Errorf("-scenario %q is not %s", c.scenario, names(scenarios))
	case shapes[c.shape].plan == nil:
		return c, fmt.Errorf("-shape %q is not %s", c.shape, names(shapes))
	}

	flags.Visit(func(f *flag.Flag) {
		if err == nil {
			err = c.check(f)
		}
	})
	switch {
	case err != nil:
		return c, err
	case c.load > 1:
		return c, errors.New("-load is above 1")
	case c.timeout <= c.answer:
		return c, errors.New("-timeout must be longer than -answer")
	case len(c.chosen(c.plan)) == 0:
		return c, fmt.Errorf("-only %q is in no name of a way", c.only)
	}
	return c, nil
}

// check reports what is wrong with a flag that is set. The limits are so high that a simulation may take long, and so
// low that sums do not overflow.
func (c *config) check(f *flag.Flag) error {
	if c.scenario != "programs" && !slices.Contains(scenarios[c.scenario], f.Name) {
		return fmt.Errorf("-%s is not for -scenario %s", f.Name, c.scenario)
	}
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return nil // it has been looked at in Set
	}

	sensible := true
	switch v := value.Get().(type) {
	case int:
		sensible = v >= 1 && v <= 1_000_000 || v == 0 && f.DefValue == "0"
	case float64:
		sensible = v > 0 && v <= 1_000_000
	case time.Duration:
		sensible = v > 0 && v <= 100*time.Hour || v == 0 && (f.Name == "deadline" || f.DefValue == "0s")
	}
	if !sensible {
		return fmt.Errorf("-%s %s is not above zero, or too large", f.Name, f.Value)
	}
	return nil
}

func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.StringVar(&c.scenario, "scenario", "programs",
		"`which` to simulate ("+names(scenarios)+"); programs has all flags, variations -from, and all -seeds")
	flags.IntVar(&c.seeds, "seeds", 1, "`number` of seeds of the random numbers; with more than one, figures are ranges")
	flags.StringVar(&c.svg, "svg", "", "write a chart of the load in the first trouble to this `file`")
	c.serviceFlags(flags)
	c.programFlags(flags)
	return flags
}

// serviceFlags are about the service, its load and its troubles.
func (c *config) serviceFlags(flags *flag.FlagSet) {
	flags.Float64Var(&c.rate, "rate", 60, "`number` of requests that the service can do in a second")
	flags.IntVar(&c.servers, "servers", 6,
		"`number` of requests that the service works on at once, each at an equal part of its rate")
	flags.DurationVar(&c.answer, "answer", 100*time.Millisecond, "how `long` an answer takes besides the queue and the work")
	flags.Float64Var(&c.load, "load", 0.6, "`load` before the trouble, as a share of what the service can do")
	flags.DurationVar(&c.from, "from", usualFrom, "for how `long` calls begin before the trouble, or the pause before a burst")
	flags.DurationVar(&c.after, "after", 3*time.Minute, "for how `long` calls begin after the trouble")
	flags.IntVar(&c.surge, "surge", 1, "`factor` by which there are more calls from the trouble on")
	_ = c.setTroubles(usualTroubles)
	flags.Func("trouble", "`troubles`, separated by commas: none, a time for which the service is down, half (of its\n"+
		"capacity, for a minute) or half:10m, refuse:30s (refuses all, at once), fail:N% (of the attempts,\n"+
		"after their work), refuse:N% (of them, at once), hang:N% (of the calls); each may have a load of its\n"+
		"own after an @ (default "+usualTroubles+")", c.setTroubles)
}

// programFlags are about the clients of a service.
func (c *config) programFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.shape, "shape", "handler", "how calls begin: `"+names(shapes)+"`")
	flags.StringVar(&c.only, "only", "",
		"print only the ways with one of these `texts`, separated by commas, in their names")
	flags.BoolVar(&c.rules, "rules", false, "show rules that others have too")
	flags.IntVar(&c.processes, "processes", 5, "`number` of processes")
	flags.Float64Var(&c.skew, "skew", 1, "`factor` by which the busiest process has more calls than the idlest")
	flags.DurationVar(&c.move, "move", 0, "after so `long` the calls of each process move to the next one, 0 for never")
	flags.BoolVar(&c.restart, "restart", false, "restart all processes in the middle of the trouble; their calls are cut off")
	flags.IntVar(&c.first, "first", 0, "`number` of attempts of each process that fail before any other, at once")
	flags.IntVar(&c.grow, "grow", 1,
		"`factor` by which there are more processes from the trouble on, for the same calls")
	flags.Float64Var(&c.guess, "guess", 1,
		"`factor` by which those who count slots or first waits take a rate for too large")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "`timeout` of an attempt")
	flags.DurationVar(&c.deadline, "deadline", -1,
		"`deadline` of a call, 0 for none (default 5s for a handler, else none)")
	flags.IntVar(&c.size, "size", 1000, "`number` of calls in a batch or a burst, or of devices")
	flags.IntVar(&c.workers, "workers", 0, "`number` of workers that make the calls of a batch, 0 for one each")
	flags.Func("poison", "`share` of calls that never succeed, such as 1%", share(&c.poison))
	flags.Func("throttled", "`share` of calls that the service holds off for 5 to 30 s, such as 6%", share(&c.throttled))
}

// share returns a function that sets a share by a text in per cent.
func share(p *float64) func(string) error {
	return func(s string) (err error) {
		*p, err = percentage(s)
		return err
	}
}
