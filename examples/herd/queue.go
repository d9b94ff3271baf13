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

// wheel is a timing wheel: a list of events for each millisecond, which is sorted when its turn comes.
// A list also holds the events of later turns of the wheel.
type wheel[T any] struct {
	lists [1 << 14][]entry[T] // of the milliseconds after now, in the order of the pushes
	size  int
	now   int64      // the millisecond that is served
	due   []entry[T] // its remaining events, the last one first
}

type entry[T any] struct {
	at    time.Duration
	event T
}

func (w *wheel[T]) push(at time.Duration, event T) {
	w.size++
	e := entry[T]{at, event}
	if ms := at.Milliseconds(); ms > w.now {
		list := &w.lists[ms%int64(len(w.lists))]
		*list = append(*list, e)
		return
	}
	place := sort.Search(len(w.due), func(i int) bool { return w.due[i].at <= at })
	w.due = slices.Insert(w.due, place, e)
}

func (w *wheel[T]) pop() (at time.Duration, event T, ok bool) {
	if w.size == 0 {
		return 0, event, false
	}
	for len(w.due) == 0 {
		w.now++
		w.turn()
	}
	w.size--
	last := len(w.due) - 1
	first := w.due[last]
	w.due = w.due[:last]
	return first.at, first.event, true
}

// turn moves the events of the millisecond now from its list to due.
func (w *wheel[T]) turn() {
	list := &w.lists[w.now%int64(len(w.lists))]
	*list = slices.DeleteFunc(*list, func(e entry[T]) bool {
		if e.at.Milliseconds() != w.now {
			return false
		}
		w.due = append(w.due, e)
		return true
	})
	slices.Reverse(w.due)
	slices.SortStableFunc(w.due, func(a, b entry[T]) int { return cmp.Compare(b.at, a.at) })
}
