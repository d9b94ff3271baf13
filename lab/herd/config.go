package main

import (
	"cmp"
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
	only            string // texts in the names of the rows that are wanted
	size            int    // of batches and bursts, and the number of devices
	unit            string // of what is lost
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
		if c.scenario != "programs" && !slices.Contains(forAll, f.Name) {
			err = fmt.Errorf("-%s is not for -scenario %s", f.Name, c.scenario)
		}
	})
	for _, name := range shapes[c.shape] {
		if c.wants(name) {
			c.ways = append(c.ways, name)
		}
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.scenario == "programs" && len(c.ways) == 0:
		err = fmt.Errorf("-only %q is in no name of a way", c.only)
	}
	err = errors.Join(err, c.check())
	if err != nil {
		fmt.Fprintln(stderr, "herd:", err)
	}
	return c, err
}

// forAll are the flags for all scenarios.
var forAll = []string{"scenario", "seeds", "in", "only"}

// wants reports whether a row is to be printed.
func (c *config) wants(name string) bool {
	return slices.ContainsFunc(strings.Split(c.only, ","), func(text string) bool { return strings.Contains(name, text) })
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
	switch {
	case c.load > 1:
		return errors.New("-load is above 1")
	case c.timeout <= c.answer:
		return errors.New("-timeout must be longer than -answer")
	case c.cached == 1:
		return errors.New("-cached leaves no work")
	case c.line < 0:
		return errors.New("-line is below zero")
	case c.svg != "" && !c.troubles[0].isOutage():
		return errors.New("-svg needs an outage as the first trouble")
	}
	return c.checkPrograms()
}

// checkPrograms reports what is wrong with the programs in one of the troubles.
func (c *config) checkPrograms() error {
	for _, t := range c.troubles {
		p := c.program(t)
		switch {
		case p.closed > 0 && p.pause() <= 0:
			return errors.New("-size is too few workers for the load")
		case p.longs > 0 && p.longer <= p.timeout:
			return errors.New("-long has no longer timeout than -timeout")
		}
	}
	return nil
}

func (c *config) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	choice(flags, &c.scenario, "programs", "scenario", "`which` to simulate; programs has all flags, the others have -"+
		strings.Join(forAll[1:], ", -"), report.Names(scenarios))
	choice(flags, &c.unit, inSeconds, "in", "the `unit` of what is lost", report.Names(units))
	flags.IntVar(&c.seeds, "seeds", 1, "`number` of seeds of the random numbers; with more than one, figures are ranges")
	flags.StringVar(&c.only, "only", "", "print only the rows with one of these `texts`, separated by commas, in their names")
	flags.StringVar(&c.svg, "svg", "", "write a chart of the answers in the first trouble, an outage, to this `file`")

	_ = c.setTroubles(usualTroubles)
	flags.Func("trouble", troubleUsage, c.setTroubles)
	flags.Float64Var(&c.load, "load", 0.6, "`load` before the trouble, as a share of what the service can do")
	flags.DurationVar(&c.from, "from", 30*time.Second, "for how `long` calls begin before the trouble, or the pause before a burst")
	flags.DurationVar(&c.after, "after", 3*time.Minute, "for how `long` calls begin after the trouble")
	c.serviceFlags(flags)
	c.programFlags(flags)
	return flags
}

// serviceFlags adds the flags about the service.
func (c *config) serviceFlags(flags *flag.FlagSet) {
	flags.Float64Var(&c.rate, "rate", 60, "`number` of requests that the service can do in a second")
	flags.IntVar(&c.servers, "servers", 6,
		"`number` of requests that the service works on at once, each at an equal part of its rate")
	choice(flags, &c.spread, exponential, "work", "`how` the work of requests is distributed", exponential, constant, heavy)
	choice(flags, &c.order, oldest, "order", "`which` request is next; shared: all are worked on, and share the rate", oldest, newest, sharing)
	flags.Func("first", "the `share` of the calls that are served before the others, as 30%", setShare(&c.ahead))
	flags.BoolVar(&c.heeds, "heeds", false, "the service drops the work of clients that have left")
	flags.IntVar(&c.line, "line", 0, "the `number` of requests that may wait in a queue before it refuses more, 0 for no limit")
	flags.Func("cached", "the `share` of the answers that need no work; the load is that of the others", setShare(&c.cached))
	flags.Func("final", "the `share` of the answers that are final errors, which are not lost", setShare(&c.final))
	flags.DurationVar(&c.answer, "answer", 100*time.Millisecond, "how `long` an answer takes besides the queue and the work")
	choice(flags, &c.balance, atRandom, "balance", "`how` a process chooses among backends for an attempt", atRandom, inTurn)
}

// programFlags adds the flags about the programs that call it.
func (c *config) programFlags(flags *flag.FlagSet) {
	choice(flags, &c.shape, "handler", "shape", "`how` calls begin", report.Names(shapes))
	flags.IntVar(&c.size, "size", 1000, "`number` of calls in a batch or a burst, of devices, or of workers in a loop")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "`timeout` of an attempt")
	flags.DurationVar(&c.deadline, "deadline", -1,
		"`deadline` of a call, 0 for none (default 5s for a handler, a burst or a loop, else none)")
	flags.Func("long", "the share of the calls with another `timeout`, as 10%:10s, and a deadline that is longer by the same\n"+
		"factor; with part:10%, all calls to the part are these", c.setLong)
	flags.IntVar(&c.processes, "processes", 5, "`number` of processes")
	flags.Float64Var(&c.skew, "skew", 1, "`factor` by which the busiest process has more calls than the idlest")
	flags.DurationVar(&c.move, "move", 0, "after so `long` the calls of each process move to the next one, 0 for never")
	flags.BoolVar(&c.restart, "restart", false, "restart all processes in the middle of the trouble; their calls are cut off")
	flags.IntVar(&c.grow, "grow", 1,
		"`factor` by which there are more processes from the trouble on, for the same calls")
	flags.Float64Var(&c.guess, "guess", 1, "`factor` by which devices take the spare capacity for too large")
}

// choice adds a flag whose value is one of some names, which may be given as lists.
func choice(flags *flag.FlagSet, value *string, usual, name, usage string, names ...string) {
	list := strings.Join(names, ", ")
	*value = usual
	flags.Func(name, usage+": "+list+" (default "+usual+")", func(s string) error {
		if !slices.Contains(strings.Split(list, ", "), s) {
			return errors.New("is not " + list)
		}
		*value = s
		return nil
	})
}

// setShare returns what sets a share that is written in per cent.
func setShare(share *float64) func(string) error {
	return func(s string) (err error) {
		*share, err = percentage(s)
		return err
	}
}

// setLong sets the share of the calls with a longer timeout, and that timeout.
func (c *config) setLong(s string) error {
	share, timeout, _ := strings.Cut(s, ":")
	var err1, err2 error
	c.longs, err1 = percentage(share)
	c.longer, err2 = time.ParseDuration(timeout)
	return cmp.Or(err1, err2)
}
