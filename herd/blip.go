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

// The parameters of the blip. The package comment says where they come from.
const (
	serviceRate   = 300.0 // requests per second that the service can work through
	answerTimeout = time.Second
	blipProcesses = 10
	blipAfter     = 5 * time.Minute // no operation begins later
)

const newestFirst time.Duration = -1

func blipStrategies(retries int) []strategy {
	full := jittered(retries, backoff.FullJitter)
	return []strategy{
		{name: noRetries, policy: never},
		{name: zeroBackOff, policy: limited(retries, immediate)},
		{name: noJitter, policy: jittered(retries, backoff.NoJitter)},
		{name: proportional, policy: jittered(retries, backoff.ProportionalJitter)},
		{name: fullJitter, policy: full},
		{name: equalJitter, policy: jittered(retries, backoff.EqualJitter)},
		{name: decorrelated, policy: jittered(retries, backoff.DecorrelatedJitter)},
		{name: additive, policy: jittered(retries, backoff.AdditiveJitter)},
		{name: fixed500, policy: full, process: budget(500, 0, backoff.WithBudget)},
		{name: withBudget, policy: full, process: budget(0, 0, backoff.WithBudget)},
		{name: withWait, policy: exponential(backoff.WithMaxElapsedTime(0)), process: budget(0, 0, backoff.WithBudgetWait)},
	}
}

// blip is what one strategy comes to.
type blip struct {
	strategy
	config
	processes int
	load      float64 // of first attempts, as a share of the capacity
	*history
}

// blips are the results for each load, and for each strategy.
type blips []*blip

var errTimeout = errors.New("timeout")

func runBlip(c config) blips {
	strategies, loads, processes := blipStrategies(c.retries), c.blipLoads(), c.processes.or(blipProcesses)[0]
	all := make(blips, len(loads)*len(strategies))
	parallel(len(all), func(i int) {
		all[i] = simulateBlip(strategies[i%len(strategies)], c, processes, loads[i/len(strategies)])
	})
	return all
}

// blipLoads returns the loads of the blip and the fleet.
func (c *config) blipLoads() []float64 { return c.loads.or(0.7, 0.8, 0.9) }

func simulateBlip(s strategy, set config, processes int, load float64) *blip {
	c := newCrowd(s, processes, set.seed)
	set.duration, set.after = cmp.Or(set.duration, 10*time.Second), cmp.Or(set.after, blipAfter)
	b := &blip{s, set, processes, load, &c.history}
	work := func() time.Duration { return time.Duration(c.random.ExpFloat64() / serviceRate * float64(time.Second)) }
	if set.bound == newestFirst {
		c.serve = b.newestFirst(c, work)
	} else {
		c.serve = b.oldestFirst(c, work)
	}
	arrivals := rand.New(rand.NewPCG(set.seed, 0)) // the same for all strategies
	c.arrivals(arrivals, load*serviceRate, b.closing(), func() { c.begin(arrivals.IntN(processes), nil) })
	if set.restart > 0 { // one process after the other
		next := 0
		for at := time.Duration(0); at < b.closing(); at += set.restart / time.Duration(processes) {
			c.schedule(at, func() {
				c.restart(next)
				next = (next + 1) % processes
			})
		}
	}
	c.runUntil(b.closing() + b.after)
	return b
}

// done returns when the service has done work that it begins now or after the blip.
func (b *blip) done(now, work time.Duration) time.Duration {
	if now >= down && now < b.back() {
		now = b.back()
	}
	if now < down && now+work > down {
		work += b.duration
	}
	return now + work
}

// oldestFirst is a service that works through its queue in order, whether or not the client still
// waits. So it is known at once when it will have done a request. What would be in a queue with a bound
// for longer than that is refused, which is a tenth of the work.
func (b *blip) oldestFirst(c *crowd, work func() time.Duration) func(*operation) (time.Duration, error) {
	var idle time.Duration // when all that is in the queue is done
	return func(*operation) (time.Duration, error) {
		if b.bound > 0 && idle-c.clock.now > b.bound {
			idle += time.Duration(refusalCost * float64(work()))
			return b.answer, errRefused
		}
		idle = b.done(max(idle, c.clock.now), work())
		if took := idle + b.answer - c.clock.now; took <= answerTimeout {
			return took, nil
		}
		return answerTimeout, errTimeout
	}
}

// newestFirst is a service that takes what has come last.
func (b *blip) newestFirst(c *crowd, work func() time.Duration) func(*operation) (time.Duration, error) {
	type request struct {
		op       *operation
		at, work time.Duration
	}
	var waiting []request
	busy := false
	var next func()
	next = func() {
		busy = len(waiting) > 0
		if !busy {
			return
		}
		r := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		c.schedule(b.done(c.clock.now, r.work), func() {
			if answered := c.clock.now + b.answer; answered < r.at+answerTimeout {
				r.op.err = nil
				c.push(answered, r.op)
			}
			next()
		})
	}
	return func(op *operation) (time.Duration, error) {
		waiting = append(waiting, request{op, c.clock.now, work()})
		if !busy {
			next()
		}
		return answerTimeout, errTimeout // unless the answer comes before
	}
}

func (b *blip) recovered() (int, bool) { return b.recovery(b.back(), b.closing(), 5) }

// last returns the goodput of the last minute.
func (b *blip) last() float64 {
	end := int(b.closing() / time.Second)
	return b.goodput(end-60, end)
}

func (all blips) table(w io.Writer) {
	fmt.Fprintf(w, "Blip: a service without capacity for %g s, by its load before: when it recovers, and the operations lost\n\n",
		all[0].duration.Seconds())
	above, below := []string{""}, []string{""}
	strategies := len(blipStrategies(0))
	for i := 0; i < len(all); i += strategies {
		above = append(above, "", fmt.Sprintf("%.4g %% load", all[i].load*100))
		below = append(below, "recovered", "lost")
	}
	writeStrategies(w, [][]string{above, below}, strategies, all, (*blip).cells)
}

// cells returns when the service recovers, and what is lost.
func (b *blip) cells() []string {
	return []string{verdict(b.recovered()), fmt.Sprintf("%.1f %%", b.lostShare())}
}
