// Schedule draws the waits of an exponential policy: the range of each, the one that a random draw gives, and
// the total.
//
//	go run ./examples/schedule -interval 1s -multiplier 2 -cap 10s -jitter FullJitter
//
// It does not really wait, and counts no time for the attempts. With -server it draws the waits a second time,
// as they are if a server asks for a wait after each failure.
//
// A test that asserts a schedule, to copy, is in schedule_test.go.
//
// Schedule exits with 0, with 1 if the output could not be written, and with 2 for bad usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"example.com/backoff"
)

// Beyond these, a table would have numbers too long to read, or too many lines.
const (
	longestDuration = 1000 * time.Hour
	mostRetries     = 100
)

// jitters are the names that -jitter accepts.
var jitters = []backoff.Jitter{
	backoff.ProportionalJitter,
	backoff.NoJitter,
	backoff.FullJitter,
	backoff.EqualJitter,
	backoff.DecorrelatedJitter,
	backoff.AdditiveJitter,
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}

	_, err = io.WriteString(stdout, draw(s))
	if err != nil {
		fmt.Fprintln(stderr, "schedule:", err)
		return 1
	}
	return 0
}

// parse returns the settings in args. It prints what is wrong with them to stderr.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("schedule", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.register(flags)

	err := flags.Parse(args)
	if err != nil {
		return s, err // Parse has printed it
	}

	err = s.check()
	if flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "schedule:", err)
	}
	return s, err
}

// register adds the flags that set s.
func (s *settings) register(flags *flag.FlagSet) {
	flags.DurationVar(&s.interval, "interval", backoff.DefaultInitialInterval,
		"InitialInterval, the first interval")
	flags.Float64Var(&s.multiplier, "multiplier", backoff.DefaultMultiplier,
		"Multiplier, by which the interval grows; DecorrelatedJitter ignores it")
	flags.DurationVar(&s.cap, "cap", backoff.DefaultMaxInterval,
		"MaxInterval, the longest interval")
	flags.DurationVar(&s.limit, "limit", backoff.DefaultMaxElapsedTime,
		"MaxElapsedTime, the longest time for all waits together; 0 is no limit")
	flags.Func("jitter", "Jitter, one of\n"+jitterNames()+"\n(default ProportionalJitter)", s.setJitter)
	flags.Float64Var(&s.factor, "factor", backoff.DefaultRandomizationFactor,
		"RandomizationFactor, which only ProportionalJitter uses")
	flags.UintVar(&s.retries, "retries", 10,
		"how many retries to draw")
	flags.DurationVar(&s.server, "server", 0,
		"draw the waits again for a server that asks for this one after each failure")
	flags.Uint64Var(&s.seed, "seed", 1,
		"what the drawn waits depend on")
}

// jitterNames returns the names of all strategies, separated by commas.
func jitterNames() string {
	names := make([]string, len(jitters))
	for i, j := range jitters {
		names[i] = j.String()
	}
	return strings.Join(names, ", ")
}

// setJitter sets the strategy by its name, in capitals or not.
func (s *settings) setJitter(name string) error {
	for _, j := range jitters {
		if strings.EqualFold(name, j.String()) {
			s.jitter = j
			return nil
		}
	}
	return errors.New("it must be one of\n" + jitterNames())
}

// check returns an error that names the first flag whose value makes no sense.
func (s *settings) check() error {
	durations := []struct {
		flag     string
		value    time.Duration
		shortest time.Duration
	}{
		{"-interval", s.interval, time.Nanosecond},
		{"-cap", s.cap, time.Nanosecond},
		{"-limit", s.limit, 0},
		{"-server", s.server, 0},
	}
	for _, d := range durations {
		if d.value < d.shortest || d.value > longestDuration {
			return fmt.Errorf("%s must be between %v and 1000h", d.flag, d.shortest)
		}
	}

	// Comparisons with NaN are false.
	switch {
	case !(s.multiplier >= 1 && s.multiplier <= 1e6):
		return errors.New("-multiplier must be between 1 and 1000000")
	case !(s.factor >= 0 && s.factor <= 1):
		return errors.New("-factor must be between 0 and 1")
	case s.retries < 1 || s.retries > mostRetries:
		return fmt.Errorf("-retries must be between 1 and %d", mostRetries)
	}
	return nil
}
