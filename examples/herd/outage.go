package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The parameters of the outage. The package comment explains the model.
const (
	perClient    = 100 * time.Second // between the operations of one client, on average
	headroom     = 2.0               // the service's capacity, over the steady load
	attemptMean  = 100 * time.Millisecond
	attemptDev   = 20 * time.Millisecond
	oneInNotices = 10 // one client in so many begins an operation when the service goes down
	perProcess   = 100
	patience     = 2 * time.Minute
	handTries    = 10

	down    = 30 * time.Second
	back    = down + 60*time.Second
	closing = back + 210*time.Second // no operation begins later

	downSecond, backSecond = int(down / time.Second), int(back / time.Second)
)

func outageStrategies() []strategy {
	patient := func(jitter backoff.Jitter) policyFunc {
		return exponential(backoff.WithJitter(jitter), backoff.WithMaxElapsedTime(patience))
	}
	return []strategy{
		{"no retries", grey, false, never},
		{"immediate retries", red, false, limited(handTries-1, immediate)},
		{"default", orange, false, exponential()},
		{"no jitter, 2 min", blue, false, patient(backoff.NoJitter)},
		{"default, 2 min", purple, false, patient(backoff.ProportionalJitter)},
		{"full jitter, 2 min", green, false, patient(backoff.FullJitter)},
		{"full jitter, 2 min, budget", teal, true, patient(backoff.FullJitter)},
		{"equal jitter, 2 min", "", false, patient(backoff.EqualJitter)},
		{"decorrelated jitter, 2 min", "", false, patient(backoff.DecorrelatedJitter)},
		{"additive jitter, 2 min", "", false, patient(backoff.AdditiveJitter)},
	}
}

// outage is what one strategy comes to.
type outage struct {
	strategy
	clients    int
	operations int // that have begun, each of which ends succeeded or lost
	succeeded  int
	lost       int
	requests   counts // that reach the service in each second
	failed     counts // those of them that it does not answer
}

// load returns the steady load, in requests per second.
func (o *outage) load() float64 { return float64(o.clients) / perClient.Seconds() }

// lostShare returns the lost operations in per cent of all.
func (o *outage) lostShare() float64 { return float64(o.lost) * 100 / float64(max(1, o.operations)) }

// peak returns the most requests in a second of the time without the service.
func (o *outage) peak() (most int) {
	for second := downSecond; second < backSecond; second++ {
		most = max(most, o.requests.at(second))
	}
	return most
}

// mean returns the requests per second of the time without the service.
func (o *outage) mean() float64 {
	return float64(o.requests.sum(downSecond, backSecond)) / float64(backSecond-downSecond)
}

// recovery returns how many seconds after its return the service last failed more than 1 % of a
// second's requests.
func (o *outage) recovery() int {
	for i := len(o.failed) - 1; i >= backSecond; i-- {
		if o.failed[i]*100 > o.requests[i] {
			return i + 1 - backSecond
		}
	}
	return 0
}

var errDown = errors.New("down")

// newOutage returns a simulation that is ready to run, and the result that it fills in.
func newOutage(clients int, s strategy, seed uint64) (*crowd, *outage) {
	o := &outage{strategy: s, clients: clients}
	c := newCrowd(s, (clients+perProcess-1)/perProcess, seed)
	arrivals := rand.New(rand.NewPCG(seed, 0)) // the same for all strategies
	begin := func(client int) {
		o.operations++
		c.begin(client / perProcess)
	}
	service := newLimiter(headroom * o.load())
	c.serve = func() (time.Duration, error) {
		second := int(c.clock.now / time.Second)
		o.requests.add(second)
		took := normal(c.random, attemptMean, attemptDev)
		switch {
		case c.clock.now >= down && c.clock.now < back:
			o.failed.add(second)
			return took, errDown
		case !service.accepts(c.clock.now):
			o.failed.add(second)
			return took, errRefused
		}
		return took, nil
	}
	c.ended = func(err error) {
		if err == nil {
			o.succeeded++
		} else {
			o.lost++
		}
	}
	c.arrivals(arrivals, o.load(), closing, func() { begin(arrivals.IntN(clients)) })
	c.schedule(down, func() {
		for client := 0; client < clients; client += oneInNotices {
			begin(client)
		}
	})
	return c, o
}

// runOutage returns a result for each strategy. All of them get the same operations.
func runOutage(clients int, seed uint64, p *progress) []*outage {
	strategies := outageStrategies()
	results := make([]*outage, len(strategies))
	p.expect(len(strategies))
	parallel(len(strategies), func(i int) {
		c, o := newOutage(clients, strategies[i], seed)
		c.run()
		results[i] = o
		p.add(1)
	})
	return results
}

func writeOutage(w io.Writer, results []*outage) {
	first := results[0]
	fmt.Fprintf(w, "Outage: 60 s, under %g requests/s from %d clients, %d operations in all\n\n",
		first.load(), first.clients, first.operations)
	fmt.Fprintf(w, "%-28s%12s%13s%14s%11s%10s%9s\n",
		"", "requests/s", "over steady", "worst second", "recovered", "lost", "lost")
	fmt.Fprintf(w, "%-28s%12s%13s%14s%11s%10s%9s\n",
		"", "while down", "load", "requests", "after", "", "of all")
	for _, o := range results {
		fmt.Fprintf(w, "%-28s%12.0f%12.1f×%14d%9d s%10d%7.1f %%\n", o.label,
			o.mean(), o.mean()/o.load(), o.peak(), o.recovery(), o.lost, o.lostShare())
	}
	fmt.Fprintln(w)
}
