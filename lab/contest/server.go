package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// failure is how an attempt fails. All ways to call get the same two.
type failure struct{ late bool }

var (
	errRefused error = failure{late: false}
	errLate    error = failure{late: true}
)

func (f failure) Error() string {
	if f.late {
		return "the attempt timed out"
	}
	return "503 service unavailable"
}

// Timeout tells late attempts from refused ones, for libraries that ask. RetryableError is for AWS's.
func (f failure) Timeout() bool      { return f.late }
func (failure) RetryableError() bool { return true }

// refusal is how long it takes to refuse an attempt.
const refusal = time.Millisecond

// server works on requests in the order in which they come, on so many at once. Its queue has no limit, and it works
// for clients that have left, too.
type server struct {
	mu     sync.Mutex // guards all that follows
	random *rand.Rand

	workers int
	work    time.Duration // of a request, on average
	stages  int           // of the work, each of which is exponentially distributed; zero: all work is the same

	stopped bool          // it neither begins work nor answers
	refuses float64       // the share of the attempts that are refused without any work
	hangs   float64       // the share of them that get no answer
	delay   time.Duration // of answers, after the work

	requests int        // that have come
	queue    []*request // that wait for a worker
	serving  []*request // that workers have
}

// request is an attempt that a server has accepted.
type request struct {
	work *time.Timer
	done bool       // the work is; while the server is stopped, the answer waits
	end  chan error // receives the answer
}

// do makes an attempt.
func (s *server) do(ctx context.Context) error {
	s.mu.Lock()
	s.requests++
	refused := s.random.Float64() < s.refuses
	hangs := s.random.Float64() < s.hangs
	delay := s.delay
	r := &request{end: make(chan error, 1)}
	if !refused && !hangs {
		s.queue = append(s.queue, r)
		s.begin()
	}
	s.mu.Unlock()

	if refused {
		return pause(ctx, refusal, errRefused)
	}
	select {
	case err := <-r.end:
		return pause(ctx, delay, err)
	case <-ctx.Done():
		return errLate
	}
}

// pause returns err after d, or that the attempt is late.
func pause(ctx context.Context, d time.Duration, err error) error {
	if d == 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return err
	case <-ctx.Done():
		return errLate
	}
}

// begin begins what a worker is free for. It requires mu.
func (s *server) begin() {
	for !s.stopped && len(s.serving) < s.workers && len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		s.serving = append(s.serving, r)
		r.work = time.AfterFunc(s.draw(), func() { s.change(func() { r.done = true }) })
	}
}

// draw returns the work of a request. It requires mu.
func (s *server) draw() time.Duration {
	if s.stages == 0 {
		return s.work
	}
	sum := 0.0
	for range s.stages {
		sum += s.random.ExpFloat64()
	}
	return time.Duration(sum / float64(s.stages) * float64(s.work))
}

// change changes something of the server, and lets it go on.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	if s.stopped {
		return
	}

	left := s.serving[:0]
	for _, r := range s.serving {
		if r.done {
			r.end <- nil
		} else {
			left = append(left, r)
		}
	}
	s.serving = left
	s.begin()
}

// restart ends all that the server has, what is being served too. It requires mu.
func (s *server) restart() {
	for _, r := range s.serving {
		r.work.Stop()
		r.end <- errRefused
	}
	for _, r := range s.queue {
		r.end <- errRefused
	}
	s.serving, s.queue = nil, nil
	s.stopped = false
}

// count returns how many requests have come.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}
