package main

import (
	"cmp"
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
	workerPause  = time.Second       // between those of a worker
	deviation    = 0.2               // the deviation of an answer's time, as a share of it
	oneInNotices = 10                // one client in so many begins an operation when the service goes down

	down = 30 * time.Second // when the service goes down, in the blip too
)

func outageStrategies(c config) []strategy {
	like := func(opts ...backoff.ExponentialBackOffOpts) policyFunc {
		return exponential(append([]backoff.ExponentialBackOffOpts{
			backoff.WithInitialInterval(cmp.Or(c.interval, backoff.DefaultInitialInterval)),
			backoff.WithMaxInterval(c.maxInterval)}, opts...)...)
	}
	return []strategy{
		{name: noRetries, policy: never},
		{name: proportional, policy: like()},
		{name: fullJitter, policy: like(backoff.WithJitter(backoff.FullJitter))},
		{name: first20, policy: like(backoff.WithInitialInterval(20 * time.Second))},
		{name: withBudget, policy: like(), process: budget(0, 0, backoff.WithBudget)},
		{name: withWait, policy: like(backoff.WithMaxElapsedTime(0)), process: budget(0, 0, backoff.WithBudgetWait)},
	}
}

// outage is what one strategy comes to.
type outage struct {
	strategy
	config
	clients int
	load    float64 // as a share of the capacity
	*history
}

type outages []*outage

// rate returns the steady load, in requests per second.
func (o *outage) rate() float64 {
	if o.closed {
		return float64(o.clients) / (workerPause + o.answer).Seconds()
	}
	return float64(o.clients) / perClient.Seconds()
}

// mean returns the requests per second of the time without the service, over the steady load.
func (o *outage) mean() float64 {
	return float64(o.requests.sum(int(down/time.Second), int(o.back()/time.Second))) / o.duration.Seconds() / o.rate()
}

// peak returns the most requests in a second of that time, over the steady load.
func (o *outage) peak() float64 {
	most := 0
	for second := int(down / time.Second); second < int(o.back()/time.Second); second++ {
		most = max(most, o.requests.sum(second, second+1))
	}
	return float64(most) / o.rate()
}

func (o *outage) recovered() (int, bool) { return o.recovery(o.back(), o.closing(), 20) }

var errDown = errors.New("down")

func simulateOutage(s strategy, set config) *outage {
	set.duration, set.after = cmp.Or(set.duration, time.Minute), cmp.Or(set.after, 30*time.Minute)
	clients := set.clients.or(2000)[0]
	c := newCrowd(s, (clients+set.perProcess-1)/set.perProcess, set.seed)
	o := &outage{s, set, clients, set.loads.or(0.8)[0], &c.history}
	arrivals := rand.New(rand.NewPCG(set.seed, 0)) // the same for all strategies
	service := newLimiter(o.rate() / o.load)
	c.serve = func(*operation) (time.Duration, error) {
		took := normal(c.random, set.answer, time.Duration(deviation*float64(set.answer)))
		switch {
		case c.clock.now >= down && c.clock.now < o.back():
			return took, errDown
		case !service.accepts(c.clock.now):
			return took, errRefused
		}
		return took, nil
	}
	if set.closed {
		c.usual = o.rate()
		for client := range clients {
			var again func()
			again = func() {
				if c.clock.now < o.closing() {
					c.begin(client/set.perProcess, func() { c.schedule(c.clock.now+workerPause, again) })
				}
			}
			c.schedule(time.Duration(arrivals.Int64N(int64(workerPause))), again)
		}
	} else {
		begin := func(client int) { c.begin(client/set.perProcess, nil) }
		c.arrivals(arrivals, o.rate(), o.closing(), func() { begin(arrivals.IntN(clients)) })
		c.schedule(down, func() {
			for client := 0; client < clients; client += oneInNotices {
				begin(client)
			}
		})
	}
	c.runUntil(o.closing() + o.after)
	return o
}

// runOutage returns a result for each strategy. All of them get the same operations, unless closed.
func runOutage(c config) outages {
	strategies := outageStrategies(c)
	all := make(outages, len(strategies))
	parallel(len(strategies), func(i int) { all[i] = simulateOutage(strategies[i], c) })
	return all
}

func (all outages) table(w io.Writer) {
	first := all[0]
	fmt.Fprintf(w, "Outage: %v at %.4g %% load (%.4g requests/s from %d clients, %d to a process), and %v after it\n\n",
		first.duration, first.load*100, first.rate(), first.clients, first.perProcess, first.after)
	head := [][]string{
		{"", "requests", "worst", "recovered", "", "slowest"},
		{"", "while down", "second", "after", "lost", "operation"},
	}
	writeStrategies(w, head, len(all), all, func(o *outage) []string {
		return []string{fmt.Sprintf("%.1f×", o.mean()), fmt.Sprintf("%.1f×", o.peak()),
			verdict(o.recovered()), fmt.Sprintf("%.1f %%", o.lostShare()), o.slowest.Round(time.Second).String()}
	})
}
