package backoff

import (
	"container/list"
	"context"
	"errors"
	"math"
	"math/bits"
	"sync"
	"time"
)

// ErrNoSlot says that [Slots] had no slot for a call in time, and that the call was not made. Test for it by
// [errors.Is]. The error may come immediately, if hardly any time is left: if you call again and again in a loop of
// your own, wait between the calls.
var ErrNoSlot = errors.New("no slot for the call")

// errNoTimeToWait is the error of a call whose context has not ended, but whose deadline is too near.
var errNoTimeToWait = &joined{ErrNoSlot, errors.New("none was free in the time that the deadline leaves")}

// Slots limits how many calls of this process to a service are in progress at once, while many of them time out. The others
// wait in line, so that an overloaded service can recover. Set one in the [Retrier] of the service:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: time.Second,
//		Slots:          new(backoff.Slots),
//	}
//
// The zero value sizes itself. While at most a quarter of the last attempts time out, there is no limit. When more do, there
// are slots for three quarters of the calls that usually begin in AttemptTimeout, and fewer while nearly all time out. The
// limit ends when the timeouts have ended and no call waits. Refusals, and failures in time, begin no limit.
//
// Of the calls in line, the one that can wait for the shortest time is next, and every fourth time the one that came first.
//
// Three things Slots cannot do. They cost healthy calls where a part of the service hangs for more than half of the recent
// attempts, which between two bursts of calls may be a small part. They do not help where more than a fifth of the calls
// are answered quickly while the rest is overloaded. And they do not hold for attempts with very different timeouts
// together.
//
// So take Slots for each part of a service that can fail by itself, and for each timeout. Make AttemptTimeout at least four
// times what a call usually takes. Give calls a deadline: from a caller that cancels them, Slots learn nothing.
//
// A Slots is safe for concurrent use. It must not be copied after first use. Nil Slots have a slot for every call.
type Slots struct {
	n int // as NewSlots was told; 0 means that watch says how many

	mu    sync.Mutex
	inUse int
	watch watch
	queue queue
}

// NewSlots returns Slots with a fixed limit of n calls at once, first come, first served: for a batch, a pool, or a quota
// of calls at once. It panics if n is less than 1.
//
// A call keeps its slot for as long as a server asks it to wait. So take Slots for each quota.
//
// For a batch, take the calls that shall begin in a second × the seconds that one usually takes.
//
// To protect a service, make, over all processes, half as many as the calls that it can do in AttemptTimeout; or in each
// process 3/4 × the calls that begin in its busiest second × AttemptTimeout in seconds.
func NewSlots(n int) *Slots {
	if n < 1 {
		panic("backoff: NewSlots called with less than one slot")
	}
	return &Slots{n: n}
}

// begin counts a call that begins, whose first attempt may take so long, and reports whether there was a slot for it.
func (s *Slots) begin(now, allowed time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizesItself() { // a number needs none of this, which takes time
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

// acquire takes a slot for a call, before its first attempt or another. If none is free, it waits in line. Without a
// timeout of its attempts, which a negative value means, or a deadline of ctx, it waits until ctx ends. Otherwise it waits
// for as long as that leaves an attempt its whole timeout, or for a quarter of the time that is left, whichever is longer: a
// shorter attempt costs the service as much, and is most likely in vain.
//
// The error matches [ErrNoSlot]. If ctx has ended, it also matches ctx.Err() and context.Cause(ctx).
func (s *Slots) acquire(ctx context.Context, timeout time.Duration, first bool) error {
	patience := 0
	var tooLate <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok && timeout > 0 {
		left := max(0, time.Until(deadline))
		wait := max(left-timeout, left/4)
		patience = patienceOf(left - timeout)
		if first { // so that a call with no time for a whole attempt, which leaves soonest, is not the last
			patience = patienceOf(wait)
		}
		tooLate = time.After(wait)
	}

	t := s.join(patience)
	acquired := false
	defer func() {
		if !acquired { // which may be because a context of a user's own has panicked
			s.leave(t)
		}
	}()
	select {
	case <-t.came:
		acquired = ctx.Err() == nil // select picks at random when both are ready
	case <-tooLate:
	case <-ctx.Done():
	}
	if !acquired {
		return noSlot(ctx)
	}
	return nil
}

// noSlot returns the error of a call that got no slot.
func noSlot(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return errNoTimeToWait
	}
	return newEndError(err, context.Cause(ctx), ErrNoSlot, nil)
}

// join puts a call in line. A slot that has become free meanwhile is given away at once.
func (s *Slots) join(patience int) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sizesItself() {
		patience = 0 // first come, first served
	}
	t := s.queue.add(patience)
	s.admit()
	return t
}

