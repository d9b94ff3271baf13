package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"example.com/backoff"
)

// The parameters of the outage. The package comment explains the model.
const (
	perClient   = 100 * time.Second // between the operations of one client, on average
	headroom    = 2.0               // the server's capacity, over the steady load
	evening     = 100 * time.Millisecond
	fewest      = 10  // requests that the server evens out, however low its capacity
	refusalCost = 0.1 // of turning a request away, over that of an answer
	attemptMean = 100 * time.Millisecond
	attemptDev  = 20 * time.Millisecond
	noticing    = 10 // one client in so many begins an operation when the service goes down
	perProcess  = 100
	patience    = 2 * time.Minute
	handTries   = 10

	down    = 30 * time.Second
	back    = down + 60*time.Second
	closing = back + 210*time.Second // no operation begins later
)

// survivor is a strategy for the outage.
type survivor struct {
	label, colour string
	budgeted      bool // one budget for each process
	policy        func(backoff.Clock, *rand.Rand) backoff.BackOff
}

func survivors() []survivor {
	return []survivor{
		{"immediate retries", red, false, func(backoff.Clock, *rand.Rand) backoff.BackOff {
			return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, handTries-1)
		}},
		{"no jitter", blue, false, patient(backoff.NoJitter)},
		{"default", orange, false, patient(backoff.ProportionalJitter)},
		{"full jitter", green, false, patient(backoff.FullJitter)},
		{"full jitter, budget", teal, true, patient(backoff.FullJitter)},
	}
}

// patient returns the default policy but for the jitter, and for patience in place of a quarter of
// an hour.
func patient(jitter backoff.Jitter) func(backoff.Clock, *rand.Rand) backoff.BackOff {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithMaxElapsedTime(patience),
			backoff.WithJitter(jitter),
			backoff.WithRand(random),
			backoff.WithClockProvider(clock))
	}
}

// outage is what one strategy comes to. Its slices have an element for each second.
type outage struct {
	survivor
	clients    int
	operations int // that have begun, each of which ends succeeded or lost
	succeeded  int
	lost       int
	rate       []int // requests that hit the service
	failed     []int // those of them that it did not answer
}

// load returns the steady load, in requests per second.
func (o *outage) load() float64 { return float64(o.clients) / perClient.Seconds() }

// lostShare returns the lost operations in per cent of all.
func (o *outage) lostShare() float64 { return float64(o.lost) * 100 / float64(max(1, o.operations)) }

const downSecond, backSecond = int(down / time.Second), int(back / time.Second)

// peak returns the most requests in a second of the time without the service, mean their average.
func (o *outage) peak() int { return slices.Max(o.rate[downSecond:backSecond]) }

func (o *outage) mean() float64 {
	sum := 0
	for _, n := range o.rate[downSecond:backSecond] {
		sum += n
	}
	return float64(sum) / float64(backSecond-downSecond)
}

// recovery returns how many seconds after its return the service last failed more than 1 % of a
// second's requests.
func (o *outage) recovery() int {
	last := backSecond - 1
	for i := backSecond; i < len(o.rate); i++ {
		if o.failed[i]*100 > o.rate[i] {
			last = i
		}
	}
	return last + 1 - backSecond
}

// runOutage returns a result for each strategy. All of them get the same operations.
func runOutage(clients int, seed uint64, p *progress) []outage {
	strategies := survivors()
	results := make([]outage, len(strategies))
	p.expect(len(strategies) * int(closing/time.Second))
	parallel(len(strategies), func(i int) {
		results[i] = newWorld(clients, strategies[i], seed).run(p)
	})
	return results
}
