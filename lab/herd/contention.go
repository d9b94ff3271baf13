package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
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

func contentionStrategies() []strategy {
	// The published program counts attempts from 1, so that its first interval is the base, doubled. Its
	// decorrelated jitter starts with the base itself as the previous wait.
	first := map[backoff.Jitter]time.Duration{backoff.DecorrelatedJitter: base}
	strategies := []strategy{{name: zeroBackOff, policy: immediate}}
	for _, jitter := range []backoff.Jitter{backoff.NoJitter, backoff.ProportionalJitter, backoff.AdditiveJitter,
		backoff.EqualJitter, backoff.FullJitter, backoff.DecorrelatedJitter} {
		strategies = append(strategies, strategy{name: jitter.String(), policy: exponential(
			backoff.WithInitialInterval(cmp.Or(first[jitter], 2*base)),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(limit),
			backoff.WithMaxElapsedTime(0),
			backoff.WithJitter(jitter))})
	}
	return append(strategies, strategy{name: noRetries, policy: noRetry})
}

// published holds names of strategies in the CSV: those of the published figures, where they have one. The
// CSV leaves out what does not retry.
var published = strings.NewReplacer(zeroBackOff, "None", "NoJitter", "Exponential", "ProportionalJitter", "Proportional",
	"AdditiveJitter", "Additive", "DecorrelatedJitter", "Decorr")

// contend lets clients update one row, which each write occupies for work. It returns the time at which
// the last of them ends, the number of writes that reached the server, and how many of the clients have
// updated the row.
func contend(clients int, work time.Duration, s strategy, random *rand.Rand) (done time.Duration, calls, updates int) {
	sim := &simulation{}
	after := func(wait time.Duration, f func()) { // and a message
		sim.schedule(sim.clock.now+wait+normal(random, hopMean, hopSpread), f)
	}
	version := 0
	var idle time.Duration // when the row is done with the writes so far
	for range clients {
		policy := s.policy(&sim.clock, random)
		policy.Reset()
		var read, write func()
		seen, written := 0, false
		retry := func() {
			if written {
				return
			}
			if wait := policy.NextBackOff(); wait >= 0 {
				after(wait, read)
			}
		}
		read = func() {
			seen = version
			after(0, func() { after(0, write) })
		}
		write = func() {
			calls++
			idle = max(idle, sim.clock.now) + work
			sim.schedule(idle, func() {
				if written = seen == version; written {
					version++
				}
				after(0, retry)
			})
		}
		after(0, read)
	}
	sim.run()
	return sim.clock.now, calls, version
}

// contention is what the runs of one strategy come to.
type contention struct {
	strategy
	clients     int
	time, calls float64 // means; the time in milliseconds
}

// contentions holds the results of all strategies for each number of clients.
type contentions struct {
	config
	rows []contention
}

// runContention simulates each strategy with each number of clients. A run's random numbers depend on
// the seed, the strategy, the number of clients and the run, not on what else runs.
func runContention(c config) contentions {
	all, strategies := contentions{config: c}, contentionStrategies()
	for _, n := range c.clients.or(10, 20, 50, 100) {
		for _, s := range strategies {
			all.rows = append(all.rows, contention{strategy: s, clients: n})
		}
	}
	runs := make([]contention, len(all.rows)*c.runs)
	parallel(len(runs), func(i int) {
		row := all.rows[i/c.runs]
		strategy, run := i/c.runs%len(strategies), i%c.runs
		stream := uint64(strategy)<<56 | uint64(row.clients)<<32 | uint64(run)
		done, calls, _ := contend(row.clients, c.work, row.strategy, rand.New(rand.NewPCG(c.seed, stream)))
		runs[i].time, runs[i].calls = done.Seconds()*1000, float64(calls)
	})
	for i, r := range runs {
		row := &all.rows[i/c.runs]
		row.time += r.time / float64(c.runs)
		row.calls += r.calls / float64(c.runs)
	}
	return all
}

// table prints one table for the calls and one for the times, with a column for each number of clients.
func (all contentions) table(w io.Writer) {
	fmt.Fprintf(w, "Contention: clients that update one row, mean of runs: %d\n\n", all.runs)
	calls, times := []string{"calls by clients"}, []string{"time (s) by clients"}
	strategies := len(contentionStrategies())
	for i := 0; i < len(all.rows); i += strategies {
		calls = append(calls, strconv.Itoa(all.rows[i].clients))
		times = append(times, strconv.Itoa(all.rows[i].clients))
	}
	writeStrategies(w, [][]string{calls}, strategies, all.rows, func(r contention) []string { return []string{fmt.Sprintf("%.0f", r.calls)} })
	writeStrategies(w, [][]string{times}, strategies, all.rows, func(r contention) []string { return []string{fmt.Sprintf("%.2f", r.time/1000)} })
}

// csv uses the columns and names of the published figures.
func (all contentions) csv(w io.Writer) {
	fmt.Fprintln(w, "clients,time,calls,algorithm")
	for _, r := range all.rows {
		if r.name != noRetries {
			fmt.Fprintf(w, "%d,%.0f,%.1f,%s\n", r.clients, r.time, r.calls, published.Replace(r.name))
		}
	}
}
