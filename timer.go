package backoff

import "time"

// Timer measures the waits of a loop. Pass one to [RetryNotifyWithTimer],
// [RetryNotifyWithTimerAndData] or [NewTickerWithTimer] to replace real time, for example in tests.
// (Tests with [testing/synctest] need none.)
//
// Methods are never called concurrently. Use one Timer per running loop.
type Timer interface {
	// Start begins a wait of duration, which may be zero. It is called once for each wait, after
	// the previous value was received.
	Start(duration time.Duration)

	// Stop ends a wait that is still running. It is called once, when the loop ends, even if
	// Start never was.
	Stop()

	// C returns the channel that receives one value when the wait is over. It is called after
	// Start; at most one value is received for each Start. A nil channel ends the loop.
	C() <-chan time.Time
}

// defaultTimer is a Timer on real time. The zero value is ready to use, and holds no timer yet.
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
