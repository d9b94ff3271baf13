package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is what a crowd and its service go through.
type plan struct {
	seed      uint64
	processes int
	rate      float64       // of requests that the service can do, per second
	load      float64       // of first attempts, as a share of it
	queue     time.Duration // the longest wait in it, or fifo, lifo or noQueue
	refusal   float64       // what it costs, over an answer
	wait      time.Duration // what it asks for
	beside    float64       // requests per second of each process to another service, which succeed, in its budget

	from     time.Duration // when the service goes down
	duration time.Duration // for how long
	after    time.Duration // and for how long operations begin after it
	failing  float64       // rate at which attempts fail from then on
	window   int           // of seconds over which the goodput is averaged
	restart  time.Duration // after which each process starts anew, if it is set

	atOnce  int  // operations that begin at the moment at which the service goes down
	workers int  // begin the operations instead, each a second after its last one has ended
	fresh   bool // each operation has a process of its own
}

// back returns when the service is back, closing when the last operations begin.
func (p plan) back() time.Duration    { return p.from + p.duration }
func (p plan) closing() time.Duration { return p.back() + p.after }

// demand returns the first attempts in a second.
func (p plan) demand() float64 { return p.load * p.rate }

// outcome is what a strategy comes to.
type outcome struct {
	strategy
	plan
	*history
}

// play has a crowd go through a plan. With the same plan, all strategies get the same operations, but
// those of workers.
func play(s strategy, p plan) *outcome {
	c := newCrowd(s, p.processes, p.seed)
	o := &outcome{s, p, &c.history}
	c.serve = o.service(c)
	arrivals := rand.New(rand.NewPCG(p.seed, 0))
	switch {
	case p.workers > 0:
		c.history.usual = p.demand()
		for worker := range p.workers {
			var again func()
			again = func() {
				if c.clock.now < p.closing() {
					c.begin(worker%p.processes, func() { c.schedule(c.clock.now+workerPause, again) })
				}
			}
			c.schedule(time.Duration(arrivals.Int64N(int64(workerPause+answerTime))), again)
		}
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
	if p.beside > 0 {
		others := rand.New(rand.NewPCG(p.seed, 2))
		c.arrivals(others, p.beside*float64(p.processes), p.closing(), func() { c.succeed(others.IntN(p.processes)) })
	}
	if p.restart > 0 { // one process after the other
		next := 0
		for at := time.Duration(0); at < p.closing(); at += p.restart / time.Duration(p.processes) {
			c.schedule(at, func() {
				c.restart(next)
				next = (next + 1) % p.processes
			})
		}
	}
	c.runUntil(p.closing() + min(p.after, 30*time.Minute))
	return o
}

// recovered returns when the service recovers, in seconds after it is back, or when all operations have
// succeeded that began at once.
func (o *outcome) recovered() float64 {
	switch {
	case o.load > 0:
		return o.recovery(o.back(), o.closing(), o.window)
	case o.lost > 0:
		return math.Inf(1)
	}
	return (o.slowest - o.duration).Seconds()
}

// last returns the goodput of the last minute.
func (o *outcome) last() float64 {
	end := int(o.closing() / time.Second)
	return o.goodput(end-60, end)
}

// down returns the requests of the time without the service.
func (o *outcome) down() float64 {
	return float64(o.requests.sum(int(o.from/time.Second), int(o.back()/time.Second)))
}

// mean returns the requests per second of that time, over the usual ones.
func (o *outcome) mean() float64 { return o.down() / o.duration.Seconds() / o.demand() }

// worst returns the most requests in a second, from a time to before another.
func (o *outcome) worst(from, to time.Duration) int {
	first, end := int(from/time.Second), min(int(to/time.Second), len(o.requests))
	return slices.Max(append(o.requests[min(first, end):end:end], 0))
}

// trial is a strategy and a plan, with its outcomes by seed.
type trial struct {
	strategy
	plan
	outcomes []*outcome
}

// try simulates each strategy in each plan with each seed. It returns all strategies in the first plan,
// then all in the next one.
func (c config) try(strategies []strategy, plans ...plan) []trial {
	all := make([]trial, len(plans)*len(strategies))
	for i := range all {
		all[i] = trial{strategies[i%len(strategies)], plans[i/len(strategies)], make([]*outcome, c.seeds)}
	}
	parallel(len(all)*c.seeds, func(i int) {
		t, k := all[i/c.seeds], i%c.seeds
		t.plan.seed += uint64(k)
		t.outcomes[k] = play(t.strategy, t.plan)
	})
	return all
}

// span returns a figure of the outcomes, or its range over the seeds, with a unit.
func (t trial) span(figure func(*outcome) float64, show func(float64) string, unit string) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, o := range t.outcomes {
		least, most = min(least, figure(o)), max(most, figure(o))
	}
	text := show(least)
	if show(most) != text {
		text += "–" + show(most)
	}
	if strings.HasSuffix(text, never) {
		return text
	}
	return text + unit
}

const never = "never"

func seconds(s float64) string {
	if math.IsInf(s, 1) {
		return never
	}
	return fmt.Sprintf("%.0f", s)
}

// decimals returns what shows a number with so many decimals.
func decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
}

func (t trial) recovered() string { return t.span((*outcome).recovered, seconds, " s") }

func (t trial) lost() string {
	return t.span(func(o *outcome) float64 { return o.lostShare() }, decimals(1), " %")
}

func (t trial) each() string {
	return t.span(func(o *outcome) float64 { return o.each() }, decimals(2), "")
}

func (t trial) slowest() string {
	return t.span(func(o *outcome) float64 { return o.history.slowest.Seconds() }, func(s float64) string {
		return time.Duration(math.Round(s) * float64(time.Second)).String()
	}, "")
}
