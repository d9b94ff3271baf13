package main

import (
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
	answerLatency = 100 * time.Millisecond
	answerTimeout = time.Second
	blipProcesses = 10
	retries       = 3

	blipStart = 30 * time.Second
	blipAfter = 5 * time.Minute // no operation begins later
)

// setting is what can vary in a blip.
type setting struct {
	processes int
	load      float64       // of first attempts, as a share of the capacity
	stall     time.Duration // without capacity
	answer    time.Duration // besides the queue
	restart   time.Duration // after which a process starts anew, or 0
	retries   int
	bound     time.Duration // of the queue; 0 for none, or newestFirst
}

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

// blip is what one strategy comes to in one setting.
type blip struct {
	strategy
	setting
	*history
}

var errTimeout = errors.New("timeout")

// runBlip returns a result for each load and each strategy.
func runBlip(c config) []*blip {
	strategies := blipStrategies(c.blip.retries)
	results := make([]*blip, len(c.loads)*len(strategies))
	parallel(len(results), func(i int) {
		s := c.blip
		s.load = c.loads[i/len(strategies)]
		results[i] = simulateBlip(strategies[i%len(strategies)], s, c.seed)
	})
	return results
}

func simulateBlip(s strategy, set setting, seed uint64) *blip {
	c := newCrowd(s, set.processes, seed)
	b := &blip{strategy: s, setting: set, history: &c.history}
	work := func() time.Duration { return time.Duration(c.random.ExpFloat64() / serviceRate * float64(time.Second)) }
	if set.bound == newestFirst {
		c.serve = b.newestFirst(c, work)
	} else {
		c.serve = b.oldestFirst(c, work)
	}
	arrivals := rand.New(rand.NewPCG(seed, 0)) // the same for all strategies
	c.arrivals(arrivals, set.load*serviceRate, b.closing(), func() { c.begin(arrivals.IntN(set.processes), nil) })
	if set.restart > 0 { // one process after the other
		next := 0
		for at := time.Duration(0); at < b.closing(); at += set.restart / time.Duration(set.processes) {
			c.schedule(at, func() {
				c.restart(next)
				next = (next + 1) % set.processes
			})
		}
	}
	c.run(b.closing() + blipAfter)
	return b
}

// back returns when the blip is over, closing when the last operations begin.
func (b *blip) back() time.Duration    { return blipStart + b.stall }
func (b *blip) closing() time.Duration { return b.back() + blipAfter }

// done returns when the service has done work that it begins now or after the blip.
func (b *blip) done(now, work time.Duration) time.Duration {
	if now >= blipStart && now < b.back() {
		now = b.back()
	}
	if now < blipStart && now+work > blipStart {
		work += b.stall
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

func writeBlip(w io.Writer, results []*blip, loads []float64) {
	fmt.Fprintf(w, "Blip: a service without capacity for %g s, by its load before: when it recovers, and the operations lost\n\n",
		results[0].stall.Seconds())
	above, below := []string{""}, []string{""}
	for _, load := range loads {
		above = append(above, "", fmt.Sprintf("%.4g %% load", load*100))
		below = append(below, "recovered", "lost")
	}
	rows := [][]string{above, below}
	strategies := len(results) / len(loads)
	for s := range strategies {
		row := []string{results[s].label()}
		for i := s; i < len(results); i += strategies {
			row = append(row, verdict(results[i].recovered()), fmt.Sprintf("%.1f %%", results[i].lostShare()))
		}
		rows = append(rows, row)
	}
	writeTable(w, rows)
}
