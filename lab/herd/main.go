// Herd simulates programs that call a service in trouble, and counts what they lose. The calls are made by this
// library, or by others, in goroutines whose time is simulated by testing/synctest: nothing sleeps, and the same command
// prints the same figures. With real servers it runs in real time.
//
//	herd                                                     # the usual troubles of a service
//	herd -rate 500 -load 0.7 -timeout 2s -processes 40       # of yours, perhaps
//	herd -scenario peers                                     # other libraries
//	herd -scenario scenes -ways vegas,aimd -only "half"      # some
//
// # The service
//
// The service can do so many requests in a second. Their work is exponentially distributed, and an answer takes -answer
// besides. It works through a queue without limit in order, whether or not clients still wait. The model is that of the
// metastable failure in Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021). Where one of several
// servers is in trouble, each has a queue of its own and an equal part of the capacity.
//
// Processes call it at random times. A call is lost if it returns an error, or has not ended as long again after the
// last calls have begun. Losses are in seconds of traffic: for so long as many calls usually begin as are lost. All calls
// count. With one seed all ways get the same calls.
//
// # The scenarios
//
// A scenario is a table, whose rows change something of what the flags say. Scenario attack was thought out against
// slots by somebody who had not seen the others. Its last rows say what is lost more than by the better of no retries and
// three of them. In contention, clients compete to write one row of a database.
//
// Scenario servers has real servers, on this machine and in real time: this program runs itself as an HTTP server, which
// sleeps for the work of a request. A server that is down is stopped by SIGSTOP. Rows are measured side by side, since
// they need next to no processor time: a last line says how late any call began.
//
// # Other libraries
//
// Peers have the setting that loses least on average over all scenes, of those that we tried, and some that of their
// documentation besides. Those that take a function for their waits get one with their own distribution, and seeds. What
// has random numbers of its own is not seeded, as the SDK of AWS, the refusals of failsafe-go's limiter and throttler,
// and the probes of vegas. Calls that wait for Netflix's limits or for AWS's tokens go on in no fixed order when many end
// at once. These figures differ a little from run to run.
//
// Herd exits with 0 after success, with 1 if something cannot be written or measured, and with 2 for bad usage.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// serve is the argument that makes this program a server.
const serve = "serve"

// config is what the flags say.
type config struct {
	scenario
	base  plan // what the rows of a scenario change
	name  string
	ways  []way
	seeds int
	only  string
	svg   string
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == serve {
		return runServer(args[1], stdout, stderr)
	}
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}

	out := bufio.NewWriter(stdout)
	err = errors.Join(c.do(out, stderr), out.Flush())
	if err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	return 0
}

// do simulates or measures, and writes what it comes to.
func (c config) do(out, stderr io.Writer) error {
	if c.name == contention {
		writeContention(c, out)
		return nil
	}

	plans := c.rows(c.base)
	plans = slices.DeleteFunc(plans, func(p plan) bool { return !strings.Contains(p.name, c.only) })
	if len(plans) == 0 {
		return fmt.Errorf("-only %q is in no name of a row", c.only)
	}
	if c.real && c.seeds > 0 {
		return c.measure(out, stderr, plans)
	}
	rows, err := c.run(plans, runtime.GOMAXPROCS(0), play)
	if err != nil {
		return err
	}
	c.write(out, rows)
	if c.svg == "" || c.seeds == 0 {
		return nil
	}
	return os.WriteFile(c.svg, []byte(draw(rows[0])), 0o666)
}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("herd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.name, "scenario", "service", "`which` table:\n"+contents())
	ways := flags.String("ways", "", "`ways` to call, separated by commas, if they are not those of the scenario: "+wayNames())
	flags.StringVar(&c.only, "only", "", "only the rows with this `text` in their names")
	flags.IntVar(&c.seeds, "seeds", 3, "`number` of seeds of the random numbers; figures are ranges or means of them; with 0 there are none")
	flags.StringVar(&c.svg, "svg", "", "write a chart of the answers in the first row, an outage, to this `file`")
	c.base.flags(flags)
	if err := flags.Parse(args); err != nil {
		return c, err
	}

	c.scenario = scenarios[c.name]
	var err2 error
	c.ways, err2 = waysOf(cmp.Or(*ways, c.scenario.ways, "none"))
	switch {
	case c.rows == nil && c.name != contention:
		err = errors.New("-scenario is no table; -h lists them")
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.seeds < 0 || c.seeds > 1000:
		err = errors.New("-seeds is not from 0 to 1000")
	}
	err = errors.Join(err, err2, c.base.check())
	if err != nil {
		fmt.Fprintln(stderr, "herd:", err)
	}
	return c, err
}

// flags adds those of the usual service and its programs.
func (p *plan) flags(flags *flag.FlagSet) {
	flags.Float64Var(&p.rate, "rate", 60, "`number` of requests that the service can do in a second")
	flags.IntVar(&p.servers, "servers", 6, "`number` of requests that it works on at once, each at an equal part of its rate")
	flags.StringVar(&p.order, "order", oldestFirst, "`which` request is next: oldest, newest, or shared: it works on all at once")
	flags.BoolVar(&p.heeds, "heeds", false, "the service drops the work of clients that have left")
	flags.Float64Var(&p.load, "load", 0.8, "`load` before the trouble, as a share of what the service can do")
	flags.IntVar(&p.processes, "processes", 5, "`number` of processes that call it")
	duration(flags, &p.answer, 0.1, "answer", "how `long` an answer takes besides the queue and the work")
	duration(flags, &p.timeout, 1, "timeout", "`timeout` of an attempt")
	duration(flags, &p.deadline, 5, "deadline", "`deadline` of a call, 0 for none")
	duration(flags, &p.from, 30, "from", "for how `long` calls begin before the trouble")
	duration(flags, &p.after, 180, "after", "for how `long` calls begin after the trouble")
}

// duration adds a flag whose value is kept in seconds.
func duration(flags *flag.FlagSet, value *float64, usual float64, name, usage string) {
	*value = usual
	flags.Func(name, fmt.Sprintf("%s (default %v)", usage, seconds(usual)), func(s string) error {
		d, err := time.ParseDuration(s)
		*value = d.Seconds()
		return err
	})
}

// check reports what is wrong with numbers. The limit is so high that a simulation may take long, and so low that sums
// do not overflow.
func (p *plan) check() error {
	for _, number := range []float64{p.rate, float64(p.servers), p.load, float64(p.processes), p.timeout, p.from, p.after} {
		if !(number > 0 && number <= 1_000_000) {
			return fmt.Errorf("a number is not above zero, or too large: %g", number)
		}
	}
	switch {
	case p.load > 1:
		return errors.New("-load is above 1")
	case p.answer < 0 || p.timeout <= p.answer:
		return errors.New("-timeout must be longer than -answer")
	case p.deadline < 0:
		return errors.New("-deadline is below zero")
	case !slices.Contains([]string{oldestFirst, newestFirst, shared}, p.order):
		return errors.New("-order is not oldest, newest or shared")
	}
	return nil
}

// wayNames returns the names of all ways, for a message.
func wayNames() string {
	var all []string
	for _, w := range slices.Concat(ownWays, peers) {
		all = append(all, w.name)
	}
	return strings.Join(all, ", ")
}
