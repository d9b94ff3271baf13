package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// plan is what a crowd and its service go through.
type plan struct {
	seed      uint64
	processes int
	rate      float64       // of requests that the service can do, per second
	load      float64       // of first attempts, as a share of it
	queue     time.Duration // the longest wait in it, or fifo or noQueue
	refusal   float64       // what it costs, over an answer
	wait      time.Duration // what it asks for
	servers   int           // of the service, which share its capacity
	times     string        // how the work of requests is distributed

	trouble
	from   time.Duration // when it begins
	after  time.Duration // for how long operations begin after it
	window int           // of seconds over which the goodput is averaged

	timeout    time.Duration // of attempts
	oneTimeout bool          // it includes the wait for a place in a pool
	patience   time.Duration // for which an operation waits for its place, if it is set
	poison     float64       // share of operations that no attempt makes succeed
	neighbours float64       // requests per second of other programs to the service, which do not retry
	beside     float64       // requests per second of each process to another service, which succeed, in its budget

	atOnce  int  // operations that begin at the moment at which the trouble begins
	workers int  // begin the operations instead, each a second after its last one has ended
	fresh   bool // each operation has a process of its own
}

// back returns when the service is back, closing when the last operations begin.
func (p plan) back() time.Duration    { return p.from + p.duration }
func (p plan) closing() time.Duration { return p.back() + p.after }

// demand returns the first attempts in a second.
func (p plan) demand() float64 { return p.load * p.rate }

// perProcess returns the part of a process in a number for all of them: at least one.
func (p plan) perProcess(all int) int { return max(1, all/p.processes) }

// outcome is what a strategy comes to.
type outcome struct {
	strategy
	plan
	history
}

// play has a crowd go through a plan. With the same plan, all strategies get the same operations, but
// those of workers.
func play(s strategy, p plan) *outcome {
	c := newCrowd(s, p)
	arrivals := rand.New(rand.NewPCG(p.seed, 0))
	switch {
	case p.workers > 0:
		c.startWorkers(arrivals)
	case p.load > 0:
		c.arrivals(arrivals, p.demand(), p.closing(), func() {
			process := arrivals.IntN(p.processes)
			if p.fresh {
				c.restart(process)
			}
			c.begin(process, nil)
		})
	}
	c.schedule(p.from, func() {
		for i := range p.atOnce {
			c.begin(i%p.processes, nil)
		}
	})
	c.startOthers()
	c.runUntil(p.closing() + min(p.after, 30*time.Minute))
	return &outcome{s, p, c.history}
}

// startWorkers starts the workers, which begin operations until the plan closes.
func (c *crowd) startWorkers(random *rand.Rand) {
	c.usual = c.demand()
	for worker := range c.workers {
		var again func()
		again = func() {
			if c.clock.now >= c.closing() {
				return
			}
			c.begin(worker%c.processes, func() { c.schedule(c.clock.now+workerPause, again) })
		}
		c.schedule(time.Duration(random.Int64N(int64(workerPause+answerTime))), again)
	}
}

// startOthers starts the requests of other programs, and those to another service.
func (c *crowd) startOthers() {
	if c.neighbours > 0 {
		c.arrivals(rand.New(rand.NewPCG(c.seed, 3)), c.neighbours, c.closing(), c.neighbour)
	}
	if c.beside > 0 {
		random := rand.New(rand.NewPCG(c.seed, 2))
		rate := c.beside * float64(c.processes)
		c.arrivals(random, rate, c.closing(), func() { c.succeed(random.IntN(c.processes)) })
	}
}

// recovered returns when the service recovers, in seconds after it is back, or when all operations have
// succeeded that began at once.
func (o *outcome) recovered() float64 {
	switch {
	case o.load > 0:
		return o.recovery(o.back(), o.closing(), o.window)
	case o.lost() > 0:
		return math.Inf(1)
	}
	return (o.slowest - o.duration).Seconds()
}

// lastMinute returns the goodput of the last minute.
func (o *outcome) lastMinute() float64 {
	end := int(o.closing() / time.Second)
	return o.goodput(end-60, end)
}

// othersDuring and othersAfter return the requests of other programs that are lost during the trouble and
// after it, in per cent.
func (o *outcome) othersDuring() float64 { return o.othersShare(o.from, o.back()) }
func (o *outcome) othersAfter() float64  { return o.othersShare(o.back(), o.closing()) }

// worst returns the most requests in a second, from one second after the trouble began.
func (o *outcome) worst() float64 {
	first := min(int(o.from/time.Second)+1, len(o.requests))
	return float64(slices.Max(append(o.requests[first:], 0)))
}
