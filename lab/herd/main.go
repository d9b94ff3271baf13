// Herd simulates crowds of clients that retry with this library's policies, and counts what they lose and what
// they do to their service. Time and randomness are simulated: nothing sleeps, and the same -seed gives the same
// figures. Herd -h lists the flags.
//
// # Services
//
// A service can do so many requests in a second. After 30 s it gets into trouble: it goes down, has half of
// its capacity, or goes down and comes back again and again. The work of its requests is exponentially
// distributed, if -times does not say otherwise. It has a -queue:
//
//   - fifo: it works through a queue without limit in order, whether or not clients still wait. An answer takes
//     100 ms besides the queue. The model is that of the metastable failure in Bronson et al., "Metastable
//     Failures in Distributed Systems" (HotOS 2021).
//   - a duration: it refuses what would wait for longer. A refusal takes -refusal of the work of an answer.
//   - none: it evens out peaks over 100 ms (or of ten requests) and refuses the rest, at the same cost. While
//     it is down, all requests fail immediately. The outcome of a request takes |Normal(100, 20)| ms.
//
// A client gives an attempt up after -timeout, which is a second. A service recovers when 90 % of the
// operations succeed again, for good, over five seconds (20 in the programs). An operation is lost if its
// policy gives it up, or if it has not ended -after the last operations have arrived.
//
// # Scenarios
//
// In the blip, operations begin at random times in ten processes, a service for 300 requests/s goes down for
// ten seconds, and a client makes three retries. The fleet is the blip with FullJitter and a budget, by the
// number of processes and the Capacity of each one's budget, with the goodput in the fifth minute.
//
// The programs have a -shape: arrivals begin operations at random times, and tools too, each in a process of
// its own; workers begin one a second after their last one; a batch begins all with the trouble, and so do
// connections, which are all lost then, each in a process of its own, beside the requests of others. Of the
// strategies, those that are bounded have so many operations in progress, waits included, and those that are
// pooled so many attempts in flight. The time of an operation counts from its arrival.
//
// In the contention, clients update one row under optimistic concurrency: each reads the row's version, then
// writes with that version. A write whose version is stale by the time it ends fails, and its client backs
// off and reads again. Every message takes |Normal(10, 2)| ms, a write -work more, one after the other. All
// clients start together. Intervals double from 10 ms to 2 s. This is the experiment of "Exponential Backoff
// And Jitter" (AWS Architecture Blog), with ProportionalJitter and AdditiveJitter added.
//
// In the amplification, each attempt of an operation fails with the same probability and is retried without
// waits. The figures are means over 100,000 operations, after 20,000 in which the budget settles.
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
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

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

// simulate runs the scenarios, and writes what they come to.
func simulate(c config, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	picture := ""
	for _, s := range scenarios {
		if c.scenario != "all" && c.scenario != s.name {
			continue
		}
		result := s.run(c)
		if c.csv {
			result.(csvWriter).csv(out)
		} else {
			result.table(out)
		}
		out.Flush()
		if c.svg != "" {
			picture = result.(drawer).draw()
		}
	}
	if err := out.Flush(); err != nil || c.svg == "" {
		return err
	}
	return os.WriteFile(c.svg, []byte(picture), 0o666)
}

// result is what a scenario comes to. The usage of -csv and -svg says which are a csvWriter and a drawer.
type (
	result    interface{ table(io.Writer) }
	csvWriter interface{ csv(io.Writer) }
	drawer    interface{ draw() string }
)

// scenarios holds the simulations, in the order in which they run.
var scenarios = []struct {
	name string
	run  func(config) result
}{
	{"contention", func(c config) result { return runContention(c) }},
	{"amplification", func(c config) result { return runAmplification(c) }},
	{"blip", func(c config) result { return runBlip(c) }},
	{"fleet", func(c config) result { return runFleet(c) }},
	{"programs", func(c config) result { return runPrograms(c) }},
}

func names() (all []string) {
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return all
}
