package backoff

import "time"

// Timer measures the waits of a loop. Pass one to [RetryNotifyWithTimer], [RetryNotifyWithTimerAndData] or
// [NewTickerWithTimer] to replace real time, for example in tests. (With testing/synctest you need none.)
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
