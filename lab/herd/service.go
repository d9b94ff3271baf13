package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var errFailed = errors.New("failed")

// service is a service that gets into trouble. It works through its queue in order, whether or not the clients still
// wait.
type service struct {
	plan
	start    time.Time
	mu       sync.Mutex
	idle     []time.Duration // when each server is done with all that it has
	requests counts          // that reach it, but for those of other programs
}

func newService(p plan, start time.Time) *service {
	return &service{plan: p, start: start, idle: make([]time.Duration, p.servers)}
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
	if c.process != nil {
		s.requests.add(int(now / time.Second))
	}

	if s.refusing > 0 && s.refuses(now, c.random.Float64()) {
		return refusal, errFailed
	}
	took = s.work(c, now)
	if s.failing > 0 && now >= s.from && c.random.Float64() < s.failing {
		err = errFailed
	}
	return took, err
}

// work has a request done, and returns how long that takes, with what stands in the queue before it.
func (s *service) work(c *call, now time.Duration) time.Duration {
	work := seconds(float64(s.servers) / s.rate)
	if !s.even {
		work = time.Duration(c.random.ExpFloat64() * float64(work))
	}
	next := slices.Index(s.idle, slices.Min(s.idle))
	s.idle[next] = s.done(max(s.idle[next], now), work)
	return s.idle[next] + s.answer - now
}
