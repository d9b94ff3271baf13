package backoff

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrNoSlot is what the error of a call matches, by [errors.Is], if [Slots] had no slot for it in time. The call
// was not made. The error may come immediately: if you call again and again in a loop of your own, wait between the
// calls.
var ErrNoSlot = errors.New("no slot for the call")

// Slots limits how many calls to a service are in progress at once in this process, so that calls and their
// retries cannot keep an overloaded service down. A call holds a slot from before its first attempt to its
// end, waits included.
//
// Make one Slots for each service, share it among all that call the service, and set it in a [Retrier], which
// acquires and releases the slots:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: 2 * time.Second,
//		Slots:          backoff.NewSlots(20),
//	}
//
// # How many
//
// If you know how many requests the service can answer, make in each process
//
//	requests per second × timeout of an attempt / 2 / processes
//
// slots, where processes is the largest number that may run at once: 20 for 200 requests per second, 2 s and ten
// processes. Even if every attempt runs into its timeout, fewer requests then arrive than the service can answer,
// and it works off what has piled up. Four times as many slots do not protect it. If the result is less than one,
// make one slot, and set a [Budget], since there are too many slots then.
//
// If you know only your own traffic, make two to three times as many as calls are usually in progress in the
// process. That is their rate times their duration, or what InUse returns.
//
// If you know both, take the smaller number, but not less than is in progress on a healthy day.
//
// Calls that hang hold the slots that other calls need. So give each part of a service that can fail by itself
// slots of its own. Where somebody waits for the calls, set a Budget besides, which ends the retries of those
// that hang.
//
// A Slots is safe for concurrent use. It must not be copied. A nil Slots has a slot for every call; the zero
// value is not usable.
type Slots struct {
	n int

	mu      sync.Mutex
	inUse   int
	waiting list.List // of chan struct{}, each is closed to give its call a slot
}

// NewSlots returns n slots. It panics if n is less than 1.
func NewSlots(n int) *Slots {
	if n < 1 {
		panic("backoff: NewSlots called with less than one slot")
	}
	return &Slots{n: n}
}

// Acquire takes a slot for a call whose attempts have the given timeout. If it returns nil, the call must end with
// Release. A [Retrier] calls both.
//
// If no slot is free, Acquire waits; first come, first served. It waits until ctx ends, but if ctx has a deadline,
// only until an attempt would have less than its whole timeout left: such an attempt costs the service as much,
// and is most likely in vain. A timeout of zero or less means that attempts have none.
//
// The error matches [ErrNoSlot]. If ctx has ended, it also matches ctx.Err() and context.Cause(ctx); such a call
// gets no slot even if one is free.
//
// Acquire panics if ctx is nil, and on a zero Slots. On nil Slots it returns nil.
func (s *Slots) Acquire(ctx context.Context, timeout time.Duration) error {
	switch {
	case ctx == nil:
		panic("backoff: Acquire called with a nil context")
	case s == nil:
		return nil
	case s.n == 0:
		panic("backoff: Acquire called on a zero Slots; use NewSlots")
	case ctx.Err() != nil:
		return noSlot(ctx)
	}

	s.mu.Lock()
	if s.inUse < s.n {
		s.inUse++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := s.waiting.PushBack(turn)
	s.mu.Unlock()

	if !await(ctx, turn, timeout) {
		s.leave(place)
		return noSlot(ctx)
	}
	return nil
}

// await waits for turn, for as long as ctx leaves an attempt its timeout, and reports whether it came.
func await(ctx context.Context, turn <-chan struct{}, timeout time.Duration) bool {
	var late <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok && timeout > 0 { // without a timeout, the end of ctx is the limit
		left := max(0, time.Until(deadline))
		timer := time.NewTimer(left - timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-turn:
		return ctx.Err() == nil // select picks at random when both are ready
	case <-late:
		return false
	case <-ctx.Done():
		return false
	}
}

// noSlot returns the error of a call that got no slot.
func noSlot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return newContextError(err, context.Cause(ctx), ErrNoSlot)
	}
	return ErrNoSlot
}

// leave takes a call out of the line. If its turn has come meanwhile, the slot goes to the next call.
func (s *Slots) leave(place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-place.Value.(chan struct{}):
		s.pass()
	default:
		s.waiting.Remove(place)
	}
}

// Release returns the slot of a call that has ended. It panics if no slot is in use. Nil Slots do nothing.
func (s *Slots) Release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse == 0 {
		panic("backoff: Release called without Acquire")
	}
	s.pass()
}

// pass gives a slot to the call that has waited for longest, if there is one. It requires mu.
func (s *Slots) pass() {
	first := s.waiting.Front()
	if first == nil {
		s.inUse--
		return
	}
	turn := s.waiting.Remove(first).(chan struct{})
	close(turn)
}

// InUse returns how many slots are in use, for a metric: it tells how many calls are usually in progress.
func (s *Slots) InUse() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}
