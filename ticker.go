package backoff

import (
	"errors"
	"sync"
	"time"
)

// Ticker delivers a tick for each attempt on a channel, separated by the waits of a policy. Use it
// in select loops; otherwise [Retry] is simpler.
//
// C is closed when there are no more ticks, and a closed channel is always ready to receive. So in a
// select loop receive with t, ok := <-ticks, and set ticks to nil if !ok; the example shows it.
//
// The wait starts when a tick is received, not when the attempt ends, so attempts that take longer
// than the waits follow each other without a pause. Where the wait should start after the attempt,
// select on time.After(policy.NextBackOff()) instead; see Example_select.
//
// Call Stop when done: until then a goroutine waits to send. A context given with [WithContext] also
// ends it, once the first tick has been received. C does not say why it was closed; ask the
// context's Err. A wait that will outlast the context's deadline still starts. A Ticker is safe for
// concurrent use. Do not use its policy elsewhere until C is closed. The zero value is not usable.
type Ticker struct {
	// C delivers the ticks. It is unbuffered, and is closed once: when the policy stops, when the
	// context is done, after Stop, or if a Timer has no channel.
	C <-chan time.Time

	c    chan<- time.Time
	stop chan struct{}
	once sync.Once
}

// errTick stands for the error of an attempt after a tick, which a Ticker does not know.
var errTick = errors.New("backoff: the outcome of a tick is not known")

// NewTicker returns a Ticker with the waits of b. It is like [NewTickerWithTimer] with a nil timer.
func NewTicker(b BackOff) *Ticker { return NewTickerWithTimer(b, nil) }

// NewTickerWithTimer resets b and returns a [Ticker] with the waits of b, measured by timer, which is
// stopped when the ticker ends. The first tick comes immediately, even if b's context is done. The value of
// a later tick is the time at which its wait ended.
//
// A nil timer means the default one. NewTickerWithTimer panics if b has a [Budget]: a Ticker does not know
// how an attempt ended, and would pay for a tick after a success as well.
func NewTickerWithTimer(b BackOff, timer Timer) *Ticker {
	c := make(chan time.Time)
	t := &Ticker{C: c, c: c, stop: make(chan struct{})}
	b = orDefault(b)
	l := &loop{timer: timer, quit: t.stop, tick: new(time.Time)}
	if l.start(b); l.budget {
		panic("backoff: NewTicker called with a policy that has a budget")
	}
	b.Reset()
	go t.run(l)
	return t
}

// Stop ends the ticker: C is closed, and its goroutine ends. Stop may be called more than once, and
// from any goroutine. A receiver that races with Stop may still get one tick, and no more.
func (t *Ticker) Stop() {
	t.once.Do(func() { close(t.stop) })
}

func (t *Ticker) run(l *loop) {
	defer close(t.c)
	if l.timer != nil {
		defer l.timer.Stop()
	}
	defer l.end()
	*l.tick = time.Now()
	// The first tick is promised whatever the context says, so it is not asked.
	for sent := t.send(*l.tick, nil); sent; sent = t.send(*l.tick, l.ctx.Done()) {
		*l.tick = time.Now() // for a wait of zero, which needs no timer
		if l.next(errTick) != nil {
			return
		}
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
	case <-done:
	}
	return false
}
