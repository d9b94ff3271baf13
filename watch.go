package backoff

import (
	"context"
	"errors"
	"math"
	"time"
)

// The numbers by which Slots size themselves. A unit of time is what an attempt may take, on average. Each number was
// chosen in simulations of services in trouble, in which it was varied; what it prevents stands beside it.
const (
	// If more than this share of the last attempts are late, the service is in trouble. Half of them would be too many:
	// at a high load, healthy days would be lost as well.
	troubleShare = 0.25

	// So many must be late at least, each counted as for the share. One slow call at a quiet time must not limit the
	// hundred that follow.
	troubleLeast = 2

	// After so many units, an attempt counts 1/e for a share. Over ten, trouble is seen too late.
	shareUnits = 3

	// After so many units, a call counts 1/e for what is usual.
	usualUnits = 30

	// In trouble, there are slots for this share of the usual calls at first. With the rest of what it can do, the
	// service works off what has piled up.
	usualShare = 0.75

	// Cuts do not make what is right less than this share of the usual calls. After ten hangs in a row, each with more
	// slots in between, it would be a thirtieth, and take hours to come back.
	leastShare = 0.3

	// If more than this share are still late so many units after the last cut, half of the slots go. A smaller share may
	// be attempts that are late whatever the load is: fewer slots would not help.
	deepShare   = 0.75
	cutInterval = 5

	// Each time that all slots have been used, they grow by this share, or by one. Faster, they would keep a part down
	// that is not dead but overloaded.
	growth = 0.1

	// After so many units without trouble, if calls still wait, more slots are believed to be right, and again after so
	// many. Earlier, that brings the trouble back.
	calm = 60

	// Quick is an answer within this part of the attempt's time. If more than quickShare of the attempts are quick, and
	// few of those that are in time are slow, then only a part of the service, or of the calls, is in trouble: a queue
	// makes all wait. With a smaller quickShare, cheap calls would hide that the rest is overloaded.
	quickPart        = 3
	quickShare       = 0.2
	quickInTimeShare = 0.75

	// This long after the first call, trouble is not believed: the first attempts may be late because connections
	// that were idle have died.
	warmUp = time.Second

	// After this time without a call, all is forgotten: idle time is nothing usual, and old trouble is no trouble. But if
	// there is a limit, what was usual is kept. Workers that pause when all of them fail would otherwise begin a new limit
	// for which what they do in an outage is usual: one slot, and no more for sixty units.
	forgetAfter = 3 * time.Second

	// A unit has at least, and at most, so many seconds. With minutes for an attempt, it would be hours until anything
	// is learned.
	shortestUnit = 0.1
	longestUnit  = 120

	// An attempt that may take longer counts as if it could take so many seconds. A deadline in ten years says nothing.
	longestAttempt = 3600

	// What fades, here and in a Budget, is brought up to date at most this often, because that takes more time than a slot
	// does.
	agingInterval = 10 * time.Millisecond
)

// An outcome is how an attempt ended, for Slots that size themselves.
type outcome byte

const (
	nothing       outcome = iota // nothing to count
	late                         // it failed because its time was over
	slow                         // in time, but not quickly
	failedQuickly                // that is a quick answer if the error is final, which settled tells
	quick                        // answered within a third of its time
)

// A verdict is around the error of an attempt in httpretry or grpcretry, which know better than its context or its kind
// whether it was late. Do takes it off, if it is outermost.
type verdict interface {
	error
	LateAttempt() bool
	Unwrap() error
}

