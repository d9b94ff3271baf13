package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff"
)

// contention is the scenario in which clients compete to write one row of a database. Each reads it, and writes it if
// nobody else has meanwhile, until it has written once. The table has the time and the writes that it takes.
const contention = "contention"

// contender is a policy by which clients compete.
type contender struct {
	name   string
	first  time.Duration // wait, at most
	jitter backoff.Jitter
}

// contenders are those of "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015), and what this library has
// besides: waits that double up to two seconds. Clients without waits have no first one.
var contenders = []contender{
	{"no wait", 0, backoff.NoJitter},
	{"no jitter", 10 * time.Millisecond, backoff.NoJitter},
	{"proportional jitter", 10 * time.Millisecond, backoff.ProportionalJitter},
	{"equal jitter", 10 * time.Millisecond, backoff.EqualJitter},
	{"full jitter", 10 * time.Millisecond, backoff.FullJitter},
	{"decorrelated jitter", 5 * time.Millisecond, backoff.DecorrelatedJitter},
}

// policy returns the policy of one client.
func (c contender) policy(random *rand.Rand) backoff.BackOff {
	if c.first == 0 {
		return &backoff.ZeroBackOff{}
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(c.first),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(2*time.Second),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(c.jitter),
		backoff.WithRand(random),
	)
}

// record is a row of a database that clients read, and write if it has not changed since.
type record struct {
	mu      sync.Mutex
	version int
	writes  int // that were tried
}

var errConflict = errors.New("the row has changed")

// update reads the row and writes it, over a network with delays in each direction.
func (r *record) update(random *rand.Rand) error {
	delay := func() {
		time.Sleep(time.Duration(math.Abs(10+2*random.NormFloat64()) * float64(time.Millisecond)))
	}
	delay()
	r.mu.Lock()
	version := r.version
	r.mu.Unlock()
	delay()

	delay()
	r.mu.Lock()
	r.writes++
	written := version == r.version
	if written {
		r.version++
	}
	r.mu.Unlock()
	delay()
	if !written {
		return errConflict
	}
	return nil
}

// compete has clients update a row, each until it succeeds. It returns how long that takes, and the writes.
func (c contender) compete(clients int, seed uint64) (took time.Duration, writes int) {
	synctest.Test(new(testing.T), func(*testing.T) {
		start := time.Now()
		row := &record{}
		var wait sync.WaitGroup
		for i := range clients {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			wait.Go(func() {
				_ = backoff.Retry(func() error { return row.update(random) }, c.policy(random))
			})
		}
		wait.Wait()
		took, writes = time.Since(start), row.writes
	})
	return took, writes
}

// mean returns the seconds and the writes that competing takes on average, over so many seeds.
func (c contender) mean(clients, seeds int) (took, writes float64) {
	all, tried := make([]float64, seeds), make([]float64, seeds)
	parallel(seeds, runtime.GOMAXPROCS(0), func(i int) {
		d, n := c.compete(clients, uint64(i+1))
		all[i], tried[i] = d.Seconds(), float64(n)
	})
	return mean(all), mean(tried)
}

// writeContention has all contenders compete, and writes a table.
func writeContention(c config, w io.Writer) {
	fmt.Fprintln(w, "| | 10 clients | writes | 100 clients | writes |\n|---|---:|---:|---:|---:|")
	for _, one := range contenders {
		fmt.Fprint(w, "| ", one.name)
		for _, clients := range []int{10, 100} {
			took, writes := one.mean(clients, c.seeds)
			fmt.Fprintf(w, " | %.2g s | %.0f", took, writes)
		}
		fmt.Fprintln(w, " |")
	}
}