// leave takes a call out of the line. If its turn has come meanwhile, the slot goes to the next call.
func (s *Slots) leave(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-t.came:
		s.release()
	default:
		s.queue.remove(t)
	}
}

// release returns a slot. It requires mu.
func (s *Slots) release() {
	s.inUse--
	s.admit()
}

// admit gives the free slots to the calls in line. It follows each change of what decides how many slots there are, but
// for begin: where that forgets the limit, nobody waits. It requires mu.
func (s *Slots) admit() {
	for s.queue.length() > 0 && s.take() {
		close(s.queue.next().came)
	}
	if s.queue.length() == 0 {
		s.watch.nobodyWaits()
	}
}

// keep notes how an attempt ended, and reports whether its call keeps its slot in the wait that follows. It does not if
// the wait is long, or more slots are in use than there may be. Nor does it after a late attempt while calls wait in line,
// unless there is only one slot: if it made all its attempts in a row, a call that hangs would take too much from the others.
func (s *Slots) keep(now time.Duration, o outcome, long bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.attempted(now, o, s.queue.length() > 0)
	s.admit()
	hangs := o == late && s.queue.length() > 0 && s.limit() > 1
	if long || hangs || s.inUse > s.limit() {
		s.release()
		return false
	}
	return true
}

// end ends a call, with its slot if it has one, and notes how its last attempt ended if that is not noted yet.
func (s *Slots) end(now time.Duration, o outcome, hasSlot bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.attempted(now, o, s.queue.length() > 0)
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
	return s.queue.length()
}

// A turn is a call in line.
type turn struct {
	came     chan struct{} // closed when the call has a slot
	patience int
	place    *list.Element // in the line
	equal    *list.Element // among the calls of its patience
}

// A queue is the line. The least patient call is next, and every fourth time the one that came first. In order of arrival
// alone, calls that can wait for long would hold the front of the line while a part of the service hangs, and the others
// would leave before their turn. What a method costs does not depend on how many calls wait.
type queue struct {
	served     uint64
	line       list.List            // of *turn, in the order of arrival
	byPatience [patiences]list.List // the same calls
}

// Patience is how long a call can wait, as a power of two: calls with equal deadlines keep the order of arrival. Zero means
// any time, or that there is no time for a whole attempt after the first one: such a call is next every fourth time, or if
// no other waits.
const patiences = 32

// patienceOf returns the patience of a call that can wait for so long: n for less than 2^n milliseconds.
func patienceOf(d time.Duration) int {
	return min(bits.Len64(uint64(max(0, d.Milliseconds()))), patiences-1)
}

// length returns how many calls wait.
func (q *queue) length() int { return q.line.Len() }

// add puts a call in line. (A channel that is made outside of a synctest bubble cannot be used inside, so each call makes
// its own.)
func (q *queue) add(patience int) *turn {
	t := &turn{came: make(chan struct{}), patience: patience}
	t.place = q.line.PushBack(t)
	t.equal = q.byPatience[patience].PushBack(t)
	return t
}

// remove takes a call out of the line.
func (q *queue) remove(t *turn) {
	q.line.Remove(t.place)
	q.byPatience[t.patience].Remove(t.equal)
}

// next takes the next call out of the line, in which there must be one.
func (q *queue) next() *turn {
	q.served++
	next := q.line.Front()
	for patience := 1; patience < patiences && q.served%4 != 0; patience++ {
		least := q.byPatience[patience].Front()
		if least != nil {
			next = least
			break
		}
	}
	t := next.Value.(*turn)
	q.remove(t)
	return t
}
