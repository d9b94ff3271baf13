package backoff

import (
	"context"
	"time"
)

// Timer measures the waits of a loop. Pass one to [RetryNotifyWithTimer],
// [RetryNotifyWithTimerAndData] or [NewTickerWithTimer] to take the place of the clock on the wall,
// in tests for example. (With [testing/synctest] no such timer is needed.)
//
// A loop calls the methods one at a time. A Timer is for one loop at a time.
type Timer interface {
	// Start begins a wait of duration, which may be zero. It is called again for each further
	// wait, after the last one's value has been received.
	Start(duration time.Duration)

	// Stop ends a wait that is still running. It is called once, when the loop ends, perhaps with
	// no Start before it.
	Stop()

	// C returns the channel that receives one value when the wait is over. It is called after
	// Start, and at most one value is received for each Start. A nil channel, which could never
	// deliver, ends the loop.
	C() <-chan time.Time
}

// defaultTimer is a Timer on the wall's time. Its zero value is ready, and holds no timer yet.
type defaultTimer struct {
	timer *time.Timer
}

func (t *defaultTimer) Start(d time.Duration) {
	if t.timer == nil {
		t.timer = time.NewTimer(d)
	} else {
		t.timer.Reset(d)
	}
}

func (t *defaultTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *defaultTimer) C() <-chan time.Time { return t.timer.C }

// A loop is the state of one Retry or Attempts: what stands between two attempts. It asks the policy
// for the wait, and waits. It is kept small, and its methods' frames with it: a goroutine that
// waits in them then stays within the 2 KB of stack that it starts with.
type loop struct {
	policy BackOff
	timer  Timer // the caller's; nil for the wall's time

	ctx  context.Context // the policy's; set by the first call of next
	done <-chan struct{} // nil if the context can never be done
	due  bool            // the context has a deadline, and no caller's timer that need not keep to it

	wall defaultTimer
}

// next returns the wait before the next attempt, at least floor, and whether there is to be one. If
// there is none for the deadline's sake, the wait is the one that could not end before it, and
// otherwise it is negative.
func (l *loop) next(floor time.Duration) (time.Duration, bool) {
	if l.ctx == nil {
		l.ctx = contextOf(l.policy)
		l.done = l.ctx.Done()
		_, l.due = l.ctx.Deadline()
		l.due = l.due && l.timer == nil
	}
	if l.ended() {
		return Stop, false
	}
	wait := l.policy.NextBackOff()
	if wait < 0 {
		return Stop, false
	}
	wait = max(wait, floor)
	if l.due && l.tooLate(wait) {
		giveBack(l.policy)
		return wait, false
	}
	return wait, true
}

// tooLate reports whether wait could not end before the context's deadline.
func (l *loop) tooLate(wait time.Duration) bool {
	deadline, _ := l.ctx.Deadline()
	return wait >= time.Until(deadline)
}

// wait waits for d and reports whether the next attempt may be made. That the context is asked
// again after the wait is what keeps an attempt from following its end when both came together.
func (l *loop) wait(d time.Duration) bool {
	var c <-chan time.Time
	switch {
	case l.timer != nil:
		l.timer.Start(d)
		if c = l.timer.C(); c == nil {
			return false
		}
	case d == 0:
		return !l.ended()
	case l.done == nil:
		time.Sleep(d)
		return true
	default:
		l.wall.Start(d)
		c = l.wall.C()
	}
	select {
	case <-c:
	case <-l.done:
		l.wall.Stop() // nowhere else can it be running when a loop ends, be it by a panic
		return false
	}
	return !l.ended()
}

func (l *loop) ended() bool { return l.done != nil && l.ctx.Err() != nil }

// giveUp returns what a loop returns that next or wait has ended after the operation's error last.
// refused is the wait that next has refused, or negative.
func (l *loop) giveUp(last error, refused time.Duration) error {
	switch {
	case l.ended():
		err, cause := l.ctx.Err(), context.Cause(l.ctx)
		if cause == nil { // Go 1.23, for some contexts that are not package context's own
			cause = err
		}
		return &contextError{err: err, cause: cause, last: last}
	case refused >= 0:
		return &contextError{err: context.DeadlineExceeded, cause: tooLateError(refused), last: last}
	}
	return last
}
