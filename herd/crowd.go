package main

import (
	"errors"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"example.com/backoff"
)

// crowd simulates the clients of a service. Each operation is a loop of the library in a coroutine of
// its own, so that what the loops do with errors, budgets and waits is what they really do. It sends a
// request, learns how it ended, and either ends itself or waits and sends it again.
type crowd struct {
	simulation
	strategy
	history
	random    *rand.Rand
	processes []decorator
	last      time.Duration // no operation goes on for longer

	// serve is called for each request, and returns the time until its client learns the outcome.
	serve func(*operation) (time.Duration, error)
}

// operation is an operation that waits for its next event.
type operation struct {
	// resume lets the loop go on until it waits, for the time that it returns, or has an attempt to
	// make, for which it returns attempt. It reports false once the loop has ended.
	resume func() (time.Duration, bool)
	stop   func() // ends the loop as it stands
	err    error  // of the last attempt, then of the loop
	begun  time.Duration
	due    time.Duration // its next event; others are void
	ended  func()        // called at the end, if it is set
}

const attempt time.Duration = -1

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
	if c.process == nil {
		c.processes[process] = func(b backoff.BackOff) backoff.BackOff { return b }
	} else {
		c.processes[process] = c.process(&c.clock, c.random)
	}
}

// push sets the next event of op.
func (c *crowd) push(at time.Duration, op *operation) {
	op.due = at
	c.schedule(at, func() {
		switch {
		case at != op.due:
		case at > c.last:
			op.stop()
			c.end(op)
		default:
			c.resume(op)
		}
	})
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

// begin starts an operation now, in a process. It calls ended, if that is not nil, at its end.
func (c *crowd) begin(process int, ended func()) {
	c.begun.add(c.clock.second(), 1)
	policy := c.processes[process](c.policy(&c.clock, c.random))
	op := &operation{begun: c.clock.now, ended: ended}
	op.resume, op.stop = iter.Pull(func(yield func(time.Duration) bool) {
		op.err = backoff.RetryNotifyWithTimer(func() error {
			if r, ok := policy.(*ruleBackOff); ok && !r.rule.send(r.retrying) {
				return backoff.Permanent(errRefused) // by the client itself
			}
			if !yield(attempt) {
				return backoff.Permanent(errUnended)
			}
			return op.err
		}, policy, nil, &simTimer{yield: yield})
	})
	c.resume(op)
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
	wait, ok := op.resume()
	if !ok {
		c.end(op)
		return
	}
	if wait == attempt {
		c.requests.add(c.clock.second(), 1)
		wait, op.err = c.serve(op)
	}
	c.push(c.clock.now+wait, op)
}

func (c *crowd) end(op *operation) {
	if op.err == nil {
		c.good.add(c.clock.second(), 1)
	} else {
		c.lost++
	}
	c.slowest = max(c.slowest, min(c.clock.now, c.last)-op.begun)
	if op.ended != nil {
		op.ended()
	}
}

// runUntil runs the simulation. Operations that have not ended by the end are lost.
func (c *crowd) runUntil(end time.Duration) {
	c.last = end
	c.run()
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
// good at 90 % or more, until closing, when the last operations begin. It reports false if it never is.
func (h *history) recovery(back, closing time.Duration, window int) (int, bool) {
	first, last := int(back/time.Second), int(closing/time.Second)
	for second := last - window; second >= first; second-- {
		if h.goodput(second, second+window) < 0.9 {
			return second + 1 - first, second < last-window
		}
	}
	return 0, true
}

// each returns the requests for each operation.
func (h *history) each() float64 {
	return float64(h.requests.total()) / float64(max(1, h.begun.total()))
}

// lostShare returns the lost operations in per cent of all.
func (h *history) lostShare() float64 {
	return float64(h.lost) * 100 / float64(max(1, h.begun.total()))
}

// normal returns a normally distributed time, made positive.
func normal(random *rand.Rand, mean, deviation time.Duration) time.Duration {
	return time.Duration(random.NormFloat64()*float64(deviation) + float64(mean)).Abs()
}

// limiter is a service of limited capacity. It evens out peaks, turns away what exceeds them, and
// pays for that with a part of its capacity.
type limiter struct {
	capacity float64 // per second
	burst    float64 // the most requests that it evens out
	spare    float64 // of burst; below zero after many refusals
	last     time.Duration
}

// The parameters of every limiter.
const (
	smoothing   = 100 * time.Millisecond
	minBurst    = 10  // requests that it evens out, however low its capacity
	refusalCost = 0.1 // of turning a request away, over that of an answer
)

var errRefused = errors.New("refused")

func newLimiter(capacity float64) *limiter {
	burst := max(minBurst, capacity*smoothing.Seconds())
	return &limiter{capacity: capacity, burst: burst, spare: burst}
}

// accepts reports whether the service answers a request that comes now.
func (l *limiter) accepts(now time.Duration) bool {
	l.spare = min(l.burst, l.spare+l.capacity*(now-l.last).Seconds())
	l.last = now
	if l.spare >= 1 {
		l.spare--
		return true
	}
	l.spare = max(-l.burst, l.spare-refusalCost)
	return false
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

// verdict says when a service recovers, in seconds, or that it does not.
func verdict(after int, recovers bool) string {
	if !recovers {
		return "never"
	}
	return strconv.Itoa(after) + " s"
}
