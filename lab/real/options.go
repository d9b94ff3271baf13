//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	cell    // what all cells have in common
	servers []server
	clients []client
	loads   []float64
	runs    int
	lanes   int
	verbose bool
}

// parse reads the flags, and reports what is wrong with them to stderr.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("real", flag.ContinueOnError)
	flags.SetOutput(stderr)
	chosen := flags.String("server", "all", "the rows, separated by commas: "+names(servers))
	callers := flags.String("client", "all", "the columns, separated by commas: "+names(clients))
	loads := flags.String("load", "0.6,0.8", "shares of the capacity that the operations need, separated by commas")
	flags.StringVar(&o.Trouble, "trouble", "stop", "stop or half")
	flags.DurationVar(&o.From, "from", 10*time.Second, "when the trouble begins")
	flags.DurationVar(&o.Down, "down", 10*time.Second, "how long the trouble lasts")
	flags.DurationVar(&o.Duration, "duration", 62*time.Second, "how long operations begin")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the times at which operations begin, and of their work")
	flags.IntVar(&o.runs, "runs", 1, "how often each cell is measured, each time with the next seed")
	flags.IntVar(&o.lanes, "lanes", 6, "how many cells are measured side by side")
	flags.BoolVar(&o.verbose, "v", false, "print the counts of each cell, and what happens to the server")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	var err1, err2, err3 error
	o.servers, err1 = choose(servers, *chosen)
	o.clients, err2 = choose(clients, *callers)
	o.loads, err3 = parseLoads(*loads)
	err := errors.Join(err1, err2, err3, o.check(flags.NArg()))
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
	}
	return o, err
}

func (o options) check(rest int) error {
	switch {
	case rest > 0:
		return errors.New("arguments that are no flags")
	case o.Trouble != "stop" && o.Trouble != "half":
		return errors.New("-trouble is neither stop nor half")
	case o.From < 0 || o.Down <= 0 || o.From+o.Down+recovery > o.Duration || o.Duration > time.Hour:
		return fmt.Errorf("-from, -down and %v more do not fit into -duration, which is at most an hour", recovery)
	case o.runs < 1 || o.lanes < 1:
		return errors.New("-runs and -lanes are at least 1")
	}
	return nil
}

func parseLoads(list string) (loads []float64, err error) {
	for _, text := range strings.Split(list, ",") {
		load, err := strconv.ParseFloat(text, 64)
		if err != nil || !(load > 0 && load <= 2) {
			return nil, fmt.Errorf("-load: %q is not between 0 and 2", text)
		}
		loads = append(loads, load)
	}
	return loads, nil
}

// choose returns the rows or columns of a list of names.
func choose[T interface{ label() string }](all []T, list string) (chosen []T, err error) {
	if list == "all" {
		return all, nil
	}
	for _, name := range strings.Split(list, ",") {
		found := find(all, name)
		if found == nil {
			return nil, fmt.Errorf("%q is none of %s", name, names(all))
		}
		chosen = append(chosen, *found)
	}
	return chosen, nil
}

// find returns the row or column of a name, or nil.
func find[T interface{ label() string }](all []T, name string) *T {
	for i := range all {
		if all[i].label() == name {
			return &all[i]
		}
	}
	return nil
}

func names[T interface{ label() string }](all []T) string {
	var list []string
	for _, one := range all {
		list = append(list, one.label())
	}
	return strings.Join(list, ", ")
}
