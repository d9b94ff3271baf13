package backoff

import (
	"context"
	"errors"
	"math"
	"time"
)

// The numbers by which Slots size themselves. Each was varied in simulations, which lab/herd repeats; what it
// prevents stands beside it.
const (
	// If more than this share of the attempts are late, the service is in trouble. Half of them would be too many:
	// at a high load, healthy days would be lost as well.
	lateShare = 0.25

	// So many attempts must be late at least, each counted as for the share. One slow call at a quiet time must not
	// limit the hundred that follow.
	lateLeast = 2

	// After this time, an attempt counts 1/e for the share. Over ten seconds, trouble is seen too late.
	lateWindow = 3 * time.Second

	// After this time without a call, all is forgotten: idle time is nothing usual, and old trouble is no trouble.
	forgetAfter = 3 * time.Second

	// This long after such a pause, trouble is not believed: the first attempts may be late because connections that
	// were idle have died.
	warmUp = time.Second

	// In trouble the service is asked for this share of what it usually answers. With the rest it works off what
	// has piled up.
	usualShare = 0.75

	// After this time, an answer counts 1/e for what is usual.
	usualWindow = 30 * time.Second

	// While more than this share of the attempts fail in time, what is usual stands still: a service that refuses calls
	// answers none, and what it answered before would be forgotten by the time it is asked to do that again.
	failedShare = 0.5

	// But only for so long. Where most attempts always fail in time, what the service answers besides is what is usual.
	failedLongest = 5 * time.Minute

	// This long after the last trouble the limit grows, if calls still wait: it may be too low. Growing earlier
	// brings the trouble back.
	calm = 30 * time.Second

	// The same where nothing usual is known, so that the limit is no more than a guess. Without growth, a process
	// that started in an outage would keep its one slot.
	calmUnknown = time.Second

	// The limit grows by this share, and by a slot at least, each time that all slots have been used.
	growth = 0.1

	// What fades is brought up to date at most this often, because it takes more time than a slot does.
	agingInterval = 10 * time.Millisecond
)

// An outcome is how an attempt ended, for Slots that size themselves.
type outcome byte

const (
	uncounted outcome = iota // there is none, it has been counted, or it says nothing: the caller has cancelled it
	failed                   // in time, so the service did not work for it for long
	answered                 // in time
	late                     // it failed because its time was over
)

// longest returns how long an attempt may take that begins now. A negative timeout is none.
func longest(ctx context.Context, timeout time.Duration) time.Duration {
	if timeout < 0 {
		timeout = math.MaxInt64
	}
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(0, time.Until(deadline)))
	}
	return timeout
}

// outcomeOf returns how an attempt ended: with err, its time over or not, and the Err of its call's context. Whether a
// failure in time is an answer is known only when Retryable has been asked.
func outcomeOf(err error, timeIsOver bool, ctxErr error) outcome {
	switch {
	case err == nil:
		return answered
	case errors.Is(ctxErr, context.Canceled):
		return uncounted
	case isLate(err, timeIsOver):
		return late
	}
	return failed
}

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

// A watch is what Slots that size themselves know of a service: how many of the last attempts were late, and what
// it usually answers. The zero value knows nothing. All times are since epoch.
type watch struct {
	calls   int           // that have begun and not ended: in an attempt, in line, or in a wait
	began   time.Duration // when the first call after the last pause began; 0 in the zero value
	idle    time.Duration // since when there has been no call, if there is none
	updated time.Duration // when the numbers that fade were last brought up to date

	// The attempts of the last seconds. Each counts e^(−age / lateWindow).
	late   float64
	inTime float64
	failed float64 // of those in time, the ones that are no answers

	// What is usual. Each answer, and each second, counts e^(−age / usualWindow).
	work float64 // seconds that the attempts which were answered might have taken
	seen float64 // seconds that have passed

	limited bool          // since trouble began, until it is over
	known   bool          // enough of what is usual was known when it began
	trouble time.Duration // when there last was trouble
	grown   float64       // slots that have been added since then
	served  time.Duration // when at most failedShare of the attempts last failed in time
}

// begin notes that a call begins.
func (w *watch) begin() {
	w.calls++
	if w.calls > 1 {
		return
	}
	now := time.Since(epoch)
	if w.isForgotten(now) {
		w.forget(now)
	}
}

// isForgotten reports whether there has been no call for so long that nothing is known any more. In a test, simulated
// time may begin before what was real.
func (w *watch) isForgotten(now time.Duration) bool {
	idle := now - w.idle
	return w.began == 0 || idle > forgetAfter || idle < 0
}

