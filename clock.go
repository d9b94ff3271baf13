package backoff

import "time"

// Clock tells the time.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// SystemClock is the [Clock] that reads [time.Now]. It is safe for concurrent use.
var SystemClock = systemClock{}

// epoch is what the elapsed times on SystemClock are counted from. A reading of the time since then
// costs half of a [time.Now].
var epoch = time.Now()

// elapsedTime is the time since a start, on the Clock that is handed to its methods. What first points
// to does not change, so copies of an elapsedTime are independent.
type elapsedTime struct {
	first *time.Time    // the reading at the start; nil on SystemClock
	count time.Duration // on SystemClock the start, since epoch; else the time counted so far
}

func onSystemClock(c Clock) bool {
	_, ok := c.(systemClock)
	return ok || c == nil
}

func startOn(c Clock) elapsedTime {
	if onSystemClock(c) {
		return elapsedTime{count: time.Since(epoch)}
	}
	first := c.Now()
	return elapsedTime{first: &first}
}

// read returns the time since the start. It is 0 on a Clock that has taken SystemClock's place.
func (e *elapsedTime) read(c Clock) time.Duration {
	switch {
	case onSystemClock(c):
		return max(0, time.Since(epoch)-e.count)
	case e.first == nil:
		return 0
	}
	return max(0, c.Now().Sub(*e.first))
}

// advance returns the time since the start, and never less than before. If a Clock steps back, the
// elapsed time goes on from where it was.
func (e *elapsedTime) advance(c Clock) time.Duration {
	switch {
	case onSystemClock(c):
		return e.read(c)
	case e.first == nil:
		*e = startOn(c)
		return 0
	}
	now := c.Now()
	if elapsed := now.Sub(*e.first); elapsed >= e.count {
		e.count = elapsed
	} else {
		first := now.Add(-e.count)
		e.first = &first
	}
	return e.count
}
