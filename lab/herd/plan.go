package main

import (
	"math"
	"time"
)

// plan is what the calls of a program and the service that they go to go through.
type plan struct {
	seed      uint64
	processes int
	skew      float64       // factor by which the busiest process has more calls than the idlest
	move      time.Duration // after so long, each process has the traffic of the one before it, if it is set
	grow      int           // factor by which there are more processes from the trouble on
	restart   bool          // all processes are restarted in the middle of the trouble
	guess     float64       // factor by which those who guess the spare capacity take it for too large
	rate      float64       // of requests that the service can do, per second
	load      float64       // of first attempts, as a share of it
	servers   int           // requests that the service works on at once, with all its backends
	spread    string        // how their work is distributed
	order     string        // in which it takes them from the queue
	ahead     float64       // share of the calls that it serves before the others
	heeds     bool          // it drops the work of clients that have left
	line      int           // how many may wait in a queue before it refuses, if it is set
	balance   string        // how a process chooses among backends
	cached    float64       // share of the answers that need no work
	final     float64       // share of the answers that are final errors
	answer    time.Duration // the time of an answer besides the queue and the work

	trouble
	from  time.Duration // when it begins
	after time.Duration // for how long calls begin after it

	timeout    time.Duration // of attempts
	deadline   time.Duration // of calls, if it is set
	longs      float64       // share of the calls with a longer timeout, and a deadline that is longer by the same factor
	longer     time.Duration // that timeout
	neighbours float64       // requests per second of other programs to the service, which do not retry

	atOnce int           // calls that begin with the trouble
	within time.Duration // for how long they begin, at random times; at zero they begin at once
	fresh  bool          // each call has a process of its own
	closed int           // workers, each of which makes a call after the other; 0: calls begin at random times
}

// back returns when the service is back, closing when the last calls begin, last when all that goes on is cut off.
func (p plan) back() time.Duration    { return p.from + p.duration }
func (p plan) closing() time.Duration { return p.back() + p.after }
func (p plan) last() time.Duration    { return p.closing() + min(p.after, 30*time.Minute) }

// demand returns the calls that begin in a second.
func (p plan) demand() float64 { return p.load * p.rate / (1 - p.cached) }

// traffic returns the share of the calls that each of n processes has. From one to the next it grows by the same
// factor.
func (p plan) traffic(n int) []float64 {
	shares := make([]float64, n)
	sum := 0.0
	for i := range shares {
		shares[i] = math.Pow(p.skew, float64(i)/float64(max(1, n-1)))
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// pause returns how long a worker of a closed loop pauses between two calls, on average.
func (p plan) pause() float64 {
	return float64(p.closed)/p.demand() - float64(p.servers)/p.rate - p.answer.Seconds()
}

// isLong reports whether the attempts of a call have the longer timeout.
func (p plan) isLong(c *call) bool { return c.kind < p.longs }
