package main

import (
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// crowd simulates the clients of a service. Each operation is a loop of the library in a coroutine, so
// what the loops do with errors, budgets and waits is what they really do. A loop sends a request, learns
// how it ended, and either ends or waits and sends it again.
type crowd struct {
	simulation
	strategy
	plan
	history

	random *rand.Rand
	fleet  []*process
	last   time.Duration // no operation goes on for longer
	idle   []*operation  // have ended, and can be used again

	// serve is called for each request with the time after which its client gives up. It returns the time
	// until the client knows the outcome.
	serve func(timeout time.Duration) (time.Duration, error)
}

// process is one of the processes in which operations begin.
type process struct {
	decorate   decorator
	operations places // of those in progress, their waits included
	attempts   places // of those in flight
}

// operation is an operation and its coroutine, which other operations use after it.
type operation struct {
	// resume lets the loop go on until it waits, for the time that it returns, or has an attempt to
	// make or has ended, for which it returns attempt and ended.
	resume func() (time.Duration, bool)
	stop   func() // ends the loop as it stands
	wake   func() // is called by its events

	process  *process
	policy   backoff.BackOff
	err      error // of the last attempt, then of the loop
	arrived  time.Duration
	event    int  // the number of its next event; others are void
	inFlight bool // an attempt has a place
	poison   bool // no attempt succeeds
	then     func()
}

const (
	attempt time.Duration = -1
	ended   time.Duration = -2
)

var (
	errUnended = errors.New("not ended") // the simulation's end has cut off the attempt
	errNoPlace = errors.New("no place")  // the attempt has waited for a place for as long as its timeout
)

func newCrowd(s strategy, p plan) *crowd {
	c := &crowd{
		strategy: s,
		plan:     p,
		random:   rand.New(rand.NewPCG(p.seed, 1)),
		fleet:    make([]*process, p.processes),
	}
	for i := range c.fleet {
		c.fleet[i] = &process{operations: newPlaces(s.operations), attempts: newPlaces(s.attempts)}
		c.restart(i)
	}
	c.serve = c.service()
	return c
}

// restart lets a process start with a new budget. Operations that it has begun go on.
func (c *crowd) restart(process int) {
	c.fleet[process].decorate = c.start(&c.clock, c.random)
}

// arrivals has f called at random times, rate times a second on average, until the end.
func (c *crowd) arrivals(random *rand.Rand, rate float64, end time.Duration, f func()) {
	at := c.clock.now + time.Duration(random.ExpFloat64()/rate*float64(time.Second))
	if at >= end {
		return
	}
	c.schedule(at, func() {
		f()
		c.arrivals(random, rate, end, f)
	})
}

// wrapped returns a policy for an operation of a process.
func (c *crowd) wrapped(p *process) backoff.BackOff {
	return p.decorate(c.policy(&c.clock, c.random))
}

// begin lets an operation arrive now in a process, which starts it as soon as it has a place for it. It calls
// then, if that is not nil, at its end.
func (c *crowd) begin(process int, then func()) {
	p := c.fleet[process]
	arrived := c.clock.now
	poison := c.poison > 0 && c.random.Float64() < c.poison
	if !poison {
		c.begun.add(c.clock.second(), 1)
	}
	start := func() bool {
		if c.patience > 0 && c.clock.now > arrived+c.patience {
			return false
		}
		op := c.operation()
		op.process, op.policy, op.then = p, c.wrapped(p), then
		op.arrived, op.poison = arrived, poison
		c.proceed(op)
		return true
	}
	if p.operations.take() {
		start()
	} else {
		p.operations.wait(start)
	}
}

// operation returns an operation that is idle.
func (c *crowd) operation() *operation {
	last := len(c.idle) - 1
	if last < 0 {
		return c.newOperation()
	}
	op := c.idle[last]
	c.idle = c.idle[:last]
	return op
}

func (c *crowd) newOperation() *operation {
	op := &operation{}
	op.wake = func() {
		if op.event != c.current {
			return
		}
		op.event = 0
		if c.clock.now > c.last {
			op.stop()
			c.end(op)
			return
		}
		c.proceed(op)
	}
	op.resume, op.stop = iter.Pull(op.loops)
	return op
}

// loops runs one loop after the other.
func (op *operation) loops(yield func(time.Duration) bool) {
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
}

// sends reports whether a policy that decides about attempts themselves lets one be made.
func sends(policy backoff.BackOff) bool {
	p, ok := policy.(interface{ sends() bool })
	return !ok || p.sends()
}

// succeed makes an operation of a process that succeeds immediately, and is not counted.
func (c *crowd) succeed(process int) {
	policy := c.wrapped(c.fleet[process])
	if sends(policy) {
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

// proceed lets the loop of op go on.
func (c *crowd) proceed(op *operation) {
	if op.inFlight {
		op.inFlight = false
		op.process.attempts.release()
	}
	wait, _ := op.resume()
	switch wait {
	case ended:
		c.end(op)
		c.idle = append(c.idle, op)
	case attempt:
		c.attempt(op)
	default:
		c.wakeAt(c.clock.now+wait, op)
	}
}

// attempt sends a request as soon as there is a place for it. The attempt waits for that no longer than its
// timeout.
func (c *crowd) attempt(op *operation) {
	if op.process.attempts.take() {
		c.send(op, c.timeout)
		return
	}
	deadline := c.clock.now + c.timeout
	op.err = errNoPlace
	c.wakeAt(deadline, op)
	waiting := op.event
	op.process.attempts.wait(func() bool {
		if op.event != waiting {
			return false
		}
		timeout := c.timeout
		if c.oneTimeout {
			timeout = deadline - c.clock.now
		}
		c.send(op, timeout)
		return true
	})
}

// send sends a request.
func (c *crowd) send(op *operation, timeout time.Duration) {
	op.inFlight = true
	c.requests.add(c.clock.second(), 1)
	took, err := c.serve(timeout)
	if err == nil && op.poison {
		err = errFailed
	}
	op.err = err
	c.wakeAt(c.clock.now+took, op)
}

// wakeAt sets the next event of op.
func (c *crowd) wakeAt(at time.Duration, op *operation) { op.event = c.schedule(at, op.wake) }

// end counts an operation that has ended, and gives its place to the next one.
func (c *crowd) end(op *operation) {
	now := min(c.clock.now, c.last)
	if !op.poison {
		c.slowest = max(c.slowest, now-op.arrived)
		if op.err == nil {
			c.good.add(c.clock.second(), 1)
		}
	}
	if op.then != nil {
		op.then()
	}
	if c.clock.now <= c.last {
		op.process.operations.release()
	}
}

// neighbour sends a request of another program, which does not retry.
func (c *crowd) neighbour() {
	second := c.clock.second()
	c.others.add(second, 1)
	if _, err := c.serve(c.timeout); err != nil {
		c.othersLost.add(second, 1)
	}
}

// runUntil runs the simulation. Operations that have not ended by the end are lost.
func (c *crowd) runUntil(end time.Duration) {
	c.last = end
	c.run()
	for _, op := range c.idle {
		op.stop()
	}
}
