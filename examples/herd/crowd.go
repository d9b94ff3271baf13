package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// simClock is the simulated time, counted from an arbitrary moment.
type simClock struct{ now time.Duration }

func (c *simClock) Now() time.Time { return time.Unix(0, 0).Add(c.now) }

func (c *simClock) second() int { return int(c.now / time.Second) }

// crowd simulates the clients of a service. Each operation sends a request, learns how it ended, and
// either ends itself or waits and sends it again, as its policy says.
type crowd struct {
	strategy
	clock   simClock
	random  *rand.Rand
	budgets []*backoff.Budget // of the processes, if the strategy has a budget
	queue   events[*operation]

	// serve is called for each request, and returns the time until its client learns the outcome.
	serve func() (time.Duration, error)
	// ended is called once for each operation, with the error of its last attempt.
	ended func(error)
}

// operation is an operation that waits in the queue for its next event, or a function to call.
type operation struct {
	policy backoff.BackOff
	sent   bool   // whether its client learns err next, or sends a request
	err    error  // of the last attempt
	call   func() // to be called; if it is set, nothing else is
}

func newCrowd(s strategy, processes int, seed uint64) *crowd {
	c := &crowd{strategy: s, random: rand.New(rand.NewPCG(seed, 1)), queue: &wheel[*operation]{}}
	if s.budget != nil {
		for range processes {
			c.budgets = append(c.budgets, s.newBudget())
		}
	}
	return c
}

// schedule has f called at a time.
func (c *crowd) schedule(at time.Duration, f func()) { c.queue.push(at, &operation{call: f}) }

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

// begin starts an operation now, in a process.
func (c *crowd) begin(process int) {
	policy := c.policy(&c.clock, c.random)
	if c.budget != nil {
		policy = backoff.WithBudget(policy, c.budgets[process])
	}
	policy.Reset()
	c.send(&operation{policy: policy})
}

// send sends the request of op now.
func (c *crowd) send(op *operation) {
	took, err := c.serve()
	op.sent, op.err = true, err
	c.queue.push(c.clock.now+took, op)
}

// run goes from event to event until there is none left.
func (c *crowd) run() {
	for {
		at, op, ok := c.queue.pop()
		if !ok {
			return
		}
		c.clock.now = at
		switch {
		case op.call != nil:
			op.call()
		case !op.sent:
			c.send(op)
		default:
			if wait := next(op.policy, op.err); wait >= 0 {
				op.sent = false
				c.queue.push(at+wait, op)
			} else {
				c.ended(op.err)
			}
		}
	}
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

// add counts an event in stretch i.
func (c *counts) add(i int) {
	for len(*c) <= i {
		*c = append(*c, 0)
	}
	(*c)[i]++
}

// sum returns the events of the stretches from first to before end.
func (c counts) sum(first, end int) (total int) {
	for i := first; i < min(end, len(c)); i++ {
		total += c[i]
	}
	return total
}

// at returns the events of stretch i.
func (c counts) at(i int) int { return c.sum(i, i+1) }

// verdict says when a service recovers, in seconds, or that it does not.
func verdict(after int, recovers bool) string {
	if !recovers {
		return "never"
	}
	return fmt.Sprintf("%d s", after)
}
