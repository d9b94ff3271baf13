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
// next one, and wait for it. Its methods keep little on the stack, so that a goroutine that waits in
// them stays within the 2 KB that it starts with.
type loop struct {
	policy BackOff         // nil until some policy may have something to forget
	ctx    context.Context // the policy's outermost, or the background
	notify Notify          // or nil
	timer  Timer           // the caller's, or nil
	quit   <-chan struct{} // closed by Ticker.Stop; nil in other loops
	tick   *time.Time      // a Ticker's, for the time at which a wait ended; nil in other loops
	system *time.Timer     // made for the first wait that needs one
	waited bool            // some wait was above zero
	unpaid bool            // the last wait is over, but a budget could not pay for the retry
	begun  bool            // the retry that was decided on last has started
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
	// One round is enough but for a budget that makes retries wait. It pays at the end of the wait and
	// not before it, so that what it has goes to those that can start now.
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
		if l.turn() {
			l.begun = true
			return nil
		}
		l.unpaid, floor = true, 0 // a server's wait counts once
	}
}

// decide returns the wait before the next attempt, or the error with which the loop gives up. The wait
// is at least floor, which a server has asked for.
func (l *loop) decide(floor time.Duration, last error) (time.Duration, error) {
	// The policies are given the floor in a call of its own: NextBackOff has no parameter, and a user's
	// policy, which does not know of it, may stand between. One that knows it can spread clients above
	// it, and see that the wait is too long for its limit.
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
	wait = max(wait, floor) // not every policy knows the floor
	if l.unpaid {
		wait = max(wait, minTurn)
	}
	// The deadline is compared with the wait that would really start, so this comes last.
	if l.refuses(wait, floor) {
		cause := errors.New("next attempt in " + wait.String() + " would be too late")
		return 0, newContextError(context.DeadlineExceeded, cause, last)
	}
	l.waited = l.waited || wait > 0
	return wait, nil
}

// refuses reports whether wait would outlast the context's deadline, so that it must not start.
//
// The first wait above zero starts all the same, unless a server has asked for it: a caller that
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

// wait waits for d. It returns false if something has ended the wait, or it could not start.
//
// It takes the cheapest way that the case allows: no timer for a zero wait, no channel where nothing can
// end the wait, otherwise one timer for all waits of the loop. (Since Go 1.23 a timer can be reset
// without being drained.)
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

// turn reports whether every budget that makes its retries wait has paid for this one. If one has not,
// the others get theirs back in the next decision, or at the end.
func (l *loop) turn() bool {
	for p := range chain(l.policy) {
		if p, ok := p.(*budgetBackOff); ok && !p.turn() {
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
	reason := stopReason(l.policy)
	if l.unpaid {
		reason = ErrBudgetExhausted
	}
	if reason == nil {
		return last
	}
	return newStopError(reason, last)
}
