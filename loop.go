package backoff

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// loop is what [Retry], [Attempts] and [Ticker] do between two attempts: decide whether there is a
// next one, let budgets pay for it, and wait for it.
type loop struct {
	policy BackOff         // nil before start
	ctx    context.Context // the outermost in the policy's chain, or the background
	notify Notify          // or nil
	timer  Timer           // the caller's, or nil
	ticker *Ticker         // whose loop it is; nil in other loops
	system *time.Timer     // made for the first wait that needs one
	budget bool            // the policy has a Budget
	waited bool            // some wait was above zero
}

// retry is the loop of [Retry] and its variants. Most often the first attempt is the only one.
func retry(o Operation, b BackOff, notify Notify, timer Timer) error {
	b = orDefault(b)
	b.Reset()
	err := o()
	if err == nil {
		observe(b, nil)
		return nil
	}
	l := loop{notify: notify, timer: timer}
	l.start(b)
	defer l.end()
	for err != nil {
		observe(b, err)
		final := l.next(err)
		if final != nil {
			return final
		}
		err = o()
	}
	observe(b, nil)
	return nil
}

// observe passes the outcome of an attempt to every observer in b.
func observe(b BackOff, err error) {
	for p := b; p != nil; p = inner(p) {
		if o, ok := p.(BackOffObserver); ok {
			o.Observe(err)
		}
	}
}

// start finds out what the policy b has. Most loops end at their first attempt and never need to know.
func (l *loop) start(b BackOff) {
	l.policy = b
	for p := b; p != nil; p = inner(p) {
		switch p := p.(type) {
		case *budgetBackOff:
			l.budget = true
		case BackOffContext:
			if l.ctx == nil {
				l.ctx = p.Context()
			}
		}
	}
	if l.ctx == nil {
		l.ctx = context.Background()
	}
}

// end makes the policies of this package forget what they remembered for the loop. It is deferred, so
// that it runs on every way out: a panic or a Goexit in the operation, in notify or in a policy too.
// Nothing may reach the next loop over the same policy, or a caller of it by hand.
func (l *loop) end() {
	if l.system != nil {
		l.system.Stop()
	}
	l.announce(caller{})
}

// announce tells the policies of this package who calls them.
func (l *loop) announce(c caller) {
	for p := l.policy; p != nil; p = inner(p) {
		if p, ok := p.(callee); ok {
			p.calledBy(c)
		}
	}
}

// next waits for the next attempt. It returns nil when that is to be made, otherwise the error with
// which the loop gives up. last is the error of the attempt that failed.
func (l *loop) next(last error) error {
	// A permanent error comes first, so that no policy is asked and no budget pays for nothing.
	if err, ok := unmark(last); ok {
		return err
	}

	wait, err := l.decide(last)
	if err != nil {
		return err
	}

	// notify comes after every reason to give up, so that it is called for waits that really start.
	if l.notify != nil {
		l.notify(last, wait)
	}

	// The context is asked after every wait: select picks at random when the timer and the context are
	// ready together, a zero wait has not looked at it, and notify may have ended it.
	if !l.wait(wait) || l.ctx.Err() != nil {
		return l.giveUp(last)
	}
	return nil
}

// decide returns the next wait, which budgets have then paid for, or the error with which the loop gives up.
func (l *loop) decide(last error) (time.Duration, error) {
	c := caller{isLoop: true, minWait: minWait(last)}
	l.announce(c)
	wait := l.policy.NextBackOff()

	// The context is asked after the policy, which may have ended it, and before the answer counts: a
	// policy with a context that is done answers with a stop, and the context is the reason.
	if l.ctx.Err() != nil {
		return 0, l.giveUp(last)
	}
	if wait < 0 {
		return 0, newStopError(l.stopCause(), last)
	}

	// Budgets pay when all decorators have agreed. They come before the deadline, so that a budget that
	// refuses is the reason whatever else is. If the deadline refuses then, end returns what was paid.
	if l.budget && !l.pay() {
		return 0, newStopError(ErrBudgetExhausted, last)
	}

	wait = max(wait, c.minWait) // not every policy knows its caller
	if l.tooLong(wait, c.minWait) {
		return 0, newContextError(context.DeadlineExceeded, tooLate(wait), last)
	}
	if wait > 0 {
		l.waited = true
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

// pay lets budgets pay for the retry and reports whether all could.
func (l *loop) pay() bool {
	for p := l.policy; p != nil; p = inner(p) {
		if b, ok := p.(*budgetBackOff); ok && !b.pay() {
			return false
		}
	}
	return true
}

// tooLong reports whether wait must not start because it would outlast the context's deadline. That is never so
// for a Ticker, nor with a custom Timer, whose time may not be real.
func (l *loop) tooLong(wait, minWait time.Duration) bool {
	deadline, ok := l.ctx.Deadline()
	if !ok || l.ticker != nil || l.timer != nil {
		return false
	}
	left := time.Until(deadline)
	if wait < left {
		return false
	}
	// The first wait above zero starts all the same, unless a server has asked for one that long: a
	// caller that calls Retry again as long as the context lives would otherwise do so without a pause.
	asked := minWait > 0 && minWait >= left
	return l.waited || asked
}

// tooLate returns the cause of a loop that refuses wait. It rounds a long wait to milliseconds.
func tooLate(wait time.Duration) error {
	if wait >= time.Millisecond {
		wait = wait.Round(time.Millisecond)
	}
	return errors.New("next attempt in " + wait.String() + " would be too late")
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

	over := l.startTimer(d)
	if over == nil { // a custom Timer without a channel
		return false
	}
	var stopped <-chan struct{}
	if l.ticker != nil {
		stopped = l.ticker.stop
	}

	// A done channel ends the loop even if Err is nil, as in a context that a user has written: to go
	// on would be a loop without waits.
	select {
	case now := <-over:
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

// giveUp returns the error of a loop that ends without an answer of its policy: the context's if that has ended,
// otherwise last, for a custom Timer without a channel or a Ticker that was stopped.
func (l *loop) giveUp(last error) error {
	if err := l.ctx.Err(); err != nil {
		return newContextError(err, context.Cause(l.ctx), last)
	}
	return last
}

// stopCause returns the innermost cause of what stopped, or nil.
func (l *loop) stopCause() error {
	var cause error
	for p := l.policy; p != nil; p = inner(p) {
		if s, ok := p.(*stopCauseBackOff); ok && s.stopped {
			cause = s.cause
		}
	}
	return cause
}
