package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}

	out := bufio.NewWriter(stdout)
	o.play()
	err = errors.Join(o.write(out), out.Flush())
	if err != nil {
		fmt.Fprintln(stderr, "contest:", err)
		return 1
	}
	return 0
}

// Which settings of a way take part.
const (
	best  = "best"
	both  = "two"
	every = "all"
)

// options are the flags.
type options struct {
	plan     // what all scenes have in common
	scenes   []scene
	entries  []*entry
	seeds    int
	settings string // which of each way
	out      string // the file for the figures of each run, if there is to be one
}

// parse reads the flags, and says to stderr what is wrong with them.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("contest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	inScenes := flags.String("scenes", "all", "`scenes`, separated by commas; all, short for those that matter most")
	inWays := flags.String("ways", "all", "`ways`, separated by commas; all, short for those that matter most")
	flags.StringVar(&o.settings, "settings", both, "`which` settings of each way: best, two (that of its documentation, and the best),\n"+
		"or all, to compare them over the scenes")
	flags.IntVar(&o.seeds, "seeds", 3, "`number` of seeds of the random numbers; figures are means")
	flags.Float64Var(&o.load, "load", 0.8, "`load` before the trouble, as a share of what the service can do")
	flags.IntVar(&o.procs, "procs", 5, "`number` of processes")
	flags.DurationVar(&o.work, "work", 20*time.Millisecond, "how `long` a worker works on a request, on average; from 0.1 s on requests are much alike")
	flags.DurationVar(&o.before, "before", time.Minute, "for how `long` calls begin before the trouble")
	flags.DurationVar(&o.after, "after", time.Minute, "for how `long` calls that begin after the trouble count")
	flags.StringVar(&o.out, "out", "", "write the figures of each run to this `file`, separated by tabs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	o.scenes, err = choose(scenes, func(s scene) string { return s.name }, *inScenes, shortScenes)
	chosen, err2 := choose(allWays(), func(w way) string { return w.name }, *inWays, shortWays)
	for _, w := range chosen {
		o.entries = append(o.entries, w.entries(o.settings)...)
	}
	err = errors.Join(err, err2, o.check(flags.NArg()))
	if err != nil {
		fmt.Fprintln(stderr, "contest:", err)
	}
	return o, err
}

func (o options) check(rest int) error {
	switch {
	case rest > 0:
		return errors.New("arguments that are no flags")
	case o.settings != best && o.settings != both && o.settings != every:
		return errors.New("-settings is not two, best or all")
	case !(o.load >= 0.01 && o.load <= 1):
		return errors.New("-load is not from 0.01 to 1")
	case o.seeds < 1 || o.procs < 1 || o.procs > 1000:
		return errors.New("-seeds is below 1, or -procs is not from 1 to 1000")
	case o.work < time.Millisecond || o.work >= timeout:
		return fmt.Errorf("-work is not from 1ms to below %v", timeout)
	case o.before < time.Second || o.after < time.Second:
		return errors.New("-before or -after is below a second")
	}
	return nil
}

// allWays returns all ways, in the order of the table.
func allWays() []way { return slices.Concat(ways, failsafeWays, netflixWays, clientWays) }

// choose returns what a list of names means.
func choose[T any](from []T, name func(T) string, list, short string) (chosen []T, err error) {
	switch list {
	case "all":
		return from, nil
	case "short":
		list = short
	}
	var names []string
	for _, one := range from {
		names = append(names, name(one))
	}
	for _, wanted := range strings.Split(list, ",") {
		i := slices.Index(names, wanted)
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", wanted, strings.Join(names, ", "))
		}
		chosen = append(chosen, from[i])
	}
	return chosen, nil
}
