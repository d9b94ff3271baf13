package backoff

import "time"

// Timer is what a loop waits for. Pass one to [RetryNotifyWithTimer], [RetryNotifyWithTimerAndData] or
// [NewTickerWithTimer] in place of real time, for example in tests. (With testing/synctest you need none.)
//
// Its methods are never called concurrently. A Timer must not be used by two loops at once.
type Timer interface {
	// Start begins a wait of duration, which may be zero. It is called once for each wait, after
	// the previous value was received.
	Start(duration time.Duration)

	// Stop ends a wait that is still running. It is called once, when the loop ends, even before
	// any Start.
	Stop()

	// C returns the channel that receives one value when the wait is over. It is called after
	// Start; at most one value is received for each Start. A nil channel ends the loop.
	C() <-chan time.Time
}

// systemTimer is the Timer of real time. (Since Go 1.23 a time.Timer can be reset without being drained.)
type systemTimer struct{ timer *time.Timer }

func (s *systemTimer) Start(d time.Duration) {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
		return
	}
	s.timer.Reset(d)
}

func (s *systemTimer) Stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *systemTimer) C() <-chan time.Time { return s.timer.C }

// Clock is where an [ExponentialBackOff] reads the time. Replace it in tests and simulations; with testing/synctest
// you need not. A Clock that several loops share must be safe for concurrent use.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
}

// SystemClock is the [Clock] of real time: it returns [time.Now]. It is safe for concurrent use.
var SystemClock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// epoch is what times on SystemClock are counted from. To read the time since then takes half of what
// [time.Now] does, and 8 bytes instead of 24.
var epoch = time.Now()

// timeline reads a Clock as the time since a fixed point: epoch on SystemClock, on another Clock its first
// reading. The zero value is ready to use.
type timeline struct{ first *time.Time }

// read returns the time on clock, where nil means SystemClock.
func (t *timeline) read(clock Clock) time.Duration {
	if _, ok := clock.(systemClock); ok || clock == nil {
		return time.Since(epoch)
	}
	now := clock.Now()
	if t.first == nil {
		t.first = &now
	}
	return now.Sub(*t.first)
}
