package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

var errFailed = errors.New("failed")

// serve sends a request of a call, and returns when its outcome is there or ctx has ended.
func (w *world) serve(ctx context.Context, c *call) error {
	took, err := w.outcome(c)
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
func (w *world) outcome(c *call) (took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if c.process != nil {
		w.requests[int(now/time.Second)]++
	}

	if w.refusing > 0 && w.refuses(now, c.random.Float64()) {
		return refusal, errFailed
	}
	took = w.work(c, now)
	if w.failing > 0 && now >= w.from && c.random.Float64() < w.failing {
		err = errFailed
	}
	return took, err
}

// work has a request done, and returns how long that takes, with what stands in the queue before it.
func (w *world) work(c *call, now time.Duration) time.Duration {
	work := seconds(float64(w.servers) / w.rate)
	if !w.even {
		work = time.Duration(c.random.ExpFloat64() * float64(work))
	}
	next := slices.Index(w.idle, slices.Min(w.idle))
	w.idle[next] = w.done(max(w.idle[next], now), work)
	return w.idle[next] + w.answer - now
}
