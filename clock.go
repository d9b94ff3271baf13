package backoff

import "time"

// Clock tells the time.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// SystemClock is the [Clock] of package time. It is safe for any number of goroutines.
var SystemClock = systemClock{}

// clockKind tells SystemClock, which never steps back and whose time since an earlier reading
// costs half of a reading, from a user's Clock.
type clockKind uint8

const (
	noClock clockKind = iota
	systemKind
	userKind
)

func kindOf(c Clock) clockKind {
	if c == nil {
		return systemKind
	}
	if _, ok := c.(systemClock); ok {
		return systemKind
	}
	return userKind
}

// A stopwatch measures the time since its start on a Clock that is handed to each of its methods,
// so that the one in an [ExponentialBackOff] always goes by the field Clock. A nil Clock means
// SystemClock. The zero value has not been started.
type stopwatch struct {
	origin clockKind     // the kind of clock that it was started on
	epoch  time.Time     // a reading of that clock
	offset time.Duration // the start, from epoch: 0 but for SystemClock
	seen   time.Duration // the latest that advance has returned, for a user's Clock
}

func (w *stopwatch) start(c Clock) {
	kind := kindOf(c)
	switch {
	case kind == userKind:
		w.epoch, w.offset = c.Now(), 0
	case w.origin == systemKind:
		w.offset = time.Since(w.epoch)
	default:
		w.epoch, w.offset = time.Now(), 0
	}
	w.origin, w.seen = kind, 0
}

// runsOn reports whether the stopwatch was started on a clock of c's kind.
func (w *stopwatch) runsOn(c Clock) bool { return w.origin == kindOf(c) }

// read returns the time since the start, or 0 if there was none on c. It changes nothing.
func (w *stopwatch) read(c Clock) time.Duration {
	switch {
	case !w.runsOn(c):
		return 0
	case w.origin == systemKind:
		return max(0, time.Since(w.epoch)-w.offset)
	}
	return max(0, c.Now().Sub(w.epoch))
}

// advance is read for a caller that goes by the time: it starts the stopwatch if it does not run on
// c, and never returns less than before. Where a user's Clock has stepped back, epoch moves with
// it, and the time goes on from where it was.
func (w *stopwatch) advance(c Clock) time.Duration {
	kind := kindOf(c)
	if w.origin != kind {
		w.start(c)
	}
	if kind == systemKind {
		return max(0, time.Since(w.epoch)-w.offset)
	}
	now := c.Now()
	if elapsed := now.Sub(w.epoch); elapsed >= w.seen {
		w.seen = elapsed
	} else {
		w.epoch = now.Add(-w.seen)
	}
	return w.seen
}
