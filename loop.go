package backoff

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// minTurn is the shortest wait for a turn with a budget: ZeroBackOff would ask it without a pause.
const minTurn = 100 * time.Millisecond

// loop is what [Retry], [Attempts] and [Ticker] do between two attempts: decide whether there is a
// next one, let budgets pay for it, and wait for it.
//
// A goroutine starts with a stack of 2 KB, and one that waits here just fits in. With 16 bytes more in the
// struct, or in next or wait, each waiting Retry takes 4 KB. TestBars in bench/ sees it.
type loop struct {
	policy BackOff         // nil until some policy may have something to forget
	ctx    context.Context // the policy's outermost, or the background
	notify Notify          // or nil
	timer  Timer           // the caller's, or nil
	quit   <-chan struct{} // closed by Ticker.Stop; nil in other loops
	tick   *time.Time      // a Ticker's, for the time at which a wait ended; nil in other loops
	system *time.Timer     // made for the first wait that needs one
	budget bool            // the policy has a Budget
	waited bool            // some wait was above zero
	unpaid bool            // a budget could not pay for the retry
	begun  bool            // the retry that was decided on last has started
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
		if err := l.next(err); err != nil {
			return err
		}
		err = o()
	}
	observe(b, nil)
	return nil
}

// observe passes the outcome of an attempt to every observer in b.
func observe(b BackOff, err error) {
	for p := range chain(b) {
		if o, ok := p.(BackOffObserver); ok {
			o.Observe(err)
		}
	}
}

// start begins what follows the first failure.
func (l *loop) start(b BackOff) {
	l.policy = b
	for p := range chain(b) {
		if c, ok := p.(BackOffContext); ok && l.ctx == nil {
			l.ctx = c.Context()
		} else if _, ok := p.(*budgetBackOff); ok {
			l.budget = true
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
	for p := range chain(l.policy) {
		if p, ok := p.(participant); ok {
			p.end(l.begun)
		}
	}
}

// next waits for the next attempt. It returns nil when that is to be made, otherwise the error with
// which the loop gives up. last is the error of the attempt that failed.
func (l *loop) next(last error) error {
	// A permanent error comes first, so that no policy is asked and no budget pays for nothing.
	if err, ok := permanent(last); ok {
		return err
	}
	var floor time.Duration
	if e, ok := asType[*RetryAfterError](last); ok {
		floor = e.Duration // a negative one has no effect
	}
	// One round is enough but for a budget that makes retries wait for their turn.
	l.begun, l.unpaid = false, false
	for {
		wait, err := l.decide(floor, last)
		if err != nil {
			return err
		}
		// notify comes after every reason to give up, so that it is called for waits that really start.
		if l.notify != nil {
			l.notify(last, wait)
		}
		// The context is asked after every wait: select picks at random when the timer and the context
		// are ready together, a zero wait has not looked at it, and notify may have ended it.
		if !l.wait(wait) || l.ctx.Err() != nil {
			return l.giveUp(last)
		}
		if !l.budget || l.pay(true) {
			l.begun = true
			return nil
		}
		l.unpaid, floor = true, 0 // a server's wait counts once
	}
}

// decide returns the next wait, at least a server's floor, or the error with which the loop gives up.
func (l *loop) decide(floor time.Duration, last error) (time.Duration, error) {
	// The floor needs a call of its own: NextBackOff has no parameter, and a user's policy, which does
	// not know of a floor, may stand between.
	for p := range chain(l.policy) {
		if p, ok := p.(participant); ok {
			p.prepare(floor)
		}
	}
	wait := l.policy.NextBackOff()
	// The context is asked after the policy, which may have ended it, and before the answer counts: a
	// policy with a context that is done answers with a stop, and the context is the reason.
	if l.ctx.Err() != nil {
		return 0, l.giveUp(last)
	}
	if wait < 0 {
		return 0, l.stopError(last)
	}
	// Budgets pay once the answer is known, so that no retry is paid for that a decorator above refuses.
	if l.budget && !l.pay(false) {
		l.unpaid = true
		return 0, l.stopError(last)
	}
	wait = max(wait, floor) // not every policy knows the floor
	if l.unpaid {
		wait = max(wait, minTurn)
	}
	// The deadline is compared with the wait that would really start, so this comes last.
	if l.tooLong(wait, floor) {
		cause := errors.New("next attempt in " + wait.String() + " would be too late")
		return 0, newContextError(context.DeadlineExceeded, cause, last)
	}
	l.waited = l.waited || wait > 0
	return wait, nil
}

// tooLong reports whether wait must not start because it would outlast the context's deadline. A Ticker
// starts every wait, and a custom Timer's time need not be the deadline's.
func (l *loop) tooLong(wait, floor time.Duration) bool {
	deadline, ok := l.ctx.Deadline()
	if !ok || l.tick != nil || l.timer != nil {
		return false
	}
	left := time.Until(deadline)
	asked := floor > 0 && floor >= left
	// The first wait above zero starts all the same, unless a server has asked for one that long: a
	// caller that calls Retry again as long as the context lives would otherwise do so without a pause.
	return wait >= left && (l.waited || asked)
}

// wait waits for d. It returns false if something has ended the wait, or it could not start. It takes the
// cheapest way: no timer for a zero wait, no channel where nothing can end the wait, otherwise one timer
// for all waits of the loop. (Since Go 1.23 a timer can be reset without being drained.)
func (l *loop) wait(d time.Duration) bool {
	var c <-chan time.Time
	done := l.ctx.Done()
	switch {
	case l.timer != nil:
		// For zero waits too: a test's Timer may count them, or let the loop go on step by step.
		l.timer.Start(d)
		if c = l.timer.C(); c == nil {
			return false
		}
	case d == 0:
		if runtime.GOARCH == "wasm" {
			runtime.Gosched() // its one thread would never see the context end
		}
		return true
	case done == nil && l.quit == nil:
		time.Sleep(d)
		return true
	case l.system == nil:
		l.system = time.NewTimer(d)
		c = l.system.C
	default:
		l.system.Reset(d)
		c = l.system.C
	}
	select {
	case now := <-c:
		if l.tick != nil {
			*l.tick = now
		}
		return true
	case <-done:
	case <-l.quit:
	}
	// A done channel ends the loop even if Err is nil, as in a context that a user has written: to go
	// on would be a loop without waits.
	return false
}

// pay lets budgets pay for the retry and reports whether all could. Those that make retries wait pay
// at the end of the wait, so that until then others can use what they have; the rest pay before it.
func (l *loop) pay(atEnd bool) bool {
	for p := range chain(l.policy) {
		if b, ok := p.(*budgetBackOff); ok && b.waits == atEnd && !b.pay() {
			return false
		}
	}
	return true
}

// giveUp returns the error of a loop that ends without an answer of its policy: the context's, if that
// has ended.
func (l *loop) giveUp(last error) error {
	if err := l.ctx.Err(); err != nil {
		return newContextError(err, context.Cause(l.ctx), last)
	}
	return last
}

// stopError returns the error of a loop that its policy has ended: last itself where no limit has more
// to say. That a budget could not pay is the reason whatever has stopped meanwhile.
func (l *loop) stopError(last error) error {
	var reason error
	for p := range chain(l.policy) {
		if s, ok := p.(*stopCauseBackOff); ok && s.stopped {
			reason = s.cause // the innermost one's, in the end
		}
	}
	if l.unpaid {
		reason = ErrBudgetExhausted
	}
	return newStopError(reason, last)
}
