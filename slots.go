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

// errNoTimeToWait is the error of a call whose context has not ended, but whose deadline is too near.
var errNoTimeToWait = &joined{ErrNoSlot, errors.New("all are in use, and the deadline leaves no time to wait")}

// Slots limits how many calls to a service are in progress at once in this process, so that calls and their
// retries cannot keep an overloaded service down.
//
// Make one Slots for each service, share it among all that call the service, and set it in a [Retrier], which
// acquires and releases the slots:
//
//	var users = backoff.Retrier{
//		AttemptTimeout: 2 * time.Second,
//		Slots:          backoff.NewSlots(20), // 3/4 × 13 calls a second × 2 s, as below
//		Budget:         new(backoff.Budget),
//	}
//
// # How many
//
// Make in each process
//
//	3/4 × the calls that it makes in a second, at its busiest × AttemptTimeout
//
// slots, to the nearest whole number, but at least one. Count the calls with the Retrier's Done, or with the metrics
// that the program has; retries do not count.
//
// That protects a service which can do what it does on a busy day. Even if every attempt runs into its timeout, the
// service receives at most three quarters of its busiest rate, and works off what has piled up. The rule assumes that
// a call takes at most a third of AttemptTimeout on average. Then few calls wait for a slot on a healthy day; with
// fewer than about six slots more of them do, for a moment.
//
// More slots are right if you know that the service can do more than it does on a busy day. Half of what it can do
// protects it as well:
//
//	calls that it can do in a second × AttemptTimeout / 2
//
// slots in all processes together. If there may be more processes than you have counted, such as those that an
// autoscaler starts during an outage, a [Budget] is what protects the service.
//
// Give each part of a service that can fail by itself slots of its own: calls that hang hold the slots that other
// calls need.
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
// If no slot is free, Acquire waits in line; first come, first served. It waits until ctx ends. If ctx has a
// deadline, it waits only as long as that leaves an attempt its whole timeout: a shorter attempt costs the service
// as much, and is most likely in vain. But it always waits for a quarter of the time that is left, even if less
// than the timeout is left. A timeout of zero or less means that attempts have none.
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

	acquired := false
	defer func() {
		if !acquired { // a context of a user's own may panic, too
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
	var late <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok && timeout > 0 { // without a timeout, the end of ctx is the limit
		left := max(0, time.Until(deadline))
		timer := time.NewTimer(max(left-timeout, left/4))
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
	err := ctx.Err()
	if err == nil {
		return errNoTimeToWait
	}
	return newContextError(err, context.Cause(ctx), ErrNoSlot, nil)
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
