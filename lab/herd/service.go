package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/backoff"
)

// The parameters of every service.
const (
	answerTime     = 100 * time.Millisecond // besides the queue
	defaultTimeout = time.Second            // of attempts
	smoothing      = 100 * time.Millisecond
	minBurst       = 10  // requests that a service without a queue evens out, however low its capacity
	heavyTail      = 1.5 // the deviation of the logarithm of heavy-tailed work
)

// What a queue may be, besides a limit of time.
const (
	fifo time.Duration = -1 - iota
	noQueue
)

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
	errTimeout = errors.New("timeout")
	errFailed  = errors.New("failed")
)

// shares are the distributions of the work of a request, with a mean of 1.
var shares = map[string]func(*rand.Rand) float64{
	"constant":    func(*rand.Rand) float64 { return 1 },
	"exponential": func(random *rand.Rand) float64 { return random.ExpFloat64() },
	"heavy": func(random *rand.Rand) float64 {
		return math.Exp(heavyTail*random.NormFloat64() - heavyTail*heavyTail/2)
	},
}

// service returns the service of a crowd.
func (c *crowd) service() func(time.Duration) (time.Duration, error) {
	if c.queue == noQueue {
		return c.refuses()
	}
	return c.inOrder()
}

// described says what the service does.
func (p plan) described() string {
	switch p.queue {
	case noQueue:
		return fmt.Sprintf("The service refuses what it cannot do; a refusal takes %g of the work of an answer.", p.refusal)
	case fifo:
		return "The service works through its queue in order, abandoned requests included."
	}
	return fmt.Sprintf("The service refuses what would wait for more than %v; a refusal takes %g of the work of an answer.", p.queue, p.refusal)
}

// answer returns what an answered request comes to.
func (c *crowd) answer() error {
	if c.failing > 0 && c.clock.now >= c.from && c.random.Float64() < c.failing {
		return errFailed
	}
	return nil
}

// inOrder is a service that works through its queue in order, whether or not the client still waits. So it is
// known immediately when it will have done a request.
func (c *crowd) inOrder() func(time.Duration) (time.Duration, error) {
	share := shares[c.times]
	each := float64(time.Second) / c.rate * float64(c.servers)
	idle := make([]time.Duration, c.servers) // when each server is done with all that it has
	return func(timeout time.Duration) (time.Duration, error) {
		now := c.clock.now
		next := slices.Index(idle, slices.Min(idle))
		work := time.Duration(share(c.random) * each)
		if c.queue > 0 && idle[next]-now > c.queue {
			idle[next] += time.Duration(c.refusal * float64(work))
			return answerTime, errRefused
		}
		idle[next] = c.done(max(idle[next], now), work)
		took := idle[next] + answerTime - now
		if took > timeout {
			return timeout, errTimeout
		}
		return took, c.answer()
	}
}

// refuses is a service without a queue.
func (c *crowd) refuses() func(time.Duration) (time.Duration, error) {
	refused := errRefused
	if c.wait > 0 {
		refused = backoff.RetryAfter(errRefused, c.wait)
	}
	burst := max(minBurst, c.rate*smoothing.Seconds())
	spare := burst // is below zero after many refusals
	last := time.Duration(0)
	return func(time.Duration) (time.Duration, error) {
		now := c.clock.now
		share, _ := c.capacity(now)
		spare = min(burst, spare+c.rate*share*(now-last).Seconds())
		last = now
		took := normal(c.random, answerTime, answerTime/5)
		switch {
		case share == 0:
			return took, errDown
		case spare < 1:
			spare = max(-burst, spare-c.refusal)
			return took, refused
		}
		spare--
		return took, c.answer()
	}
}

// normal returns a normally distributed time, made positive.
func normal(random *rand.Rand, mean, deviation time.Duration) time.Duration {
	return time.Duration(random.NormFloat64()*float64(deviation) + float64(mean)).Abs()
}
