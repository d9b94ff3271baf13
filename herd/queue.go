package main

import (
	"container/heap"
	"time"
)

// simClock is the simulated time, counted from an arbitrary moment.
type simClock struct{ now time.Duration }

func (c *simClock) Now() time.Time { return time.Unix(0, 0).Add(c.now) }

func (c *simClock) second() int { return int(c.now / time.Second) }

// simulation calls functions at simulated times, and those of the same nanosecond in the order in which
// they were scheduled.
type simulation struct {
	clock     simClock
	events    events
	scheduled int
}

// schedule has f called at a time that is not before now.
func (s *simulation) schedule(at time.Duration, f func()) {
	s.scheduled++
	heap.Push(&s.events, &event{at, s.scheduled, f})
}

// run goes from event to event until there is none.
func (s *simulation) run() {
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(*event)
		s.clock.now = e.at
		e.call()
	}
}

type event struct {
	at    time.Duration
	order int
	call  func()
}

// events is a heap.
type events []*event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(*event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	first := (*e)[last]
	*e = (*e)[:last]
	return first
}
