package backoff

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// loop is what [Retry], [Attempts] and [Ticker] do between two attempts: decide whether there is a
// next one, and wait for it. It is small, so that a goroutine that waits in it stays within the 2 KB
// of stack that it starts with.
type loop struct {
	policy        BackOff         // nil until there is something to end
	ctx           context.Context // the policy's outermost, or the background
	timer         Timer           // the caller's, or nil
	stopped       <-chan struct{} // closed by Ticker.Stop; nil in other loops
	tick          *time.Time      // a Ticker's, for the time at which a wait ended; nil in other loops
	system        *time.Timer     // made for the first wait that needs one
	waited, begun bool            // some wait was above zero; the last wait is over
}

// start begins what follows the first failure.
func (l *loop) start(b BackOff) {
	l.policy, l.ctx = b, context.Background()
	for p := range chain(b) {
		if c, ok := p.(BackOffContext); ok {
			l.ctx = c.Context()
			break
		}
	}
}

// end makes the policies of this package forget what they remembered for the loop. It is deferred.
func (l *loop) end() {
	if l.system != nil {
		l.system.Stop()
	}
	for p := range chain(l.policy) {
		if p, ok := p.(participant); ok {
			p.end(l.begun)
		}
	}
}

// next returns the wait before the next attempt, or the error with which the loop gives up. last is
// the error of the attempt that failed.
func (l *loop) next(last error) (time.Duration, error) {
	if err, ok := permanent(last); ok {
		return 0, err
	}
	var floor time.Duration
	if e, ok := asType[*RetryAfterError](last); ok {
		floor = e.Duration // a negative one has no effect
	}
	l.begun = false
	for p := range chain(l.policy) {
		if p, ok := p.(participant); ok {
			p.decide(floor)
		}
	}
	wait := l.policy.NextBackOff()
	if wait < 0 || l.ctx.Err() != nil {
		return 0, l.giveUp(last, wait < 0)
	}
	wait = max(wait, floor)
	if l.refuses(wait, floor) {
		cause := errors.New("next attempt in " + wait.String() + " would be too late")
		return 0, newContextError(context.DeadlineExceeded, cause, last)
	}
	l.waited = l.waited || wait > 0
	return wait, nil
}

// refuses reports whether wait would outlast the context's deadline, so that it must not begin.
//
// The first wait above zero is begun all the same, unless a server has asked for it: a caller that
// calls Retry again as long as the context lives would otherwise do so without a pause. A Ticker
// refuses no wait, and a custom Timer's time need not be the deadline's.
func (l *loop) refuses(wait, floor time.Duration) bool {
	deadline, ok := l.ctx.Deadline()
	if !ok || l.tick != nil || l.timer != nil {
		return false
	}
	left := time.Until(deadline)
	return wait >= left && (l.waited || floor > 0 && floor >= left)
}

// wait waits for d. It returns nil if the next attempt is to be made, otherwise the error with which
// the loop gives up.
func (l *loop) wait(d time.Duration, last error) error {
	var c <-chan time.Time
	done := l.ctx.Done()
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
	case done == nil && l.stopped == nil:
		time.Sleep(d)
	case l.system == nil:
		l.system = time.NewTimer(d)
		c = l.system.C
	default:
		l.system.Reset(d)
		c = l.system.C
	}
	if c != nil {
		select {
		case now := <-c:
			if l.tick != nil {
				*l.tick = now
			}
		case <-done:
			return l.giveUp(last, false)
		case <-l.stopped:
			return l.giveUp(last, false)
		}
	}
	if l.ctx.Err() != nil { // select picks at random when both are ready
		return l.giveUp(last, false)
	}
	l.begun = true
	return nil
}

// giveUp returns the error of a loop that makes no further attempt after one that failed with last.
// stopped says whether it was the policy that stopped.
func (l *loop) giveUp(last error, stopped bool) error {
	if err := l.ctx.Err(); err != nil {
		return newContextError(err, context.Cause(l.ctx), last)
	}
	if !stopped {
		return last
	}
	var reason error // the innermost that a policy gives
	passed := false  // a policy was answered with a wait, so nothing below it has stopped
	for p := range chain(l.policy) {
		if p, ok := p.(participant); ok && !passed {
			reason, passed = p.stopped(reason)
		}
	}
	if reason != nil {
		return newStopError(reason, last)
	}
	return last
}
