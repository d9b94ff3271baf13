package backoff

import (
	"context"
	"sync"
	"time"
)

// Ticker sends a tick on C for each attempt, with the waits of a policy in between, for use in a select loop.
// Elsewhere [Retry] is simpler.
//
// C is closed when the policy stops, when its context is done, or after Stop. A closed channel is always
// ready, so receive with two values, and then set your copy of the channel to nil:
//
//	case _, ok := <-ticks:
//		if !ok {
//			ticks = nil
//			break
//		}
//
// Call Stop when you are done; until then a goroutine waits to send. A context given with [WithContext] also ends
// the Ticker, but not before you have received the first tick. C does not say why it was closed: ask the
// context's Err.
//
// A wait starts when you receive a tick, not when your attempt ends, so after a slow attempt the next tick may
// come immediately. If that is wrong for you, drive the policy by hand: call its Reset, and after each failure
// its NextBackOff; stop if the wait is negative, and select on time.After(wait) otherwise. Example_select
// shows it, in example_test.go.
//
// A Ticker does not see how attempts end. So [Permanent] and [RetryAfter] have no effect, and a
// wait that will outlast the context's deadline still starts.
//
// A Ticker is safe for concurrent use. Do not use its policy elsewhere until C is closed. The zero value is
// not usable.
type Ticker struct {
	// C delivers the ticks. It is unbuffered, and is closed once: when the policy stops, when the
	// context is done, after Stop, or if a custom Timer has no channel.
	C <-chan time.Time

	c    chan<- time.Time
	stop chan struct{}
	once sync.Once
}

// NewTicker returns a [Ticker] with the waits of b. It resets b. The first tick comes immediately, even if
// b's context is done. The value of each later tick is the time at which its wait ended.
func NewTicker(b BackOff) *Ticker { return NewTickerWithTimer(b, nil) }

// NewTickerWithTimer is like [NewTicker], but waits on timer instead of real time, for example in tests. It
// stops timer when the Ticker ends. A nil timer means real time.
func NewTickerWithTimer(b BackOff, timer Timer) *Ticker {
	if timer == nil {
		timer = new(systemTimer)
	}
	c := make(chan time.Time)
	t := &Ticker{C: c, c: c, stop: make(chan struct{})}
	b = orDefault(b)
	b.Reset()
	go t.run(b, contextOf(b), timer)
	return t
}

// Stop ends the Ticker: C is closed, and its goroutine ends. Stop may be called more than once, and from
// any goroutine. At most one tick, which is being sent already, may still arrive after Stop.
func (t *Ticker) Stop() {
	t.once.Do(func() { close(t.stop) })
}

func (t *Ticker) run(b BackOff, ctx context.Context, timer Timer) {
	defer close(t.c)
	defer timer.Stop()

	tick := time.Now()
	sent := t.send(tick, nil) // the first tick is promised whatever the context says
	for sent {
		if ctx.Err() != nil {
			return
		}
		wait := nextWait(b, 0)
		if wait < 0 || ctx.Err() != nil { // the policy may have ended the context
			return
		}
		timer.Start(wait)
		timeout := timer.C()
		if timeout == nil { // a custom Timer without a channel
			return
		}
		select {
		case tick = <-timeout:
		case <-ctx.Done():
			return
		case <-t.stop:
			return
		}
		sent = ctx.Err() == nil && t.send(tick, ctx.Done())
	}
}

// send offers tick until it is received, and reports whether it was. A stop or a done context that
// is there already wins; select alone would choose at random.
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
