package main

import "time"

// simClock is the simulated time, counted from an arbitrary moment.
type simClock struct{ now time.Duration }

func (c *simClock) Now() time.Time { return time.Unix(0, 0).Add(c.now) }

func (c *simClock) second() int { return int(c.now / time.Second) }

// simulation calls functions at simulated times, and those of the same nanosecond in the order in which
// they were scheduled.
type simulation struct {
	clock     simClock
	events    []event // a heap
	scheduled int
	current   int // the number of the event that happens now
}

type event struct {
	at     time.Duration
	number int
	call   func()
}

func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.number < other.number
}

// schedule has f called at a time that is not before now, and returns the number of the event.
func (s *simulation) schedule(at time.Duration, f func()) int {
	s.scheduled++
	e, i := event{at, s.scheduled, f}, len(s.events)
	s.events = append(s.events, e)
	for parent := (i - 1) / 2; i > 0 && e.before(s.events[parent]); parent = (i - 1) / 2 {
		s.events[i], i = s.events[parent], parent
	}
	s.events[i] = e
	return e.number
}

// next takes the first event out.
func (s *simulation) next() event {
	first, last := s.events[0], len(s.events)-1
	e, i := s.events[last], 0
	s.events[last] = event{}
	s.events = s.events[:last]
	for child := 1; child < last; child = 2*i + 1 {
		if child+1 < last && s.events[child+1].before(s.events[child]) {
			child++
		}
		if e.before(s.events[child]) {
			break
		}
		s.events[i], i = s.events[child], child
	}
	if last > 0 {
		s.events[i] = e
	}
	return first
}

// run goes from event to event until there is none.
func (s *simulation) run() {
	for len(s.events) > 0 {
		e := s.next()
		s.clock.now, s.current = e.at, e.number
		e.call()
	}
}
