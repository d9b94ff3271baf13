package backoff

import "time"

// Clock tells the time. One that the policies of several loops share must be safe for concurrent use.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
}

// SystemClock is the [Clock] that reads [time.Now]. It is safe for concurrent use.
var SystemClock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// epoch is what times on SystemClock are counted from. To read the time since then takes half of what
// [time.Now] does, and 8 bytes instead of 24.
var epoch = time.Now()

// read returns the time on clock, where nil means SystemClock. It counts from epoch on SystemClock, and
// on another from *first, which the first reading sets.
func read(clock Clock, first **time.Time) time.Duration {
	if _, ok := clock.(systemClock); ok || clock == nil {
		return time.Since(epoch)
	}
	now := clock.Now()
	if *first == nil {
		*first = &now
	}
	return now.Sub(**first)
}
