package main

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// crowd simulates the clients of a service. Each operation is a loop of the library in a coroutine, so
// that what the loops do with errors, budgets and waits is what they really do. It sends a request,
// learns how it ended, and either ends itself or waits and sends it again.
type crowd struct {
	simulation
	strategy
	history
	random    *rand.Rand
	processes []decorator
	last      time.Duration // no operation goes on for longer
	free      []*operation  // have ended, and wait for the next one

	// serve is called for each request, and returns the time until its client learns the outcome.
	serve func(*operation) (time.Duration, error)
}

// operation is an operation and its coroutine, which other operations use after it.
type operation struct {
	// resume lets the loop go on until it waits, for the time that it returns, or has an attempt to
	// make or has ended, for which it returns attempt and ended.
	resume func() (time.Duration, bool)
	stop   func() // ends the loop as it stands
	wake   func() // is called by its events

	policy backoff.BackOff
	err    error // of the last attempt, then of the loop
	begun  time.Duration
	event  int    // the number of its next event; others are void
	then   func() // called at the end, if it is set
}

const (
	attempt time.Duration = -1
	ended   time.Duration = -2
)

// errUnended is the outcome of an attempt that the simulation's end has cut off.
var errUnended = errors.New("not ended")

func newCrowd(s strategy, processes int, seed uint64) *crowd {
	c := &crowd{strategy: s, random: rand.New(rand.NewPCG(seed, 1)), processes: make([]decorator, processes)}
	for process := range c.processes {
		c.restart(process)
	}
	return c
}

// restart lets a process start anew. Operations that it has begun go on.
func (c *crowd) restart(process int) {
	c.processes[process] = c.start(&c.clock, c.random)
}

// arrivals has f called at random times, rate times a second on average, until the end.
func (c *crowd) arrivals(random *rand.Rand, rate float64, end time.Duration, f func()) {
	var at time.Duration
	var arrive func()
	following := func() {
		at += time.Duration(random.ExpFloat64() / rate * float64(time.Second))
		if at < end {
			c.schedule(at, arrive)
		}
	}
	arrive = func() {
		f()
		following()
	}
	following()
}

// wrapped returns a policy for an operation of a process.
func (c *crowd) wrapped(process int) backoff.BackOff {
	return c.processes[process](c.policy(&c.clock, c.random))
}

// begin starts an operation now, in a process. It calls then, if that is not nil, at its end.
func (c *crowd) begin(process int, then func()) {
	c.begun.add(c.clock.second(), 1)
	if len(c.free) == 0 {
		c.free = append(c.free, c.newOperation())
	}
	last := len(c.free) - 1
	op := c.free[last]
	c.free = c.free[:last]
	op.policy, op.begun, op.then = c.wrapped(process), c.clock.now, then
	c.resume(op)
}

func (c *crowd) newOperation() *operation {
	op := &operation{}
	op.wake = func() {
		switch {
		case op.event != c.current:
		case c.clock.now > c.last:
			op.stop()
			c.end(op)
		default:
			c.resume(op)
		}
	}
	op.resume, op.stop = iter.Pull(func(yield func(time.Duration) bool) {
		timer := &simTimer{yield: yield}
		send := func() error {
			if !sends(op.policy) {
				return backoff.Permanent(errRefused) // by the client itself
			}
			if !yield(attempt) {
				return backoff.Permanent(errUnended)
			}
			return op.err
		}
		for more := true; more; more = yield(ended) {
			op.err = backoff.RetryNotifyWithTimer(send, op.policy, nil, timer)
		}
	})
	return op
}

// sends reports whether the rule of a policy, if it has one, lets an attempt be made.
func sends(policy backoff.BackOff) bool {
	r, ok := policy.(*ruleBackOff)
	return !ok || r.send == nil || r.send(&r.tries)
}

// succeed makes an operation of a process that succeeds immediately, and is not counted.
func (c *crowd) succeed(process int) {
	if policy := c.wrapped(process); sends(policy) {
		_ = backoff.Retry(func() error { return nil }, policy)
	}
}

// simTimer is a timer that fires when the loop is resumed. If that is stopped instead, the timer has no
// channel, which ends the loop.
type simTimer struct {
	yield func(time.Duration) bool
	c     <-chan time.Time
}

func (t *simTimer) Start(wait time.Duration) {
	t.c = nil
	if t.yield(wait) {
		t.c = fired
	}
}

func (t *simTimer) Stop() {}

func (t *simTimer) C() <-chan time.Time { return t.c }

var fired = func() chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// resume lets the loop of op go on.
func (c *crowd) resume(op *operation) {
	wait, _ := op.resume()
	switch wait {
	case ended:
		c.end(op)
		c.free = append(c.free, op)
		return
	case attempt:
		c.requests.add(c.clock.second(), 1)
		wait, op.err = c.serve(op)
	}
	c.push(c.clock.now+wait, op)
}

// push sets the next event of op.
func (c *crowd) push(at time.Duration, op *operation) { op.event = c.schedule(at, op.wake) }

func (c *crowd) end(op *operation) {
	if op.err == nil {
		c.good.add(c.clock.second(), 1)
	} else {
		c.lost++
	}
	c.slowest = max(c.slowest, min(c.clock.now, c.last)-op.begun)
	if op.then != nil {
		op.then()
	}
}

// runUntil runs the simulation. Operations that have not ended by the end are lost.
func (c *crowd) runUntil(end time.Duration) {
	c.last = end
	c.run()
	for _, op := range c.free {
		op.stop()
	}
}

// history counts what happens in each second.
type history struct {
	begun    counts // operations that begin
	good     counts // operations that succeed
	requests counts // that reach the service
	lost     int    // operations, in all
	slowest  time.Duration
	usual    float64 // successes a second in good times, if operations begin only as others end
}

// goodput returns the operations that succeed in the seconds from first to before end, as a share of
// those that begin in them.
func (h *history) goodput(first, end int) float64 {
	wanted := float64(h.begun.sum(first, end))
	if h.usual > 0 {
		wanted = h.usual * float64(end-first)
	}
	if wanted == 0 {
		return 1
	}
	return float64(h.good.sum(first, end)) / wanted
}

// recovery returns how many seconds after back the goodput, averaged over window seconds, is there for
// good at 90 % or more, until closing, when the last operations begin. It is infinite if it never is.
func (h *history) recovery(back, closing time.Duration, window int) float64 {
	first, last := int(back/time.Second), int(closing/time.Second)
	for second := last - window; second >= first; second-- {
		if h.goodput(second, second+window) >= 0.9 {
			continue
		}
		if second == last-window {
			return math.Inf(1)
		}
		return float64(second + 1 - first)
	}
	return 0
}

// each returns the requests for each operation.
func (h *history) each() float64 {
	return float64(h.requests.total()) / float64(max(1, h.begun.total()))
}

// lostShare returns the lost operations in per cent of all.
func (h *history) lostShare() float64 {
	return float64(h.lost) * 100 / float64(max(1, h.begun.total()))
}

// counts is a number of events for each stretch of time, all of the same length.
type counts []int

// add counts n events in stretch i.
func (c *counts) add(i, n int) {
	for len(*c) <= i {
		*c = append(*c, 0)
	}
	(*c)[i] += n
}

// sum returns the events of the stretches from first to before end.
func (c counts) sum(first, end int) (total int) {
	for i := first; i < min(end, len(c)); i++ {
		total += c[i]
	}
	return total
}

// total returns all events.
func (c counts) total() int { return c.sum(0, len(c)) }
