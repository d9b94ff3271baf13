package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

const refusal = time.Millisecond // how long it takes to refuse an attempt

var (
	errFailed = errors.New("failed")
	errFinal  = errors.New("not found")
)

// outcome is how an attempt ends.
type outcome struct {
	request *request      // its work, nil without
	besides time.Duration // how long the answer takes besides
	err     error
}

// serve sends a request of a call, and returns when its outcome is there or ctx has ended.
func (w *world) serve(ctx context.Context, c *call) error {
	o := w.receive(c)
	if o.request != nil {
		select {
		case <-o.request.done:
		case <-ctx.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			o.request.backend.leave(o.request)
			return ctx.Err()
		}
	}

	answer := time.NewTimer(o.besides)
	defer answer.Stop()
	select {
	case <-answer.C:
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive begins the work of an attempt that is made now, and returns its outcome.
func (w *world) receive(c *call) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.process != nil {
		w.requests[int(w.now()/time.Second)]++
	}
	since := w.now() - w.from
	happens := func(share float64) bool { return share > 0 && c.random.Float64() < share }

	switch {
	case happens(w.amount(refusing, since)):
		return outcome{nil, refusal, errFailed}
	case happens(w.amount(stuck, since)), c.kind < w.amount(part, since):
		return outcome{nil, forever, nil}
	}

	o := outcome{besides: w.answer}
	if !happens(w.cached) {
		b := w.backends[w.choose(c)]
		if w.line > 0 && b.line >= w.line {
			return outcome{nil, refusal, errFailed}
		}
		o.request = &request{work: w.work(c.random), done: make(chan struct{})}
		b.add(o.request, c.kind < w.ahead)
	}
	if mean := w.amount(slow, since); mean > 0 {
		o.besides += time.Duration(c.random.ExpFloat64() * mean * float64(w.timeout))
	}
	if happens(w.amount(late, since)) {
		o.besides += 2 * w.timeout
	}
	switch {
	case happens(w.amount(failing, since)):
		o.err = errFailed
	case happens(w.final):
		o.err = backoff.Permanent(errFinal)
	}
	return o
}

// choose returns the number of the backend that gets a request.
func (w *world) choose(c *call) int {
	switch {
	case len(w.backends) == 1:
		return 0
	case w.balance == atRandom || c.process == nil:
		return c.random.IntN(len(w.backends))
	}
	c.process.next++
	return c.process.next % len(w.backends)
}

// The ways in which a service takes requests from its queue, in which a process chooses backends, and how the work of
// requests is distributed.
const (
	oldest  = "oldest"
	newest  = "newest"
	sharing = "shared"

	atRandom = "random"
	inTurn   = "turn"

	exponential = "exponential"
	constant    = "constant"
	heavy       = "heavy"
)

// work returns the work of a request.
func (w *world) work(r *rand.Rand) time.Duration {
	mean := float64(w.backends[0].places*len(w.backends)) / w.rate
	switch w.spread {
	case exponential:
		mean *= r.ExpFloat64()
	case heavy: // a lognormal distribution: one in a hundred is ten times the mean
		const sigma = 1.5
		mean *= math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
	}
	return seconds(mean)
}
