package backoff

import (
	"context"
	"runtime"
	"time"
)

// loop is what [Retry], [Attempts] and [Ticker] do between two attempts: decide whether there is a
// next one, and wait for it. It is small, and so are its methods' frames, so that a goroutine that
// waits in them stays within the 2 KB of stack that it starts with.
type loop struct {
	policy  BackOff
	timer   Timer           // the caller's, or nil
	stopped <-chan struct{} // closed by Ticker.Stop; nil in other loops
	tick    *time.Time      // a Ticker's, for the time at which a wait ended; nil in other loops
	waited  bool            // a wait above zero has begun
	ctx     context.Context // the policy's, from when it is found; nil if it has none
	system  defaultTimer
}

// next returns the wait before the next attempt, or the error with which the loop gives up. last is
// the error of the attempt that failed.
func (l *loop) next(last error) (time.Duration, error) {
	if err, ok := permanent(last); ok {
		return 0, err
	}
	floor := retryAfter(last)
	l.ctx = prepare(l.policy, floor, l.ctx)
	if l.ended() {
		return 0, l.giveUp(last, false)
	}
	wait := l.policy.NextBackOff()
	if wait < 0 || l.ended() {
		return 0, l.giveUp(last, wait < 0)
	}
	wait = max(wait, floor)
	if l.refuses(wait, floor) {
		abandon(l.policy)
		return 0, newContextError(context.DeadlineExceeded, tooLateError(wait), last)
	}
	l.waited = l.waited || wait > 0
	return wait, nil
}

// ended reports whether the context is done.
func (l *loop) ended() bool { return l.ctx != nil && l.ctx.Err() != nil }

// done returns the context's Done, or nil if there is no context.
func (l *loop) done() <-chan struct{} {
	if l.ctx == nil {
		return nil
	}
	return l.ctx.Done()
}

// refuses reports whether wait is not to be begun because it would outlast the context's deadline.
//
// The first wait above zero is begun all the same, unless a server has asked for it: a caller that
// calls Retry again as long as the context lives would otherwise do so without a pause. A Ticker
// refuses no wait, and a custom Timer's time need not be the deadline's.
func (l *loop) refuses(wait, floor time.Duration) bool {
	if l.ctx == nil || l.tick != nil || l.timer != nil || !l.waited && floor == 0 {
		return false
	}
	deadline, ok := l.ctx.Deadline()
	if !ok {
		return false
	}
	left := time.Until(deadline)
	return wait >= left && (l.waited || floor >= left)
}

// wait waits for d. It returns nil if the next attempt is to be made, otherwise the error with which
// the loop gives up. The context is checked again after the wait, as select picks at random when
// both are ready.
func (l *loop) wait(d time.Duration, last error) error {
	var c <-chan time.Time
	done := l.done()
	switch {
	case l.timer != nil:
		l.timer.Start(d)
		if c = l.timer.C(); c == nil {
			return l.giveUp(last, false)
		}
	case d == 0:
		if runtime.GOARCH == "wasm" {
			runtime.Gosched() // its one thread would never see the context end
		}
		if l.ended() {
			return l.giveUp(last, false)
		}
		return nil
	case done == nil && l.stopped == nil:
		time.Sleep(d)
		return nil
	default:
		l.system.Start(d)
		c = l.system.C()
	}
	select {
	case now := <-c:
		if l.tick != nil {
			*l.tick = now
		}
		if !l.ended() {
			return nil
		}
	case <-done:
	case <-l.stopped:
	}
	l.system.Stop() // it runs during a wait alone, so nothing else has to stop it
	return l.giveUp(last, false)
}

// giveUp returns the error of a loop that makes no further attempt after one that failed with last.
// stopped says whether it was the policy that stopped.
func (l *loop) giveUp(last error, stopped bool) error {
	reason := abandon(l.policy)
	switch {
	case l.ended():
		return newContextError(l.ctx.Err(), context.Cause(l.ctx), last)
	case stopped && reason != nil:
		return newStopError(reason, last)
	}
	return last
}
