package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
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

// jitterWay is a policy by the name of its jitter.
type jitterWay struct {
	name   string
	policy policyFunc
}

const zeroBackOff = "ZeroBackOff"

func jitterWays() []jitterWay {
	// The published program counts attempts from 1, so that its first interval is the base, doubled. Its
	// decorrelated jitter starts with the base itself as the previous wait.
	first := map[backoff.Jitter]time.Duration{backoff.DecorrelatedJitter: base}
	ways := []jitterWay{{zeroBackOff, func(*rand.Rand) backoff.BackOff { return &backoff.ZeroBackOff{} }}}
	for _, jitter := range []backoff.Jitter{backoff.NoJitter, backoff.ProportionalJitter, backoff.AdditiveJitter,
		backoff.EqualJitter, backoff.FullJitter, backoff.DecorrelatedJitter} {
		ways = append(ways, jitterWay{jitter.String(), exponential(
			backoff.WithInitialInterval(cmp.Or(first[jitter], 2*base)),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(limit),
			backoff.WithMaxElapsedTime(0),
			backoff.WithJitter(jitter))})
	}
	return ways
}

var errStale = errors.New("stale version")

// contend lets clients update one row. It returns the time at which the last of them ends, the number of writes that
// reached the server, and how many of the clients have updated the row.
func contend(clients int, policy policyFunc, seed, stream uint64) (done time.Duration, calls, updates int) {
	synctest.Test(new(testing.T), func(*testing.T) {
		start := time.Now()
		var row sync.Mutex
		var all sync.WaitGroup
		for client := range clients {
			random := rand.New(rand.NewPCG(seed, stream+uint64(client)))
			message := func() { time.Sleep(normal(random, hopMean, hopSpread)) }
			all.Go(func() {
				_ = backoff.Retry(func() error {
					message()
					row.Lock()
					seen := updates
					row.Unlock()

					message()
					message()
					row.Lock()
					calls++
					fresh := seen == updates
					if fresh {
						updates++
					}
					row.Unlock()

					message()
					if !fresh {
						return errStale
					}
					return nil
				}, policy(random))
			})
		}
		all.Wait()
		done = time.Since(start)
	})
	return done, calls, updates
}

// contention is what the runs of one jitter come to.
type contention struct {
	name        string
	time, calls float64 // means; the time in milliseconds
}

// contentions holds the results of all jitters.
type contentions struct {
	config
	rows []contention
}

// runContention simulates each jitter. A run's random numbers depend on the seed, the jitter, the number of clients
// and the run, not on what else runs.
func runContention(c config) contentions {
	all := contentions{config: c}
	ways := jitterWays()
	for _, s := range ways {
		all.rows = append(all.rows, contention{name: s.name})
	}
	runs := make([]contention, len(ways)*c.runs)
	parallel(len(runs), func(i int) {
		jitter := i / c.runs
		stream := uint64(jitter)<<56 | uint64(c.clients)<<36 | uint64(i%c.runs)<<20
		done, calls, _ := contend(c.clients, ways[jitter].policy, c.seed, stream)
		runs[i].time, runs[i].calls = done.Seconds()*1000, float64(calls)
	})
	for i, r := range runs {
		row := &all.rows[i/c.runs]
		row.time += r.time / float64(c.runs)
		row.calls += r.calls / float64(c.runs)
	}
	return all
}

func (all contentions) table(w io.Writer) {
	fmt.Fprintf(w, "Contention: %d clients update one row; how long it takes them, mean of runs: %d\n\n", all.clients, all.runs)
	table := [][]string{{"", "time"}}
	for _, row := range all.rows {
		table = append(table, []string{label(row.name), fmt.Sprintf("%.1f s", row.time/1000)})
	}
	writeTable(w, table)
}

// label returns the name of a jitter, and marks that of the library's default policy.
func label(name string) string {
	if name == backoff.ProportionalJitter.String() {
		return name + " (default)"
	}
	return name
}
