// Herd simulates crowds of clients that retry with this library's policies, and counts the load on
// their server. Nothing sleeps: time and randomness are simulated, and the same -seed gives the same
// figures. Events happen in the order of their times; those of the same nanosecond happen in the
// order in which they were scheduled. Each scenario has a baseline that does not retry. A strategy is
// named for its policy or its jitter in the library; ProportionalJitter is the default policy.
//
// # Contention
//
// Clients update one row under optimistic concurrency: each reads the row's version, then writes
// with that version. A write whose version is stale by the time it ends fails, and its client backs off
// and reads again. Every message between a client and the server takes |Normal(10, 2)| ms, a write -work
// more, one after the other. All clients start together. The first interval is 10 ms; it doubles up to a
// cap of 2 s. This is the experiment of "Exponential Backoff And Jitter" (AWS Architecture Blog), with
// ProportionalJitter and AdditiveJitter added. The results are the number of writes that reach the
// server (calls), and the time until the last client knows that it is done, as means over -runs runs.
//
// # Outage
//
// Each client begins an operation every 100 s on average, at random, whether or not its earlier ones
// have ended, or with -closed a second after its last one. The service evens out peaks over 100 ms (or
// of ten requests). It refuses what exceeds its capacity; a refusal takes a tenth of the work of an
// answer. 30 s after the start it goes down: all requests fail. A tenth of the clients (none with
// -closed) hold a connection, notice at once, and begin an operation there and then: those fail
// together. The outcome of a request takes |Normal(100, 20)| ms to reach its client.
//
// The policies are the default one with its limit of 15 minutes, and what their names say;
// WithBudgetWait has no limit. Operations begin until -after after the outage, and the simulation lasts
// as long again. An operation is lost if its policy gives it up, or if it has not ended by then. The
// results are the requests while the service is down, on average and in the worst second, over the
// usual ones; when nine of ten operations succeed again, over 20 s; how many are lost; and how long the
// slowest one takes.
//
// # Amplification
//
// Each attempt of an operation fails with the same probability, independently of all others, and is
// retried without waits. The figures are means over 100,000 operations, one after the other, after
// 20,000 more in which the budget settles. With -layers, each layer retries what the one below returns.
//
// # Blip
//
// A service works through a queue of requests, in order, whether or not their clients still wait for
// them. It loses all of its capacity for ten seconds, and then has all of it again. A client gives
// up an attempt after a second, and makes up to three retries; with WithBudgetWait, as many as it takes
// until five minutes after the last operations begin.
//
// The model is that of the metastable failure in Bronson et al., "Metastable Failures in Distributed
// Systems" (HotOS 2021; see also Huang et al., "Metastable Failures in the Wild", OSDI 2022), and so
// is the capacity of 300 requests per second. All other parameters were chosen before the first run:
// an answer that takes 100 ms besides the queue, the timeout, the number of retries and of processes,
// a queue without limit, and arrivals and work that are exponentially distributed.
//
// The results are how long after the blip 90 % of the operations succeed again, over 5 s, and how many
// are lost of those that begin from 30 s before it until five minutes after it.
//
// # Fleet
//
// The same with FullJitter and a budget, by the number of processes and the Capacity of each one's
// budget, with the goodput in the fifth minute: the share of the operations that succeed.
//
// # Rules
//
// The same by the number of processes, with FullJitter and the rules by which other libraries limit
// their retries; and each rule in ten processes of 24 operations a second for three minutes, in which
// attempts fail at a rate, independently of each other.
//
// # Retry-After
//
// 10,000 clients send a request at the same moment to a service that can answer 1,000 per second, and
// evens out peaks over 100 ms. It refuses the rest, and asks for a wait of ten seconds. With ZeroBackOff
// a client waits exactly as long as it is asked to; the others use [backoff.ExponentialBackOff], which
// spreads them over one interval from there on. The results are the most requests in a second and in
// 100 ms after those ten seconds, the number of all requests, and the time until the last client is
// served.
//
// Herd exits with 0 after success, with 1 if the results cannot be written, and with 2 for bad
// usage.
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
	if c.svg != "" { // see that it can be written, before the work
		f, err := os.OpenFile(c.svg, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		f.Close()
	}
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
	{"outage", func(c config) result { return runOutage(c) }},
	{"amplification", func(c config) result { return runAmplification(c) }},
	{"blip", func(c config) result { return runBlip(c) }},
	{"fleet", func(c config) result { return runFleet(c) }},
	{"rules", func(c config) result { return runRules(c) }},
	{"retry-after", func(c config) result { return runRetryAfter(c) }},
}

func names() (all []string) {
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return all
}
