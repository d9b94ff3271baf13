package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/backoff"
)

// The parameters of every service.
const (
	smoothing = 100 * time.Millisecond
	minBurst  = 10  // requests that a service without a queue evens out, however low its capacity
	heavyTail = 1.5 // the deviation of the logarithm of heavy-tailed work
)

// What a queue may be, besides a limit of time.
const (
	fifo time.Duration = -1 - iota
	noQueue
)

var (
	errDown    = errors.New("down")
	errRefused = errors.New("refused")
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

// service is a service that gets into trouble.
type service struct {
	plan
	start    time.Time
	mu       sync.Mutex
	idle     []time.Duration // when each server is done with all that it has
	spare    float64         // requests that a service without a queue can do at once; below zero after many refusals
	filled   time.Duration   // when that was
	requests counts          // that reach it, but for those of other programs
}

func newService(p plan, start time.Time) *service {
	s := &service{plan: p, start: start, idle: make([]time.Duration, p.servers)}
	s.spare = s.burst()
	return s
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

// serve sends a request of a call, and returns when its outcome is there or ctx has ended.
func (s *service) serve(ctx context.Context, c *call) error {
	took, err := s.outcome(c)
	answer := time.NewTimer(took)
	defer answer.Stop()
	select {
	case <-answer.C:
		return err
	case <-ctx.Done():
		return ctx.Err() // the work remains
	}
}

// outcome returns how a request that is sent now ends, and after which time.
func (s *service) outcome(c *call) (took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.start)
	if !c.others {
		s.requests.add(int(now/time.Second), 1)
	}
	switch {
	case c.hangs:
		return math.MaxInt64, nil
	case s.queue == noQueue:
		return s.immediately(c, now)
	}
	return s.inOrder(c, now)
}

// answered returns what an answered request of a call comes to.
func (s *service) answered(c *call, now time.Duration) error {
	if c.poison || s.failing > 0 && now >= s.from && c.random.Float64() < s.failing {
		return errFailed
	}
	return nil
}

// inOrder is a service that works through its queue in order, whether or not the client still waits.
func (s *service) inOrder(c *call, now time.Duration) (time.Duration, error) {
	each := float64(time.Second) / s.rate * float64(s.servers)
	work := time.Duration(shares[s.times](c.random) * each)
	next := slices.Index(s.idle, slices.Min(s.idle))
	if s.queue > 0 && s.idle[next]-now > s.queue {
		s.idle[next] += time.Duration(s.refusal * float64(work))
		return s.answer, s.refused()
	}
	s.idle[next] = s.done(max(s.idle[next], now), work)
	answer := s.answer
	if c.slow {
		answer = s.slowly
	}
	return s.idle[next] + answer - now, s.answered(c, now)
}

// burst returns the requests that a service without a queue can do at once.
func (s *service) burst() float64 { return max(minBurst, s.rate*smoothing.Seconds()) }

// immediately is a service without a queue. While it is down, requests fail immediately.
func (s *service) immediately(c *call, now time.Duration) (time.Duration, error) {
	share, _ := s.capacity(now)
	s.spare = min(s.burst(), s.spare+s.rate*share*(now-s.filled).Seconds())
	s.filled = now
	took := normal(c.random, s.answer, s.answer/5)
	switch {
	case share == 0:
		return took, errDown
	case s.spare < 1:
		s.spare = max(-s.burst(), s.spare-s.refusal)
		return took, s.refused()
	}
	s.spare--
	return took, s.answered(c, now)
}

// refused returns the error of a request that is refused.
func (s *service) refused() error { return backoff.RetryAfter(errRefused, s.wait) }

// normal returns a normally distributed time, made positive.
func normal(random *rand.Rand, mean, deviation time.Duration) time.Duration {
	return time.Duration(random.NormFloat64()*float64(deviation) + float64(mean)).Abs()
}
