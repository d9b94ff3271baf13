package backoff

import (
	"context"
	"sync"
	"time"
)

// Ticker delivers attempts on a channel: a tick for each attempt, and between them the waits of a
// policy. It is for select loops; where nothing else is waited for, [Retry] is simpler.
//
// C is closed when there are no more ticks, and a closed channel is always ready to receive. In a
// select loop, take the second value and set the channel to nil:
//
//	ticks := ticker.C
//	for ticks != nil {
//		select {
//		case _, ok := <-ticks:
//			if !ok {
//				ticks = nil // no more attempts
//				break
//			}
//			// attempt
//		case job := <-jobs:
//			// other work
//		}
//	}
//
// Stop the ticker when it is no longer needed: until then a goroutine waits for the next tick to be
// received. A context given with [WithContext] ends that goroutine too, once the first tick has
// been received.
//
// A Ticker may be used by any number of goroutines. Its policy belongs to it alone until C is
// closed.
type Ticker struct {
	// C delivers the ticks. It is unbuffered, and is closed once: when the policy stops, when the
	// context is done, or after Stop.
	C <-chan time.Time

	c     chan<- time.Time
	b     BackOff
	ctx   context.Context
	timer Timer
	stop  chan struct{}
	once  sync.Once
}

// NewTicker returns a Ticker whose waits are those of b. It is shorthand for [NewTickerWithTimer]
// with a nil timer.
func NewTicker(b BackOff) *Ticker {
	return NewTickerWithTimer(b, nil)
}

// NewTickerWithTimer resets b and returns a Ticker whose waits are those of b, measured by timer.
//
// The first tick comes at once, and it comes even if b's context is done. Each further wait starts
// when a tick has been received. The value of a tick is the time at which its wait was over.
//
// A nil b means [NewExponentialBackOff], a nil timer the wall's time.
func NewTickerWithTimer(b BackOff, timer Timer) *Ticker {
	b = orDefault(b)
	if timer == nil {
		timer = new(defaultTimer)
	}
	c := make(chan time.Time)
	t := &Ticker{C: c, c: c, b: b, ctx: contextOf(b), timer: timer, stop: make(chan struct{})}
	b.Reset()
	go t.run()
	return t
}

// Stop turns the ticker off: its channel is closed and its goroutine ends. Calls after the first
// do nothing. Any goroutine may call it.
//
// A tick that is offered when Stop is called is taken back, also if a receiver comes an instant
// later. Only where both come between the goroutine's last look at Stop and its offer may the
// receiver still get that one tick; no other follows it.
func (t *Ticker) Stop() {
	t.once.Do(func() { close(t.stop) })
}

func (t *Ticker) run() {
	defer close(t.c)
	defer t.timer.Stop()
	tick := time.Now()
	// The first tick is promised whatever the context says, so it is not asked.
	for sent := t.send(tick, nil); sent; sent = t.send(tick, t.ctx.Done()) {
		if t.ctx.Err() != nil {
			return
		}
		wait := t.b.NextBackOff()
		if wait < 0 {
			return
		}
		var ok bool
		if tick, ok = t.wait(wait); !ok {
			return
		}
	}
}

// send offers tick until it is received, and reports whether it was. done or a stop that has come
// already goes first, though select would choose at random.
func (t *Ticker) send(tick time.Time, done <-chan struct{}) bool {
	select {
	case <-t.stop:
		return false
	case <-done:
		return false
	default:
	}
	select {
	case t.c <- tick:
		return true
	case <-t.stop:
		return false
	case <-done:
		return false
	}
}

// wait waits for d, and returns the time at its end and whether there is to be a tick.
func (t *Ticker) wait(d time.Duration) (time.Time, bool) {
	if _, ok := t.timer.(*defaultTimer); ok && d == 0 {
		return time.Now(), true
	}
	t.timer.Start(d)
	c := t.timer.C()
	if c == nil { // v4 ended here too, and there are tests that rely on it
		return time.Time{}, false
	}
	select {
	case tick := <-c:
		return tick, true
	case <-t.stop:
	case <-t.ctx.Done():
	}
	return time.Time{}, false
}
