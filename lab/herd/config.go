package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/backoff/lab/report"
)

// config is what the flags say.
type config struct {
	plan // what the flags set of it

	scenario, shape string
	troubles        []trouble
	ways            []string
	seeds           int
	only            string // texts in the names of the ways that are wanted
	size            int    // of batches and bursts, and the number of devices
	svg             string // the file for a chart, if there is to be one
}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := c.flags()
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		return c, err
	}

	flags.Visit(func(f *flag.Flag) {
		if c.scenario != "programs" && f.Name != "scenario" && f.Name != "seeds" {
			err = fmt.Errorf("-%s is not for -scenario %s", f.Name, c.scenario)
		}
	})
	for _, name := range shapes[c.shape] {
		if slices.ContainsFunc(strings.Split(c.only, ","), func(text string) bool { return strings.Contains(name, text) }) {
			c.ways = append(c.ways, name)
		}
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case scenarios[c.scenario] == nil:
		err = fmt.Errorf("-scenario %q is not %s", c.scenario, report.Names(scenarios))
	case shapes[c.shape] == nil:
		err = fmt.Errorf("-shape %q is not %s", c.shape, report.Names(shapes))
	case len(c.ways) == 0:
		err = fmt.Errorf("-only %q is in no name of a way", c.only)
	}
	err = errors.Join(err, c.check())
	if err != nil {
		fmt.Fprintln(stderr, "herd:", err)
	}
	return c, err
}

// check reports what is wrong with numbers. The limit is so high that a simulation may take long, and so low that sums
// do not overflow.
func (c *config) check() error {
	for _, number := range []float64{
		c.rate, c.load, c.skew, c.guess, c.answer.Seconds(), c.from.Seconds(), c.after.Seconds(), c.timeout.Seconds(),
		float64(c.servers), float64(c.processes), float64(c.grow), float64(c.size), float64(c.seeds),
	} {
		if !(number > 0 && number <= 1_000_000) {
			return fmt.Errorf("a number is not above zero, or too large: %g", number)
		}
	}
	switch first := c.troubles[0]; {
	case c.load > 1:
		return errors.New("-load is above 1")
	case c.timeout <= c.answer:
		return errors.New("-timeout must be longer than -answer")
	case c.svg != "" && (first.left > 0 || first.duration == 0):
		return errors.New("-svg needs an outage as the first trouble")
	}
	return nil
}

func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.StringVar(&c.scenario, "scenario", "programs",
		"`which` to simulate ("+report.Names(scenarios)+"); programs has all flags, the others have -seeds")
	flags.IntVar(&c.seeds, "seeds", 1, "`number` of seeds of the random numbers; with more than one, figures are ranges")
	flags.StringVar(&c.svg, "svg", "", "write a chart of the load in the first trouble, an outage, to this `file`")

	flags.Float64Var(&c.rate, "rate", 60, "`number` of requests that the service can do in a second")
	flags.IntVar(&c.servers, "servers", 6,
		"`number` of requests that the service works on at once, each at an equal part of its rate")
	flags.DurationVar(&c.answer, "answer", 100*time.Millisecond, "how `long` an answer takes besides the queue and the work")
	flags.Float64Var(&c.load, "load", 0.6, "`load` before the trouble, as a share of what the service can do")
	flags.DurationVar(&c.from, "from", 30*time.Second, "for how `long` calls begin before the trouble, or the pause before a burst")
	flags.DurationVar(&c.after, "after", 3*time.Minute, "for how `long` calls begin after the trouble")
	_ = c.setTroubles(usualTroubles)
	flags.Func("trouble", "`troubles`, separated by commas: none, a time for which the service is down, half (of its\n"+
		"capacity, for a minute) or half:10m, refuse:30s (refuses all, at once), fail:N% (of the attempts,\n"+
		"after their work), refuse:N% (of them, at once); each may have a load of its own after an @\n"+
		"(default "+usualTroubles+")", c.setTroubles)

	flags.StringVar(&c.shape, "shape", "handler", "how calls begin: `"+report.Names(shapes)+"`")
	flags.StringVar(&c.only, "only", "", "print only the ways with one of these `texts`, separated by commas, in their names")
	flags.IntVar(&c.processes, "processes", 5, "`number` of processes")
	flags.Float64Var(&c.skew, "skew", 1, "`factor` by which the busiest process has more calls than the idlest")
	flags.DurationVar(&c.move, "move", 0, "after so `long` the calls of each process move to the next one, 0 for never")
	flags.BoolVar(&c.restart, "restart", false, "restart all processes in the middle of the trouble; their calls are cut off")
	flags.IntVar(&c.grow, "grow", 1,
		"`factor` by which there are more processes from the trouble on, for the same calls")
	flags.Float64Var(&c.guess, "guess", 1, "`factor` by which devices take the spare capacity for too large")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "`timeout` of an attempt")
	flags.DurationVar(&c.deadline, "deadline", -1,
		"`deadline` of a call, 0 for none (default 5s for a handler or a burst, else none)")
	flags.IntVar(&c.size, "size", 1000, "`number` of calls in a batch or a burst, or of devices")
	return flags
}
