package main

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// events is a queue of events in the order of their times. Events of the same nanosecond come in the
// order in which they were pushed.
type events[T any] interface {
	// push adds an event at a time that is not before that of the last pop.
	push(at time.Duration, event T)
	// pop removes the first event. It reports false if there is none.
	pop() (at time.Duration, event T, ok bool)
}

// wheel is a timing wheel: a linked list of events for each millisecond, which is sorted when its
// turn comes. The lists share one slice, so that a million events need no allocations of their own.
// A list also holds the events of later turns of the wheel.
type wheel[T any] struct {
	slots []slot[T]
	lists [1 << 16]int32 // the newest event of each millisecond; 0 for none
	free  int32          // a list of the unused slots
	size  int
	now   int64   // the millisecond that is served
	due   []entry // its remaining events, the last one first
}

type slot[T any] struct {
	event T
	at    time.Duration
	next  int32
}

type entry struct {
	at   time.Duration
	slot int32
}

func newWheel[T any]() *wheel[T] {
	return &wheel[T]{slots: make([]slot[T], 1)} // slot 0 stands for none
}

func (w *wheel[T]) push(at time.Duration, event T) {
	w.size++
	i := w.free
	if i == 0 {
		i = int32(len(w.slots))
		w.slots = append(w.slots, slot[T]{})
	}
	s := &w.slots[i]
	w.free = s.next
	s.event, s.at, s.next = event, at, 0
	ms := at.Milliseconds()
	if ms <= w.now {
		place := sort.Search(len(w.due), func(k int) bool { return w.due[k].at <= at })
		w.due = slices.Insert(w.due, place, entry{at, i})
		return
	}
	list := &w.lists[ms%int64(len(w.lists))]
	s.next = *list
	*list = i
}

func (w *wheel[T]) pop() (time.Duration, T, bool) {
	if w.size == 0 {
		var none T
		return 0, none, false
	}
	for len(w.due) == 0 {
		w.now++
		w.turn()
	}
	first := w.due[len(w.due)-1]
	w.due = w.due[:len(w.due)-1]
	w.size--
	s := &w.slots[first.slot]
	event := s.event
	*s = slot[T]{next: w.free}
	w.free = first.slot
	return first.at, event, true
}

// turn moves the events of the millisecond now from its list to due.
func (w *wheel[T]) turn() {
	from := &w.lists[w.now%int64(len(w.lists))]
	for *from != 0 {
		i := *from
		s := &w.slots[i]
		if s.at.Milliseconds() != w.now {
			from = &s.next
			continue
		}
		*from = s.next
		w.due = append(w.due, entry{s.at, i})
	}
	slices.SortStableFunc(w.due, func(a, b entry) int { return cmp.Compare(b.at, a.at) })
}
