package main

import (
	"slices"
	"time"
)

// history is what happens in a simulation.
type history struct {
	tally
	others   tally  // the requests of other programs after the trouble, or the calls to other parts of the service
	requests counts // of the calls, that reach the service
	answers  counts // of the calls that succeed, when they do
}

// tally counts calls.
type tally struct {
	begun   int
	took    []time.Duration // by those that succeed
	slowest time.Duration   // of all
}

// count counts a call that has ended.
func (t *tally) count(took time.Duration, ok bool) {
	t.slowest = max(t.slowest, took)
	if ok {
		t.took = append(t.took, took)
	}
}

// lost returns the calls that have not succeeded, share how many that are in per cent of all.
func (t *tally) lost() int      { return t.begun - len(t.took) }
func (t *tally) share() float64 { return float64(t.lost()) * 100 / float64(max(1, t.begun)) }

// half returns the seconds that half of the calls that succeeded took at most.
func (t *tally) half() float64 {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return t.took[(len(t.took)-1)/2].Seconds()
}

// longest returns the seconds that the slowest call took.
func (t *tally) longest() float64 { return t.slowest.Seconds() }

// counts has the number of events in each second.
type counts map[int]int

// sum returns the events of the seconds from first to before end.
func (c counts) sum(first, end int) int {
	total := 0
	for second := first; second < end; second++ {
		total += c[second]
	}
	return total
}
