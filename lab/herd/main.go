// Herd simulates programs that call a service in trouble, and counts what they lose. The calls are made by this
// library, and by code as programs write it, in goroutines whose time is simulated by testing/synctest: nothing
// sleeps, and the same -seed gives the same figures. Herd -h lists the flags.
//
// # The service
//
// The service can do so many requests in a second. After 30 s it gets into trouble: it goes down, has half of its
// capacity, goes down and comes back again and again, fails so many attempts, or lets so many calls hang. The work of
// its requests is exponentially distributed, if -times does not say otherwise; an answer takes -answer besides. It
// has a -queue:
//
//   - fifo: it works through a queue without limit in order, whether or not clients still wait. The model is that of
//     the metastable failure in Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021).
//   - a duration: it refuses what would wait for longer. A refusal takes -refusal of the work of an answer.
//   - none: it evens out peaks over 100 ms (or of ten requests) and refuses the rest, at the same cost. While it is
//     down, all requests fail immediately.
//
// A client gives an attempt up after -timeout, and a call at its -deadline. A call is lost if it returns an error, or
// has not ended as long again after the last calls have begun. Calls that hang, or that never succeed (-poison), are
// not counted.
//
// # Scenarios
//
// The programs have a -shape. A handler's calls begin at random times, and have a deadline of 5 s. Events begin at
// random times too, and can wait; the workers of a pool begin a call each, a second after their last one. A batch
// begins all its calls with the trouble, and so do devices, which lose their connections then, each in a process of its
// own, beside the requests of others. A tool has a process for each call.
//
// The slots are handlers by the number of their slots, in many situations; the margins compare handlers with a Retrier
// to the best that others do, with everything varied.
//
// In the contention, clients update one row under optimistic concurrency: each reads the row's version, then
// writes with that version. A write whose version is stale fails, and its client backs off and reads again. Every
// message takes |Normal(10, 2)| ms. All clients start together. Intervals double from 10 ms to 2 s. This is the
// experiment of "Exponential Backoff And Jitter" (AWS Architecture Blog), with ProportionalJitter and AdditiveJitter
// added.
//
// Herd exits with 0 after success, with 1 if the results cannot be written, and with 2 for bad usage.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
)

func main() {
	testing.Init() // for synctest
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errReported):
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "herd:", err)
		return 2
	}
	if err := simulate(c, stdout); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	return 0
}

// simulate runs a scenario, and writes what it comes to.
func simulate(c config, stdout io.Writer) error {
	result := c.result()
	out := bufio.NewWriter(stdout)
	result.table(out)
	if err := out.Flush(); err != nil || c.svg == "" {
		return err
	}
	return os.WriteFile(c.svg, []byte(result.(programs).draw()), 0o666)
}

// result is what a scenario comes to.
type result interface{ table(io.Writer) }

// scenarios holds the names of the simulations.
var scenarios = []string{"programs", "slots", "margins", "contention"}

// result simulates the scenario.
func (c config) result() result {
	switch c.scenario {
	case "slots":
		return runSlots(c)
	case "margins":
		return runMargins(c)
	case "contention":
		return runContention(c)
	}
	return runPrograms(c)
}
