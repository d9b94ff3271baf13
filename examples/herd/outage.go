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
	workerPause  = time.Second       // between those of a worker
	deviation    = 0.2               // the deviation of an answer's time, as a share of it
	oneInNotices = 10                // one client in so many begins an operation when the service goes down

	down       = 30 * time.Second
	downSecond = int(down / time.Second)
)

// outageSetting is what can vary in an outage.
type outageSetting struct {
	clients, perProcess int
	closed              bool          // workers instead of clients
	load                float64       // as a share of the capacity
	duration, after     time.Duration // of the outage, and of the time after it in which operations begin
	answer              time.Duration
	interval, most      time.Duration // InitialInterval and MaxInterval
}

func outageStrategies(s outageSetting) []strategy {
	like := func(opts ...backoff.ExponentialBackOffOpts) policyFunc {
		return exponential(append([]backoff.ExponentialBackOffOpts{
			backoff.WithInitialInterval(s.interval), backoff.WithMaxInterval(s.most)}, opts...)...)
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
	outageSetting
	*history
}

// rate returns the steady load, in requests per second.
func (o *outage) rate() float64 {
	if o.closed {
		return float64(o.clients) / (workerPause + o.answer).Seconds()
	}
	return float64(o.clients) / perClient.Seconds()
}

func (o *outage) back() time.Duration    { return down + o.duration }
func (o *outage) closing() time.Duration { return o.back() + o.after }

// mean returns the requests per second of the time without the service, over the steady load.
func (o *outage) mean() float64 {
	back := int(o.back() / time.Second)
	return float64(o.requests.sum(downSecond, back)) / float64(back-downSecond) / o.rate()
}

// peak returns the most requests in a second of that time, over the steady load.
func (o *outage) peak() float64 {
	most := 0
	for second := downSecond; second < int(o.back()/time.Second); second++ {
		most = max(most, o.requests.at(second))
	}
	return float64(most) / o.rate()
}

func (o *outage) recovered() (int, bool) { return o.recovery(o.back(), o.closing(), 20) }

var errDown = errors.New("down")

// newOutage returns a simulation that is ready to run, and the result that it fills in.
func newOutage(s strategy, set outageSetting, seed uint64) (*crowd, *outage) {
	c := newCrowd(s, (set.clients+set.perProcess-1)/set.perProcess, seed)
	o := &outage{strategy: s, outageSetting: set, history: &c.history}
	arrivals := rand.New(rand.NewPCG(seed, 0)) // the same for all strategies
	service := newLimiter(o.rate() / set.load)
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
		for client := range set.clients {
			var again func()
			again = func() {
				if c.clock.now < o.closing() {
					c.begin(client/set.perProcess, func() { c.schedule(c.clock.now+workerPause, again) })
				}
			}
			c.schedule(time.Duration(arrivals.Int64N(int64(workerPause))), again)
		}
		return c, o
	}
	begin := func(client int) { c.begin(client/set.perProcess, nil) }
	c.arrivals(arrivals, o.rate(), o.closing(), func() { begin(arrivals.IntN(set.clients)) })
	c.schedule(down, func() {
		for client := 0; client < set.clients; client += oneInNotices {
			begin(client)
		}
	})
	return c, o
}

// runOutage returns a result for each strategy. All of them get the same operations, unless closed.
func runOutage(c config) []*outage {
	strategies := outageStrategies(c.outage)
	all := make([]*outage, len(strategies))
	parallel(len(strategies), func(i int) {
		crowd, o := newOutage(strategies[i], c.outage, c.seed)
		crowd.run(o.closing() + o.after)
		all[i] = o
	})
	return all
}

func writeOutage(w io.Writer, all []*outage) {
	first := all[0]
	fmt.Fprintf(w, "Outage: %v at %.4g %% load (%.4g requests/s from %d clients, %d to a process), and %v after it\n\n",
		first.duration, first.load*100, first.rate(), first.clients, first.perProcess, first.after)
	table := [][]string{
		{"", "requests", "worst", "recovered", "", "slowest"},
		{"", "while down", "second", "after", "lost", "operation"},
	}
	for _, o := range all {
		table = append(table, []string{o.label(), fmt.Sprintf("%.1f×", o.mean()), fmt.Sprintf("%.1f×", o.peak()),
			verdict(o.recovered()), fmt.Sprintf("%.1f %%", o.lostShare()), o.slowest.Round(time.Second).String()})
	}
	writeTable(w, table)
}
