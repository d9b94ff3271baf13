package backoff

import (
	"context"
	"runtime"
	"time"
)

// A loop is what all callback and range loops do between two attempts: decide whether there is a next attempt, and
// pause before it. (A Ticker, which does not see how attempts end, shares nextWait alone.)
type loop struct {
	policy BackOff
	ctx    context.Context
	notify Notify      // or nil
	timer  Timer       // the caller's, or nil
	system systemTimer // for the waits that need one

	retryable     func(err error) bool // or nil
	stopReason    error                // what the error matches when the policy stops, or nil
	maxAsked      time.Duration        // the longest wait that a server may ask for; zero or less is no limit
	tooLongReason error                // what the error matches when it asks for more

	inTime   bool  // the context's deadline had not passed before the attempt; not known of the first of Retry
	strict   bool  // no wait may outlast the deadline: from the first wait above zero on, or always
	previous error // of the attempt before the last one, or nil
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
	err := l.settled(last)
	if err != nil {
		return err
	}
	wait, err := l.plan(last)
	if err != nil {
		return err
	}

	// notify comes after every reason to give up, so that it is called for waits that really start.
	if l.notify != nil {
		l.notify(last, wait)
	}
	return l.pause(wait, last)
}

// settled returns the error of a loop for which there is no next attempt, whatever its policy says, or nil. With plan, it
// has all reasons to give up before a wait, in their order.
func (l *loop) settled(last error) error {
	permanent, ok := unmark(last)
	if ok {
		return permanent
	}
	err := l.contextEnd()
	if err != nil {
		// An attempt that was cut off often says no more than the context does. The one before says what was wrong.
		return l.ended(err, last, l.previous)
	}
	if l.retryable != nil && !l.retryable(last) {
		return last
	}
	l.previous = last
	return nil
}

// plan returns the wait before the next attempt, or the error with which the loop gives up instead.
func (l *loop) plan(last error) (time.Duration, error) {
	asked := serverWait(last)
	wait := nextWait(l.policy, asked)

	// The policy may have ended the context, or have stopped because that has ended: the context is the reason then.
	err := l.ctx.Err()
	switch {
	case err != nil:
		return 0, l.ended(err, last, nil)
	case wait < 0:
		return 0, newStopError(l.stopReason, last)
	case l.maxAsked > 0 && asked > l.maxAsked:
		return 0, newStopError(l.tooLongReason, last)
	}
	return wait, l.tooLate(wait, asked, last)
}

// contextEnd returns the error of the context if it has ended. An attempt may end with the deadline a moment before the
// context notices, as on a connection that has the deadline for its own. (The first attempt of Retry is not asked about:
// that would take a look at the clock before it.)
func (l *loop) contextEnd() error {
	err := l.ctx.Err()
	if err != nil || !l.inTime {
		return err
	}
	deadline, ok := l.ctx.Deadline()
	if ok && time.Until(deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// nextWait returns the next wait of b for a loop that waits for at least asked, or [Stop].
func nextWait(b BackOff, asked time.Duration) time.Duration {
	p := exponentialIn(b)
	if p != nil {
		p.caller = caller{isLoop: true, asked: asked}
		defer func() { p.caller = caller{} }() // what p is told holds for this question alone
	}

	wait := b.NextBackOff()
	if wait < 0 {
		return Stop
	}
	return max(wait, asked) // other policies do not know asked
}

// caller is who calls NextBackOff, which has no parameter. The zero value is a caller by hand.
type caller struct {
	isLoop bool          // of this package
	asked  time.Duration // it will wait for at least this long
}

// exponentialIn returns the ExponentialBackOff in b, or nil. It must know its caller: since it limits time, it must know
// asked, or the loop waits past the limit; and it adds its jitter to asked. One that a policy of a user's embeds is not
// told: that asks it by hand, perhaps from several goroutines, under a lock of its own.
func exponentialIn(b BackOff) *ExponentialBackOff {
	for ; b != nil; b = inner(b) {
		if p, ok := b.(*ExponentialBackOff); ok {
			return p
		}
	}
	return nil
}

// serverWait returns the wait that a [RetryAfterError] in err asks for, or 0.
func serverWait(err error) time.Duration {
	e, ok := asType[*RetryAfterError](err)
	if !ok || e == nil {
		return 0
	}
	return max(0, e.Duration)
}

// tooLate returns an error if wait must not start, because it would outlast the context's deadline. A loop with a
// custom Timer, whose time may not be real, refuses no wait.
func (l *loop) tooLate(wait, asked time.Duration, last error) error {
	deadline, ok := l.ctx.Deadline()
	if !ok || l.timer != nil {
		return nil
	}
	left := time.Until(deadline)
	l.inTime = left > 0
	if wait < left {
		return nil
	}

	// The first wait above zero starts all the same, unless a server has asked for one that long: a
	// caller that calls Retry again as long as the context lives would otherwise do so without a pause. (left may be
	// negative: the context's Err may be nil for a moment more.)
	if !l.strict && (asked == 0 || asked < left) {
		return nil
	}
	if wait >= time.Millisecond {
		wait = wait.Round(time.Millisecond)
	}
	reason := refusal("next attempt in " + wait.String() + " would be too late")
	return newEndError(context.DeadlineExceeded, reason, last, nil)
}

// pause waits. It returns an error if there must be no attempt after the wait.
func (l *loop) pause(wait time.Duration, last error) error {
	if wait > 0 {
		l.strict = true
	}
	waited := l.wait(wait)

	// The context is asked after every wait. When the timer and the context are ready together, select picks at
	// random. A wait of zero has not looked at the context, which notify may have ended.
	err := l.ctx.Err()
	if err != nil {
		return l.ended(err, last, nil)
	}
	if !waited { // a Timer has no channel, or a context is done whose Err is nil
		return last
	}
	return nil
}

// ended returns the error of a loop whose context has ended with err. previous may be nil.
func (l *loop) ended(err, last, previous error) error {
	return newEndError(err, context.Cause(l.ctx), last, previous)
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
	if l.ctx.Done() == nil && l.timer == nil {
		time.Sleep(d)
		return true
	}

	var timeout <-chan time.Time
	if l.timer != nil { // for a zero wait too: a test's may count them, or let the loop go on step by step
		l.timer.Start(d)
		timeout = l.timer.C()
	} else {
		l.system.Start(d)
		timeout = l.system.C()
	}
	if timeout == nil { // a custom Timer without a channel
		return false
	}

	// A done channel ends the loop even if Err is nil, as in a context that a user has written. Otherwise the loop
	// would go on without waits.
	select {
	case <-timeout:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// end stops the timer. It is deferred, so that it runs on every way out, a panic of the operation among them.
func (l *loop) end() { l.system.Stop() }
