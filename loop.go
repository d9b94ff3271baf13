package backoff

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// A loop is what all loops of this package do between two attempts: decide whether there is a next attempt, and
// wait for it. After a failed attempt they go through ended, ask, tooLate and pause, in this order.
type loop struct {
	policy BackOff
	ctx    context.Context
	notify Notify      // or nil
	timer  Timer       // the caller's, or nil
	ticker *Ticker     // whose loop it is; nil in other loops
	system *time.Timer // made for the first wait that needs one
	strict bool        // no wait may outlast the deadline; set by the first wait above zero

	previous error // of the attempt before the one that has just failed, or nil
}

// retry is the loop of [Retry] and its variants. Most often the first attempt is the only one, and needs no loop.
func retry(o Operation, b BackOff, notify Notify, timer Timer) error {
	b = orDefault(b)
	b.Reset()
	err := o()
	if err == nil {
		return nil
	}

	l := loop{policy: b, ctx: contextOf(b), notify: notify, timer: timer}
	defer l.end()
	for err != nil {
		final := l.next(err)
		if final != nil {
			return final
		}
		err = o()
	}
	return nil
}

// next waits for the next attempt, after one that failed with last. It returns nil if there is to be one, otherwise
// the error with which the loop gives up.
func (l *loop) next(last error) error {
	err := l.ended(last)
	if err != nil {
		return err
	}

	wait, err := l.ask(last)
	if err != nil {
		return err
	}
	if wait < 0 {
		return last
	}

	err = l.tooLate(wait, last)
	if err != nil {
		return err
	}

	// notify comes after every reason to give up, so that it is called for waits that really start.
	if l.notify != nil {
		l.notify(last, wait)
	}
	return l.pause(wait, last)
}

// ended returns the error of a loop that its last attempt has ended: by a permanent error, or because the context ended
// meanwhile. Otherwise it returns nil.
func (l *loop) ended(last error) error {
	permanent, ok := unmark(last)
	if ok {
		return permanent
	}
	err := l.ctx.Err()
	if err != nil {
		// An attempt that was cut off often says no more than the context does. The one before says what was wrong.
		return l.contextError(err, last, l.previous)
	}
	l.previous = last
	return nil
}

// ask returns the policy's wait, which is negative if it stops. It returns an error if the context has ended.
func (l *loop) ask(last error) (time.Duration, error) {
	wait := nextWait(l.policy, minWait(last))
	// The policy may have ended the context, or have stopped because that has ended: the context is the reason then.
	err := l.ctx.Err()
	if err != nil {
		return 0, l.contextError(err, last, nil)
	}
	return wait, nil
}

// minWait returns the wait that a [RetryAfterError] in err asks for, or 0.
func minWait(err error) time.Duration {
	e, ok := asType[*RetryAfterError](err)
	if !ok || e == nil {
		return 0
	}
	return max(0, e.Duration)
}

// tooLate returns an error if wait must not start, because it would outlast the context's deadline. That is never
// so for a Ticker, nor with a custom Timer, whose time may not be real.
func (l *loop) tooLate(wait time.Duration, last error) error {
	deadline, ok := l.ctx.Deadline()
	if !ok || l.ticker != nil || l.timer != nil {
		return nil
	}
	left := time.Until(deadline)
	if wait < left {
		return nil
	}

	// The first wait above zero starts all the same, unless a server has asked for one that long: a
	// caller that calls Retry again as long as the context lives would otherwise do so without a pause.
	asked := minWait(last)
	if !l.strict && (asked == 0 || asked < left) {
		return nil
	}
	if wait >= time.Millisecond {
		wait = wait.Round(time.Millisecond)
	}
	reason := errors.New("next attempt in " + wait.String() + " would be too late")
	return newContextError(context.DeadlineExceeded, reason, last, nil)
}

// pause waits. It returns an error if there must be no attempt after the wait.
func (l *loop) pause(wait time.Duration, last error) error {
	if wait > 0 {
		l.strict = true
	}
	over := l.wait(wait)

	// The context is asked after every wait. When the timer and the context are ready together, select picks at
	// random. A wait of zero has not looked at the context, which notify may have ended.
	err := l.ctx.Err()
	if err != nil {
		return l.contextError(err, last, nil)
	}
	if !over {
		return last
	}
	return nil
}

// contextError returns the error of a loop whose context has ended with err. previous may be nil.
func (l *loop) contextError(err, last, previous error) error {
	return newContextError(err, context.Cause(l.ctx), last, previous)
}

// wait waits for d. It returns false if something has ended the wait, or it could not start. It takes the
// cheapest way: nothing for a zero wait, no channel where nothing can end the wait, otherwise a timer.
func (l *loop) wait(d time.Duration) bool {
	if d == 0 && l.timer == nil {
		if runtime.GOARCH == "wasm" {
			runtime.Gosched() // its one thread would never see the context end
		}
		return true
	}
	uninterrupted := l.ctx.Done() == nil && l.ticker == nil
	if uninterrupted && l.timer == nil {
		time.Sleep(d)
		return true
	}

	timeout := l.startTimer(d)
	if timeout == nil { // a custom Timer without a channel
		return false
	}
	var stopped <-chan struct{}
	if l.ticker != nil {
		stopped = l.ticker.stop
	}

	// A done channel ends the loop even if Err is nil, as in a context that a user has written. Otherwise the loop
	// would go on without waits.
	select {
	case now := <-timeout:
		if l.ticker != nil {
			l.ticker.tick = now
		}
		return true
	case <-l.ctx.Done():
		return false
	case <-stopped:
		return false
	}
}

// startTimer starts a wait and returns the channel that tells its end. If the caller has given no timer, one
// serves all waits of the loop. (Since Go 1.23 a timer can be reset without being drained.)
func (l *loop) startTimer(d time.Duration) <-chan time.Time {
	switch {
	case l.timer != nil: // for a zero wait too: a test's may count them, or let the loop go on step by step
		l.timer.Start(d)
		return l.timer.C()
	case l.system == nil:
		l.system = time.NewTimer(d)
	default:
		l.system.Reset(d)
	}
	return l.system.C
}

// end stops the timer. It is deferred, so that it runs on every way out, a panic of the operation among them.
func (l *loop) end() {
	if l.system != nil {
		l.system.Stop()
	}
}
