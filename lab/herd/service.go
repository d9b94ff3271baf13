package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The parameters of every service. The package comment says where they come from.
const (
	answerTime    = 100 * time.Millisecond // besides the queue
	answerTimeout = time.Second
	smoothing     = 100 * time.Millisecond
	minBurst      = 10 // requests that a service without a queue evens out, however low its capacity
)

// What a queue may be, besides a limit of time.
const (
	fifo time.Duration = -1 - iota
	lifo
	noQueue
)

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
	errTimeout = errors.New("timeout")
	errFailed  = errors.New("failed")
)

// service returns the service of a trial, as a crowd wants it.
func (o *outcome) service(c *crowd) func(*operation) (time.Duration, error) {
	work := func() time.Duration { return time.Duration(c.random.ExpFloat64() / o.rate * float64(time.Second)) }
	switch o.queue {
	case noQueue:
		return o.refuses(c)
	case lifo:
		return o.newestFirst(c, work)
	}
	return o.oldestFirst(c, work)
}

// described says what the service does.
func (p plan) described() string {
	switch p.queue {
	case noQueue:
		return fmt.Sprintf("The service refuses what it cannot do; a refusal takes %g of the work of an answer.", p.refusal)
	case lifo:
		return "The service takes the newest request first."
	case fifo:
		return "The service works through its queue in order, abandoned requests included."
	}
	return fmt.Sprintf("The service refuses what would wait for more than %v; a refusal takes %g of the work of an answer.", p.queue, p.refusal)
}

// answer returns what an answered request comes to.
func (o *outcome) answer(c *crowd) error {
	if o.failing > 0 && c.clock.now >= o.from && c.random.Float64() < o.failing {
		return errFailed
	}
	return nil
}

// done returns when the service has done work that it begins now or after it was down.
func (o *outcome) done(now, work time.Duration) time.Duration {
	if now >= o.from && now < o.back() {
		now = o.back()
	}
	if now < o.from && now+work > o.from {
		work += o.duration
	}
	return now + work
}

// oldestFirst is a service that works through its queue in order, whether or not the client still
// waits. So it is known at once when it will have done a request.
func (o *outcome) oldestFirst(c *crowd, work func() time.Duration) func(*operation) (time.Duration, error) {
	var idle time.Duration // when all that is in the queue is done
	return func(*operation) (time.Duration, error) {
		if o.queue > 0 && idle-c.clock.now > o.queue {
			idle += time.Duration(o.refusal * float64(work()))
			return answerTime, errRefused
		}
		idle = o.done(max(idle, c.clock.now), work())
		if took := idle + answerTime - c.clock.now; took <= answerTimeout {
			return took, o.answer(c)
		}
		return answerTimeout, errTimeout
	}
}

// newestFirst is a service that takes what has come last.
func (o *outcome) newestFirst(c *crowd, work func() time.Duration) func(*operation) (time.Duration, error) {
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
		c.schedule(o.done(c.clock.now, r.work), func() {
			if answered := c.clock.now + answerTime; answered < r.at+answerTimeout {
				r.op.err = o.answer(c)
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

// refuses is a service without a queue.
func (o *outcome) refuses(c *crowd) func(*operation) (time.Duration, error) {
	refused := errRefused
	if o.wait > 0 {
		refused = backoff.RetryAfter(errRefused, o.wait)
	}
	burst := max(minBurst, o.rate*smoothing.Seconds())
	spare, last := burst, time.Duration(0) // spare is below zero after many refusals
	return func(*operation) (time.Duration, error) {
		spare = min(burst, spare+o.rate*(c.clock.now-last).Seconds())
		last = c.clock.now
		took := normal(c.random, answerTime, answerTime/5)
		switch {
		case c.clock.now >= o.from && c.clock.now < o.back():
			return took, errDown
		case spare < 1:
			spare = max(-burst, spare-o.refusal)
			return took, refused
		}
		spare--
		return took, o.answer(c)
	}
}

// normal returns a normally distributed time, made positive.
func normal(random *rand.Rand, mean, deviation time.Duration) time.Duration {
	return time.Duration(random.NormFloat64()*float64(deviation) + float64(mean)).Abs()
}
