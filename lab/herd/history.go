package main

import (
	"slices"
	"time"
)

// history is what happens in a simulation.
type history struct {
	begun      int             // calls
	took       []time.Duration // by calls that succeed
	slowest    time.Duration   // of all calls
	requests   counts          // of them, that reach the service
	others     int             // requests of other programs after the trouble
	othersLost int             // and those that fail
}

// lost returns the calls that have not succeeded.
func (h *history) lost() int { return h.begun - len(h.took) }

// lostShare returns the lost calls in per cent of all, othersShare the lost requests of other programs.
func (h *history) lostShare() float64   { return share(h.lost(), h.begun) }
func (h *history) othersShare() float64 { return share(h.othersLost, h.others) }

func share(part, all int) float64 { return float64(part) * 100 / float64(max(1, all)) }

// half returns the seconds that half of the calls that succeeded took at most.
func (h *history) half() float64 {
	if len(h.took) == 0 {
		return 0
	}
	slices.Sort(h.took)
	return h.took[(len(h.took)-1)/2].Seconds()
}

// longest returns the seconds that the slowest call took.
func (h *history) longest() float64 { return h.slowest.Seconds() }

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