// end notes that a call has ended.
func (w *watch) end() {
	w.calls--
	if w.calls == 0 {
		w.idle = time.Since(epoch)
	}
}

// forget makes w know nothing but the calls in progress.
func (w *watch) forget(now time.Duration) {
	*w = watch{calls: w.calls, began: now, updated: now, served: now}
}

// attempted notes how an attempt ended, which might have taken most.
func (w *watch) attempted(o outcome, most time.Duration) {
	if o == uncounted {
		return
	}
	w.update()
	switch o {
	case late:
		w.late++
	case answered:
		w.inTime++
		if !w.standsStill() {
			w.work += most.Seconds()
		}
	case failed:
		w.inTime++
		w.failed++
	}

	if !w.mostFail() {
		w.served = w.updated
	}
	switch {
	case w.inTrouble():
		w.trouble = w.updated
		w.grown = 0
		if o == late && !w.limited && w.isBelievable() {
			w.limited = true
			w.known = w.knowsEnough()
		}
	case w.limited && w.updated-w.trouble > w.calmTime(): // if no call waits, admit ends it next
		w.grown += max(growth, 1/float64(w.slots())) // so much for each attempt
	}
}

// inTrouble reports whether too many attempts are late.
func (w *watch) inTrouble() bool { return w.late > lateShare*(w.late+w.inTime) }

// isBelievable reports whether enough is known to limit calls because of late attempts.
func (w *watch) isBelievable() bool {
	return w.late >= lateLeast && w.updated-w.began >= warmUp
}

// knowsEnough reports whether a limit can go by what is usual. A single answer in the first seconds is not enough: it
// may have come by luck, after the service's trouble had begun.
func (w *watch) knowsEnough() bool {
	return w.work > 0 && (w.seenEnough() || usualShare*w.usual() >= 1)
}

func (w *watch) seenEnough() bool { return w.seen > lateWindow.Seconds() }

// calmTime returns how long after the last trouble the limit grows.
func (w *watch) calmTime() time.Duration {
	if w.known {
		return calm
	}
	return calmUnknown
}

// mostFail reports whether too many attempts fail in time for what is answered to be usual.
func (w *watch) mostFail() bool { return w.failed > failedShare*(w.late+w.inTime) }

// standsStill reports whether what is usual stays as it is: while a limit goes by it, and, if enough has been seen
// before, while most attempts fail in time.
func (w *watch) standsStill() bool {
	fails := w.mostFail() && w.updated-w.served < failedLongest
	return w.limited && w.known || fails && w.seenEnough()
}

// nobodyWaits ends the limit if the trouble is over, while no call waits.
func (w *watch) nobodyWaits() {
	if w.limited && !w.inTrouble() {
		w.update() // first, so that time under the limit does not count as time that was seen
		w.limited = false
	}
}

// limit returns how many slots there are. More may be in use, from before the trouble. Slots.Limit may ask while there is
// no call, when begin has not forgotten yet what is over.
func (w *watch) limit() int {
	if !w.limited || w.calls == 0 && w.isForgotten(time.Since(epoch)) {
		return math.MaxInt
	}
	return w.slots()
}

// slots returns how many slots there are in trouble. If every attempt takes all of its time, they let usualShare of what
// is usual reach the service.
func (w *watch) slots() int {
	return int(min(math.MaxInt32, math.Round(max(1, usualShare*w.usual())+w.grown)))
}

// usual returns how many attempts are usually in progress if each takes all the time that it may: answers in a second ×
// seconds for each.
func (w *watch) usual() float64 { return w.work / max(w.seen, 1) }

// update lets what is known fade.
func (w *watch) update() {
	now := time.Since(epoch)
	age := now - w.updated
	switch {
	case age < 0: // a test's simulated time begins before the real one
		w.forget(now)
		return
	case age < agingInterval:
		return
	}
	w.updated = now

	left := fade(age, lateWindow)
	w.late *= left
	w.inTime *= left
	w.failed *= left
	if !w.standsStill() {
		left = fade(age, usualWindow)
		w.work *= left
		w.seen = w.seen*left + usualWindow.Seconds()*(1-left)
	}
}

// fade returns what 1 counts after age, if it counts 1/e after window.
func fade(age, window time.Duration) float64 {
	return math.Exp(-age.Seconds() / window.Seconds())
}
