package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// failure is how an attempt fails: it is late, or it is refused. All ways to call get the same two.
type failure struct{ late bool }

var (
	errFailed error = failure{late: false}
	errLate   error = failure{late: true}
	errFinal        = errors.New("not found")
)

func (f failure) Error() string {
	if f.late {
		return "the attempt timed out"
	}
	return "503 service unavailable"
}

// Timeout tells late attempts from others, for libraries that ask. RetryableError is for AWS's.
func (f failure) Timeout() bool      { return f.late }
func (failure) RetryableError() bool { return true }

// isAnswer reports whether a service has answered with this error, or none.
func isAnswer(err error) bool { return err == nil || errors.Is(err, errFinal) }

// pause returns err after so many seconds, or that the attempt is late. If its process has ended, it returns that. (With Go
// 1.26, the race detector may crash where goroutines of a bubble receive from timers of zero seconds.)
func pause(ctx context.Context, s float64, err error) error {
	if s <= 0 {
		return err
	}
	timer := time.NewTimer(seconds(s))
	defer timer.Stop()
	select {
	case <-timer.C:
		return err
	case <-ctx.Done():
		return ended(ctx)
	}
}

func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return errLate
}

// refusal is the error of a service that refuses.
func (w *world) refusal() error {
	if w.asks > 0 {
		return &backoff.RetryAfterError{Duration: seconds(w.asks), Err: errFailed}
	}
	return errFailed
}

const refusalTakes = 0.001

// outcome is how an attempt ends.
type outcome struct {
	request *request // its work, nil without
	besides float64  // how long the answer takes besides
	err     error
}

// simulate sends a request of a call to the simulated service, and returns when its outcome is there or ctx has ended.
func (w *world) simulate(ctx context.Context, c *call) error {
	o := w.receive(c)
	if o.request == nil {
		return pause(ctx, o.besides, o.err)
	}
	proxy := make(<-chan time.Time)
	if w.proxy > 0 {
		proxy = time.After(seconds(w.proxy))
	}
	select {
	case <-o.request.done:
		if o.request.err != nil {
			return o.request.err
		}
		return pause(ctx, o.besides, o.err)
	case <-proxy:
		return errFailed
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		o.request.backend.leave(o.request)
		return ended(ctx)
	}
}

// receive begins the work of an attempt that is made now, and returns its outcome.
func (w *world) receive(c *call) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	happens := func(share float64) bool { return share > 0 && c.random.Float64() < share }

	switch {
	case happens(w.amount(refusing, now)):
		return outcome{nil, refusalTakes, w.refusal()}
	case c.stuck && w.inTrouble(now), happens(w.amount(hanging, now)):
		return outcome{nil, math.Inf(1), nil}
	}

	o := outcome{besides: w.answer}
	if c.answer != nil {
		o.besides += c.answer(c.random, now)
	}
	if w.rate > 0 && !happens(w.cached) {
		b := w.backends[c.random.IntN(len(w.backends))]
		if w.line > 0 && b.line >= w.line {
			return outcome{nil, refusalTakes, w.refusal()}
		}
		o.request = &request{work: w.work(c.random), arrived: now, done: make(chan struct{})}
		b.add(o.request)
	}
	o.besides += c.random.ExpFloat64() * w.amount(slow, now) * c.timeout
	switch {
	case happens(w.amount(failing, now)):
		o.err = errFailed
	case happens(w.final):
		o.err = backoff.Permanent(errFinal)
	}
	return o
}

// work returns the work of a request, in seconds of a place.
func (w *world) work(r *rand.Rand) float64 {
	spread := w.spread
	if spread == nil {
		spread = (*rand.Rand).ExpFloat64
	}
	return spread(r) * float64(w.servers) / w.rate
}

// constant work is always the same. Heavy work has a lognormal distribution: one in a hundred is ten times the mean.
func constant(*rand.Rand) float64 { return 1 }

func heavy(r *rand.Rand) float64 {
	const sigma = 1.5
	return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
}
