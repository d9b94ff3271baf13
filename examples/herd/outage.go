package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
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

	down    = 30 * time.Second
	back    = down + 60*time.Second
	closing = back + 210*time.Second // no operation begins later

	downSecond, backSecond = int(down / time.Second), int(back / time.Second)
)

func outageStrategies() []strategy {
	limit := backoff.WithMaxElapsedTime(patience)
	patient := func(jitter backoff.Jitter) policyFunc {
		return exponential(backoff.WithJitter(jitter), limit)
	}
	return []strategy{
		{name: noRetries, policy: never},
		// With a Clock, as exponential sets it, an InitialInterval of 0 means no waits.
		{name: zeroBackOff, policy: exponential(backoff.WithInitialInterval(0), limit)},
		{name: noJitter, policy: patient(backoff.NoJitter)},
		{name: proportional, policy: patient(backoff.ProportionalJitter)},
		{name: proportional, note: "15 min", policy: exponential()},
		{name: fullJitter, policy: patient(backoff.FullJitter)},
		{name: equalJitter, policy: patient(backoff.EqualJitter)},
		{name: decorrelated, policy: patient(backoff.DecorrelatedJitter)},
		{name: additive, policy: patient(backoff.AdditiveJitter)},
		{name: fullBudget, policy: patient(backoff.FullJitter), budget: &backoff.Budget{}},
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
// second's requests. It reports false if it still does when the last operations begin.
func (o *outage) recovery() (int, bool) {
	for i := len(o.failed) - 1; i >= backSecond; i-- {
		if o.failed[i]*100 > o.requests[i] {
			return i + 1 - backSecond, i+1 < int(closing/time.Second)
		}
	}
	return 0, true
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
		second := c.clock.second()
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

// runOutage returns, for each number of clients, a result for each strategy. All of them get the same
// operations.
func runOutage(clients []int, seed uint64, p *progress) [][]*outage {
	strategies := outageStrategies()
	all := make([][]*outage, len(clients))
	for i := range all {
		all[i] = make([]*outage, len(strategies))
	}
	parallel(len(clients)*len(strategies), p, func(i int) {
		n, s := i/len(strategies), i%len(strategies)
		c, o := newOutage(clients[n], strategies[s], seed)
		c.run()
		all[n][s] = o
	})
	return all
}

func writeOutage(w io.Writer, all [][]*outage) {
	for _, results := range all {
		first := results[0]
		fmt.Fprintf(w, "Outage: 60 s, under %g requests/s from %d clients, %d operations in all\n\n",
			first.load(), first.clients, first.operations)
		table := [][]string{
			{"", "requests/s", "over", "worst", "recovered", "", ""},
			{"", "while down", "steady", "second", "after", "lost", "lost"},
		}
		for _, o := range results {
			table = append(table, []string{o.label(), fmt.Sprintf("%.0f", o.mean()), fmt.Sprintf("%.1f×", o.mean()/o.load()),
				strconv.Itoa(o.peak()), verdict(o.recovery()), strconv.Itoa(o.lost), fmt.Sprintf("%.1f %%", o.lostShare())})
		}
		writeTable(w, table)
	}
}