// isLate reports whether an attempt that ended with err failed because its time was over, which its context says, or
// err.
func isLate(err error, timeIsOver bool) bool {
	if x, ok := asType[interface{ LateAttempt() bool }](err); ok {
		return x.LateAttempt()
	}
	return timeIsOver || netError{err}.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// LateAttempt is for a Retrier around the loop. A refusal comes before the deadline, so it is the last attempt that was
// late or not. If that is not kept, it was the same as the context's error.
func (e *endError) LateAttempt() bool {
	_, refused := e.cause.(refusal)
	if refused && e.attempts != nil {
		return isLate(e.attempts, false)
	}
	return isLate(e.attempts, e.Timeout())
}

// A watch is what Slots that size themselves know of a service: how its last attempts ended, how many calls there
// usually are, and, in trouble, how many slots. It reads no clock: each method is told the time. All times are since
// epoch. The zero value knows nothing.
type watch struct {
	calls     int           // that have begun and not ended: in an attempt, in line, or in a wait
	since     time.Duration // when the first call began, after the last time that all was forgotten; 0 in the zero value
	idleSince time.Duration // when the last call ended, if there is none
	updated   time.Duration // when the numbers that fade were last brought up to date

	// The last attempts. Each counts e^(−age / shareUnits).
	all, late, quick, slow float64

	// What is usual. Each call, and each second, counts e^(−age / usualUnits).
	begun   float64 // calls
	allowed float64 // seconds that their first attempts might take
	seen    float64 // seconds that have passed

	slots float64 // from the beginning of trouble to the end of the limit; 0 means no limit

	// So many slots are believed to be right, or this share of what is usual, if that is more. The number is needed
	// because workers that are stuck make less usual; the share, because traffic may have grown.
	right, share float64

	lastCut   time.Duration // when slots was last made smaller
	unsettled time.Duration // when there was trouble, or more slots were believed to be right
}

// begin notes that a call begins whose first attempt may take so long.
func (w *watch) begin(now, allowed time.Duration) {
	if w.isForgotten(now) {
		before := *w
		*w = watch{since: now, updated: now}
		if before.slots > 0 {
			w.begun, w.allowed, w.seen = before.begun, before.allowed, before.seen
		}
	}
	w.calls++
	w.begun++
	w.allowed += min(allowed.Seconds(), longestAttempt)
}

// isForgotten reports whether there has been no call for so long that nothing is known any more. now may be a little
// before idleSince, since calls race for the lock. In a test, simulated time may start over.
func (w *watch) isForgotten(now time.Duration) bool {
	idle := now - w.idleSince
	return w.calls == 0 && (w.since == 0 || idle > forgetAfter || idle < -agingInterval)
}

// end notes that a call has ended.
func (w *watch) end(now time.Duration) {
	w.calls--
	w.idleSince = now
}

// attempted notes how an attempt ended, and changes the number of slots. It is told whether calls wait in line.
func (w *watch) attempted(now time.Duration, o outcome, waiting bool) {
	if o == nothing {
		return
	}
	w.age(now)
	w.count(o)

	switch {
	case w.slots == 0:
		if o == late && w.inTrouble() && w.late >= troubleLeast && w.updated-w.since >= warmUp {
			w.cut(usualShare * w.usual())
			w.believe(w.slots)
		}
	case w.late > deepShare*w.all && !w.isPartial():
		if w.lasts(w.lastCut, cutInterval) {
			w.halve()
		}
	case waiting && o != late:
		w.enlarge(o)
	}
}

// enlarge makes more slots, if there is reason to, after an attempt that ended in time while calls wait.
func (w *watch) enlarge(o outcome) {
	step := max(growth, 1/w.slots)
	rightNow := w.share * w.usual()
	switch {
	case w.inTrouble() && w.isPartial():
		if o == quick {
			w.slots += step
		}
	case !w.inTrouble() && w.slots < w.right:
		w.slots += min(1, w.right-w.slots) // twice as many when all have been used
	case w.slots < rightNow:
		if w.lasts(w.lastCut, cutInterval) { // even in trouble: if there are no more cuts, the slots are not too many
			w.slots += min(step, rightNow-w.slots)
		}
	case w.lasts(w.unsettled, calm):
		w.believe(max(w.right, rightNow) / usualShare) // so there are more from the next attempt on
	}
}

// count counts an attempt that ended with o.
func (w *watch) count(o outcome) {
	w.all++
	switch o {
	case late:
		w.late++
	case quick:
		w.quick++
	case slow:
		w.slow++
	}
	if w.inTrouble() {
		w.unsettled = w.updated
	}
}

// inTrouble reports whether too many attempts are late.
func (w *watch) inTrouble() bool { return w.late > troubleShare*w.all }

// isPartial reports whether only a part of the service, or of the calls, is in trouble.
func (w *watch) isPartial() bool {
	return w.quick > quickShare*w.all && w.quick > quickInTimeShare*(w.quick+w.slow)
}

// believe notes how many slots are right, and what share of the usual calls that is.
func (w *watch) believe(slots float64) {
	w.right = slots
	w.share = min(usualShare, slots/w.usual())
	w.unsettled = w.updated
}

// halve makes half as many slots, of no more than would be used.
func (w *watch) halve() {
	slots := min(w.slots, w.usual())
	if w.slots >= w.right { // they were too many
		w.right = usualShare * min(w.right, slots)
		w.share = max(usualShare*w.share, min(w.share, leastShare))
	}
	w.cut(slots / 2)
}

// cut makes fewer slots.
func (w *watch) cut(slots float64) {
	w.slots = max(1, slots)
	w.lastCut = w.updated
}

// nobodyWaits ends the limit if the trouble is over, while no call waits.
func (w *watch) nobodyWaits() {
	if !w.inTrouble() {
		w.slots = 0
	}
}

// most returns how many slots there are. More may be in use, from before the trouble.
func (w *watch) most() int {
	if w.slots == 0 {
		return math.MaxInt
	}
	return int(min(math.MaxInt32, math.Round(w.slots)))
}

// usual returns how many attempts there would be at once if each took all the time that it may.
func (w *watch) usual() float64 { return w.allowed / max(w.seen, 1) }

// age lets what is known count less as time goes by. now may be before updated, since calls race for the lock: nothing
// ages then.
func (w *watch) age(now time.Duration) {
	if now-w.updated < agingInterval {
		return
	}
	unit := w.unit()
	units := (now - w.updated).Seconds() / unit
	w.updated = now

	left := math.Exp(-units / shareUnits)
	w.all *= left
	w.late *= left
	w.quick *= left
	w.slow *= left

	left = math.Exp(-units / usualUnits)
	w.begun *= left
	w.allowed *= left
	w.seen = w.seen*left + usualUnits*unit*(1-left)
}

// lasts reports whether something that began at start lasts for longer than so many units.
func (w *watch) lasts(start time.Duration, units float64) bool {
	return (w.updated - start).Seconds() > units*w.unit()
}

// unit returns the seconds of a unit.
func (w *watch) unit() float64 {
	if w.begun == 0 {
		return shortestUnit
	}
	return min(max(shortestUnit, w.allowed/w.begun), longestUnit)
}
