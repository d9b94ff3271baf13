package backoff

import (
	"container/list"
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// ErrNoSlot says that [Slots] had no slot for a call in time, and that the call was not made. Test for it by
// [errors.Is]. The error may come immediately, if hardly any time is left: if you call again and again in a loop of
// your own, wait between the calls.
var ErrNoSlot = errors.New("no slot for the call")

// errNoTimeToWait is the error of a call whose context has not ended, but whose deadline is too near.
var errNoTimeToWait = &joined{ErrNoSlot, errors.New("none was free in the time that the deadline leaves")}

// Slots limits how many calls to a service are in progress at once in this process, so that calls and their
// retries cannot keep an overloaded service down. Make one for each service, share it among all that call the service,
// and set it in a [Retrier], which acquires and releases the slots:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: time.Second,
//		Slots:          new(backoff.Slots),
//	}
//
// The zero value sizes itself:
//
//   - On a healthy day there is a slot for every call, whatever bursts come.
//   - When more than a quarter of the last attempts are late, and at least two, the service is in trouble. An attempt is
//     late if it fails because its time is over. There are slots for three quarters of the usual calls then: the calls
//     that begin in a second, times the seconds that an attempt may take. Other calls wait in line. While more than
//     three quarters are still late, half of the slots go every five times that an attempt may take.
//   - Where only a part hangs, others are quick: answers come within a third of an attempt's time. If that is so for more
//     than a fifth of the attempts, and three quarters of those in time, there are more slots again.
//   - When at most a quarter are late, there are soon as many slots as before, or three quarters of that number if it
//     has proved too high. If calls still wait after sixty times that an attempt may take, there are more. When none
//     waits, the limit ends.
//
// An attempt is late if it has taken all of its time, or its error says that something timed out. So calls to a service
// that refuses them, or fails them at random, are never limited. To limit the retries there, set a [Budget] besides. Set
// one also where many processes send less than one call in AttemptTimeout each, because each process has one slot at
// least; and where a part of the service may be overloaded while others are quick.
//
// Usual is the average of the last thirty times that an attempt may take. Three seconds after the last call has ended,
// everything is forgotten (in trouble, all but what was usual), and no trouble is believed in the first second of the
// calls that follow. So give calls that take minutes, such as long polls, Slots of their own. Callers that cancel a
// call before its time is over say nothing of the service. For a batch that begins thousands of calls at once, and
// where a fixed number of calls is allowed, take [NewSlots].
//
// If a call takes more than half of AttemptTimeout on average, attempts are late on healthy days too. Make
// AttemptTimeout at least three times what a call usually takes.
//
// Give each part of a service that can fail by itself Slots of its own: calls that hang hold the slots that other
// calls need.
//
// A Slots is safe for concurrent use. It must not be copied after first use. Nil Slots have a slot for every call.
type Slots struct {
	n int // as NewSlots was told; 0 means that watch says how many

	// The line is a list, since the number of slots changes. A channel is made for a call that waits, and not before:
	// one that is made outside of a synctest bubble cannot be used inside.
	mu      sync.Mutex
	watch   watch
	inUse   int
	waiting list.List // of chan struct{}, each is closed to give its call a slot
}

// NewSlots returns Slots with a fixed limit of n calls at once: for a batch, a pool, a quota, or for use by hand. It
// panics if n is less than 1.
//
// To protect a service by a number, make, over all processes, half as many as the calls that it can do in
// AttemptTimeout; or in each process 3/4 × the calls that begin in its busiest second × AttemptTimeout in seconds.
func NewSlots(n int) *Slots {
	if n < 1 {
		panic("backoff: NewSlots called with less than one slot")
	}
	return &Slots{n: n}
}

// Acquire takes a slot of [NewSlots] for a call, and waits in line if none is free. timeout is that of one attempt. If
// Acquire returns nil, the call must end with Release. A [Retrier] does both.
//
// If no slot is free, Acquire waits in line; first come, first served. If attempts have no timeout, which zero and
// negative values mean, or ctx has no deadline, it waits until ctx ends. Otherwise it waits as long as that leaves an
// attempt its whole timeout, or for a quarter of the time that is left, whichever is longer: a shorter attempt costs
// the service as much, and is most likely in vain.
//
// The error matches [ErrNoSlot]. If ctx has ended, it also matches ctx.Err() and context.Cause(ctx); such a call
// gets no slot even if one is free.
//
// Acquire panics if ctx is nil, and on a zero Slots, which a Retrier must tell how attempts end. On nil Slots it
// returns nil.
func (s *Slots) Acquire(ctx context.Context, timeout time.Duration) error {
	switch {
	case ctx == nil:
		panic("backoff: Acquire called with a nil context")
	case s == nil:
		return nil
	case s.sizesItself():
		panic("backoff: Acquire called on a zero Slots; use NewSlots, or a Retrier")
	case ctx.Err() != nil:
		return noSlot(ctx)
	}
	return s.acquire(ctx, timeout)
}

// begin counts a call that begins, whose first attempt may take so long, and reports whether there was a slot for it.
func (s *Slots) begin(now, allowed time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizesItself() {
		s.watch.begin(now, allowed)
	}
	return s.take()
}

// take takes a slot, if one is free. It requires mu.
func (s *Slots) take() bool {
	if s.inUse >= s.limit() {
		return false
	}
	s.inUse++
	return true
}

// acquire is Acquire for all Slots, and a ctx that has not ended.
func (s *Slots) acquire(ctx context.Context, timeout time.Duration) error {
	s.mu.Lock()
	if s.take() {
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := s.waiting.PushBack(turn)
	s.mu.Unlock()

	acquired := false
	defer func() {
		if !acquired { // which may be because a context of a user's own has panicked
			s.leave(place)
		}
	}()
	acquired = await(ctx, turn, timeout)
	if !acquired {
		return noSlot(ctx)
	}
	return nil
}

// await waits for turn, for as long as ctx leaves time, and reports whether it came.
func await(ctx context.Context, turn <-chan struct{}, timeout time.Duration) bool {
	var tooLate <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok && timeout > 0 { // without a timeout, the end of ctx is the limit
		left := max(0, time.Until(deadline))
		timer := time.NewTimer(max(left-timeout, left/4))
		defer timer.Stop()
		tooLate = timer.C
	}

	select {
	case <-turn:
		return ctx.Err() == nil // select picks at random when both are ready
	case <-tooLate:
		return false
	case <-ctx.Done():
		return false
	}
}

// noSlot returns the error of a call that got no slot.
func noSlot(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return errNoTimeToWait
	}
	return newEndError(err, context.Cause(ctx), ErrNoSlot, nil)
}

// leave takes a call out of the line. If its turn has come meanwhile, the slot goes to the next call.
func (s *Slots) leave(place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-place.Value.(chan struct{}):
		s.release()
	default:
		s.waiting.Remove(place)
	}
}

