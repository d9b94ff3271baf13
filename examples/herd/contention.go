package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"example.com/backoff"
)

// The parameters of the published experiment.
const (
	hopMean   = 10 * time.Millisecond
	hopSpread = 2 * time.Millisecond
	base      = 5 * time.Millisecond
	limit     = 2 * time.Second
)

// competitor is a strategy for the contention, with its name in the CSV: that of the published
// figures, where they have it. A strategy without one is left out of the CSV and the charts.
type competitor struct {
	published string
	strategy
}

func competitors() []competitor {
	return []competitor{
		{"None", strategy{name: zeroBackOff, policy: immediate}},
		// The published program counts attempts from 1, so that its first interval is the base, doubled.
		{"Exponential", strategy{name: noJitter, policy: doubling(backoff.NoJitter, 2*base)}},
		{"Proportional", strategy{name: proportional, policy: doubling(backoff.ProportionalJitter, 2*base)}},
		{"Additive", strategy{name: additive, policy: doubling(backoff.AdditiveJitter, 2*base)}},
		{"EqualJitter", strategy{name: equalJitter, policy: doubling(backoff.EqualJitter, 2*base)}},
		{"FullJitter", strategy{name: fullJitter, policy: doubling(backoff.FullJitter, 2*base)}},
		// Its decorrelated jitter starts with the base itself as the previous wait.
		{"Decorr", strategy{name: decorrelated, policy: doubling(backoff.DecorrelatedJitter, base)}},
		{"", strategy{name: noRetries, policy: never}},
	}
}

func doubling(jitter backoff.Jitter, initial time.Duration) policyFunc {
	return exponential(
		backoff.WithInitialInterval(initial),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(limit),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(jitter))
}

// step says what a client's next event is.
type step uint8

const (
	readArrives  step = iota // at the server
	readReturns              // to the client, with the row's version
	writeArrives             // at the server
	writeEnds                // at the server, which takes it only if the version is still the row's
	writeReturns             // to the client
)

type writer struct {
	step    step
	written bool
	version int // as read
	policy  backoff.BackOff
}

// contend lets clients update one row, which each write occupies for work. It returns the time at which the last of them ends, the
// number of writes that reached the server, and how many of the clients have updated the row.
func contend(clients int, work time.Duration, s strategy, random *rand.Rand) (done time.Duration, calls, updates int) {
	hop := func() time.Duration { return normal(random, hopMean, hopSpread) }
	clock := &simClock{}
	queue := &wheel[*writer]{}
	for range clients {
		w := &writer{policy: s.policy(clock, random)}
		w.policy.Reset()
		queue.push(hop(), w)
	}
	version := 0
	var idle time.Duration // when the row is done with the writes so far
	for {
		at, w, ok := queue.pop()
		if !ok {
			return clock.now, calls, version
		}
		clock.now = at
		switch w.step {
		case readArrives:
			w.version, w.step = version, readReturns
		case readReturns:
			w.step = writeArrives
		case writeArrives:
			calls++
			w.step = writeEnds
			idle = max(idle, at) + work
			queue.push(idle, w)
			continue
		case writeEnds:
			w.written, w.step = w.version == version, writeReturns
			if w.written {
				version++
			}
		case writeReturns:
			if w.written {
				continue
			}
			wait := w.policy.NextBackOff()
			if wait < 0 {
				continue
			}
			at += wait
			w.step = readArrives
		}
		queue.push(at+hop(), w)
	}
}

// contention is what the runs of one strategy come to.
type contention struct {
	competitor
	clients     int
	time, calls float64 // means; the time in milliseconds
}

// runContention returns a row for each number of clients and each strategy. A run's random numbers
// depend on the seed, the strategy, the number of clients and the run, not on what else runs.
func runContention(c config) []contention {
	clients, runs := c.contentionClients, c.repeats
	var rows []contention
	strategies := competitors()
	for _, n := range clients {
		for _, s := range strategies {
			rows = append(rows, contention{competitor: s, clients: n})
		}
	}
	type outcome struct {
		done  time.Duration
		calls int
	}
	outcomes := make([]outcome, len(rows)*runs)
	parallel(len(outcomes), func(i int) {
		row := rows[i/runs]
		strategy, run := i/runs%len(strategies), i%runs
		stream := uint64(strategy)<<56 | uint64(row.clients)<<32 | uint64(run)
		random := rand.New(rand.NewPCG(c.seed, stream))
		o := &outcomes[i]
		o.done, o.calls, _ = contend(row.clients, c.work, row.strategy, random)
	})
	for i, o := range outcomes {
		rows[i/runs].time += o.done.Seconds() * 1000 / float64(runs)
		rows[i/runs].calls += float64(o.calls) / float64(runs)
	}
	return rows
}

// writeContention prints one table for the calls and one for the times, with a column for each
// number of clients.
func writeContention(w io.Writer, rows []contention, runs int) {
	fmt.Fprintf(w, "Contention: clients that update one row, mean of runs: %d\n\n", runs)
	writePivot(w, "calls by clients", rows, func(r contention) string { return fmt.Sprintf("%.0f", r.calls) })
	writePivot(w, "time (s) by clients", rows, func(r contention) string { return fmt.Sprintf("%.2f", r.time/1000) })
}

func writePivot(w io.Writer, title string, rows []contention, cell func(contention) string) {
	strategies := len(competitors())
	head := []string{title}
	for i := 0; i < len(rows); i += strategies {
		head = append(head, strconv.Itoa(rows[i].clients))
	}
	table := [][]string{head}
	for s := range strategies {
		row := []string{rows[s].label()}
		for i := s; i < len(rows); i += strategies {
			row = append(row, cell(rows[i]))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

// writeContentionCSV uses the columns and names of the published figures.
func writeContentionCSV(w io.Writer, rows []contention) {
	fmt.Fprintln(w, "clients,time,calls,algorithm")
	for _, r := range rows {
		if r.published == "" {
			continue
		}
		fmt.Fprintf(w, "%d,%.0f,%.1f,%s\n", r.clients, r.time, r.calls, r.published)
	}
}
