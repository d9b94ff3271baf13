// Herd simulates crowds of clients that retry with this library's policies, and counts the load on
// their server. Nothing sleeps: time and randomness are simulated, and the same -seed gives the same
// figures. Events happen in the order of their times; those of the same nanosecond happen in the
// order in which they were scheduled. Each scenario has a baseline that does not retry. A strategy is
// named for its policy or its jitter in the library; ProportionalJitter is the default policy.
//
// # Contention
//
// Clients update one row under optimistic concurrency: each reads the row's version, then writes
// with that version. A write whose version is stale by the time it arrives fails, and its client
// backs off and reads again. Every message between a client and the server takes |Normal(10, 2)| ms.
// All clients start together. The base is 5 ms, so that the first interval is 10 ms; it doubles up
// to a cap of 2 s. This is the experiment of "Exponential Backoff And Jitter" (AWS Architecture
// Blog), with ProportionalJitter and AdditiveJitter added. The results are the
// number of writes that reach the server (calls), and the time until the last client knows that it
// is done, as means over -runs runs.
//
// # Outage
//
// Each client begins an operation every 100 s on average, at random, whether or not its earlier ones
// have ended. The server can answer twice that load, and evens out peaks over 100 ms (or of ten
// requests). It refuses what exceeds that; a refusal takes a tenth of the work of an answer. 30 s
// after the start the service goes down for 60 s, during which all requests fail. A tenth of the
// clients hold a connection, notice at once, and begin an operation there and then: those fail
// together. The outcome of a request takes |Normal(100, 20)| ms to reach its client. New operations
// begin until 210 s after the service is back.
//
// Clients give up after 2 minutes, those of ZeroBackOff too; "15 min" is the default policy with its
// own limit. An operation that is given up is lost. With a budget, every 100 clients form a process
// that shares one [backoff.Budget]. Per client, the results hardly depend on the number of clients;
// with 100,000 the scenario takes minutes, which ZeroBackOff alone needs.
//
// The results are the requests per second while the service is down, on average and in the worst
// second; how long after its return it last fails more than 1 % of a second's requests ("never" if it
// still does when the last operations begin); and how many operations are lost.
//
// # Amplification
//
// Each attempt of an operation fails with the same probability, independently of all others. There
// are up to three retries. Without a budget, an operation takes 1 + p + p² + p³ requests on average
// at a failure rate of p, and p⁴ of the operations fail. With a budget, failing retries may cost no
// more than successes at the first attempt earn, which makes at most 1 + (1−p)/cp requests if a retry
// costs c: 5 by default, or the 14 of the AWS SDKs' new rule. -capacity sets the
// budgets' Capacity. The figures are means over 100,000 operations, one after the other, after 20,000
// more in which the budget settles. (See Marc Brooker, "Fixing retries with token buckets and circuit
// breakers".)
//
// # Blip
//
// A service works through a queue of requests, in order, whether or not their clients still wait for
// them. It loses all of its capacity for ten seconds, and then has all of it again. A client gives
// up an attempt after a second, and makes up to three retries. The clients are ten processes; with a
// budget, each of them has one [backoff.Budget].
//
// The model is that of the metastable failure in Bronson et al., "Metastable Failures in Distributed
// Systems" (HotOS 2021; see also Huang et al., "Metastable Failures in the Wild", OSDI 2022), and so
// is the capacity of 300 requests per second. All other parameters were chosen before the first run:
// an answer that takes 100 ms besides the queue, the timeout, the number of retries and of processes,
// a queue without limit, and arrivals and work that are exponentially distributed.
//
// The results are how long after the blip 90 % of the operations succeed again, and the goodput in
// the fifth minute after it: the share of the operations that succeed.
//
// # Fleet
//
// The same with FullJitter and a budget, by the number of processes and the Capacity of each one's
// budget. "held" is what the full buckets of all processes pay for, in seconds of the service's
// capacity. "law" is a prediction: at a load of ρ the service gains 1 − ρ seconds of its capacity in
// each second, so it recovers held/(1−ρ) seconds later than without retries. Five minutes are
// simulated.
//
// # Retry-After
//
// 10,000 clients send a request at the same moment to a service that can answer 1,000 per second, and
// evens out peaks over 100 ms. It refuses the rest, and asks for a wait of ten seconds. Outcomes take
// as long to reach the clients as in the outage. With ZeroBackOff a client waits exactly as long as it
// is asked to; the others use [backoff.ExponentialBackOff], which spreads them over one interval from
// there on. The results are the most requests in a second and in 100 ms after those ten seconds, the
// number of all requests, and the time until the last client is served.
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
	"slices"
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
	if c.svg != "" { // see that it can be written, before the work
		f, err := os.OpenFile(c.svg, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			fmt.Fprintln(stderr, "herd:", err)
			return 1
		}
		f.Close()
	}
	out := bufio.NewWriter(stdout)
	picture := ""
	for _, s := range scenarios {
		if !c.runs(s.name) {
			continue
		}
		p := newProgress(s.name, stderr)
		r := s.run(c, p)
		p.clear()
		if c.csv {
			r.csv(out)
		} else {
			r.table(out)
		}
		out.Flush()
		if slices.Contains(charts[s.name], c.chart) {
			picture = r.draw(c.chart)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	if c.svg == "" {
		return 0
	}
	if err := os.WriteFile(c.svg, []byte(picture), 0o666); err != nil {
		fmt.Fprintln(stderr, "herd:", err)
		return 1
	}
	return 0
}

// results are what a scenario prints and draws.
type results struct {
	table, csv func(io.Writer)
	draw       func(chart string) string
}

// scenarios holds the simulations, in the order in which they run.
var scenarios = []struct {
	name string
	run  func(config, *progress) results
}{
	{"contention", func(c config, p *progress) results {
		rows := runContention(c.contentionClients, c.repeats, c.seed, p)
		return results{
			table: func(w io.Writer) { writeContention(w, rows, c.repeats) },
			csv:   func(w io.Writer) { writeContentionCSV(w, rows) },
			draw:  func(chart string) string { return drawContention(rows, chart) },
		}
	}},
	{"outage", func(c config, p *progress) results {
		all := runOutage(c.outageClients, c.seed, p)
		return results{
			table: func(w io.Writer) { writeOutage(w, all) },
			draw:  func(string) string { return drawOutage(all[0]) },
		}
	}},
	{"amplification", func(c config, p *progress) results {
		rows := runAmplification(c.rates, c.capacity, c.seed, p)
		return results{
			table: func(w io.Writer) { writeAmplification(w, rows, c.capacity) },
			csv:   func(w io.Writer) { writeAmplificationCSV(w, rows) },
			draw:  func(chart string) string { return drawAmplification(rows, chart) },
		}
	}},
	{"blip", func(c config, p *progress) results {
		all := runBlip(blipStrategies(), blipLoads(), c.seed, p)
		return results{
			table: func(w io.Writer) { writeBlip(w, all, blipLoads()) },
			draw:  func(string) string { return drawBlip(all, 0.8) },
		}
	}},
	{"fleet", func(c config, p *progress) results {
		all := runFleet(c.processes, c.capacities, c.seed, p)
		return results{
			table: func(w io.Writer) { writeFleet(w, all) },
			csv:   func(w io.Writer) { writeFleetCSV(w, all) },
			draw:  func(string) string { return drawFleet(all) },
		}
	}},
	{"retry-after", func(c config, p *progress) results {
		all := runRetryAfter(overloadClients, c.seed, p)
		return results{table: func(w io.Writer) { writeRetryAfter(w, all, overloadClients) }}
	}},
}