// Release gives back the slot that Acquire took. It panics if no slot is in use, and on a zero Slots. Nil Slots do
// nothing.
func (s *Slots) Release() {
	switch {
	case s == nil:
		return
	case s.sizesItself():
		panic("backoff: Release called on a zero Slots; use NewSlots, or a Retrier")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse == 0 {
		panic("backoff: Release called without Acquire")
	}
	s.release()
}

// release returns a slot. It requires mu.
func (s *Slots) release() {
	s.inUse--
	s.admit()
}

// admit gives the free slots to the calls that have waited for longest. It follows each change of what decides how many
// slots there are, but for what begin forgets, when nobody waits. It requires mu.
func (s *Slots) admit() {
	for s.waiting.Len() > 0 && s.inUse < s.limit() {
		turn := s.waiting.Remove(s.waiting.Front()).(chan struct{})
		s.inUse++
		close(turn)
	}
	if s.waiting.Len() == 0 {
		s.watch.nobodyWaits()
	}
}

// keep notes how an attempt ended, and reports whether its call keeps its slot in the wait that follows. It does not if
// the wait is long, or more slots are in use than there may be.
func (s *Slots) keep(now time.Duration, o outcome, long bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.attempted(now, o, s.waiting.Len() > 0)
	s.admit()
	if long || s.inUse > s.limit() {
		s.release()
		return false
	}
	return true
}

// end ends a call, with its slot if it has one, and notes how its last attempt ended if that is not noted yet.
func (s *Slots) end(now time.Duration, o outcome, hasSlot bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.attempted(now, o, s.waiting.Len() > 0)
	if hasSlot {
		s.inUse--
	}
	if s.sizesItself() {
		s.watch.end(now)
	}
	s.admit()
}

// limit returns how many slots there are. It requires mu.
func (s *Slots) limit() int {
	if s.n > 0 {
		return s.n
	}
	return s.watch.most()
}

// sizesItself reports whether s is not made by NewSlots.
func (s *Slots) sizesItself() bool { return s != nil && s.n == 0 }

// Limit returns how many slots there are, for a metric: math.MaxInt if there is no limit. InUse may be more when a limit
// has just begun.
func (s *Slots) Limit() int {
	if s == nil {
		return math.MaxInt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizesItself() && s.watch.isForgotten(time.Since(epoch)) { // as the next call will
		return math.MaxInt
	}
	return s.limit()
}

// InUse returns how many slots are in use, for a metric.
func (s *Slots) InUse() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}

// Waiting returns how many calls wait in line for a slot, for a metric.
func (s *Slots) Waiting() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting.Len()
}
