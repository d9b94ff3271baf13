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

// A waiter is what stands between two attempts: it asks the policy for the wait, and waits.
type waiter struct {
	policy BackOff
	timer  Timer // the caller's; nil for the wall's time

	// Set by the first call of next, so that an operation that succeeds at once pays for none.
	ctx      context.Context
	done     <-chan struct{} // nil if the context can never be done
	deadline time.Time       // zero if there is none to respect

	wall    defaultTimer
	refusal error // why next refused a wait for the deadline's sake
}

// next returns the wait before the next attempt, and whether there is to be one. floor is the
// least wait.
func (w *waiter) next(floor time.Duration) (time.Duration, bool) {
	if w.ctx == nil {
		w.ctx = contextOf(w.policy)
		w.done = w.ctx.Done()
		if w.timer == nil { // a caller's timer need not run at the deadline's pace
			w.deadline, _ = w.ctx.Deadline()
		}
	}
	if w.ended() {
		return 0, false
	}
	wait := w.policy.NextBackOff()
	if wait < 0 {
		return 0, false
	}
	wait = max(wait, floor)
	if !w.deadline.IsZero() && wait >= time.Until(w.deadline) {
		w.refusal = tooLate(wait)
		giveBack(w.policy)
		return 0, false
	}
	return wait, true
}

// wait waits for d and reports whether the next attempt may be made. That the context is asked
// again after the wait is what keeps an attempt from following its end when both came together.
func (w *waiter) wait(d time.Duration) bool {
	switch {
	case w.timer != nil:
		w.timer.Start(d)
		c := w.timer.C()
		if c == nil {
			return false
		}
		w.receive(c)
	case d == 0:
	case w.done == nil:
		time.Sleep(d)
	default:
		w.wall.Start(d)
		w.receive(w.wall.C())
	}
	return !w.ended()
}

func (w *waiter) receive(c <-chan time.Time) {
	select {
	case <-c:
	case <-w.done:
	}
}

func (w *waiter) ended() bool { return w.done != nil && w.ctx.Err() != nil }

// stop releases the timers, however the loop ends.
func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.wall.Stop()
}

// giveUp returns what a loop returns when next or wait has ended it after the operation's error
// last.
func (w *waiter) giveUp(last error) error {
	switch {
	case w.ended():
		return &contextError{err: w.ctx.Err(), cause: context.Cause(w.ctx), last: last}
	case w.refusal != nil:
		return &contextError{err: context.DeadlineExceeded, cause: w.refusal, last: last}
	}
	return last
}
