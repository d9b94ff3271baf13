package main

import (
	"slices"
	"time"
)

// history counts what happens in each second.
type history struct {
	begun      counts // calls that arrive
	good       counts // calls that succeed
	requests   counts // that reach the service
	others     counts // requests of other programs
	othersLost counts // and those that fail, by the second in which they were sent
	slowest    time.Duration
	waits      []time.Duration // of calls, until their first requests were sent
	took       []time.Duration // by calls that succeeded
}

// lost returns the calls that have not succeeded.
func (h *history) lost() int { return h.begun.total() - h.good.total() }

// lostShare returns the lost calls in per cent of all.
func (h *history) lostShare() float64 {
	return float64(h.lost()) * 100 / float64(max(1, h.begun.total()))
}

// othersShare returns the lost requests of other programs in per cent, of those sent from a time to before
// another.
func (h *history) othersShare(from, to time.Duration) float64 {
	first, end := int(from/time.Second), int(to/time.Second)
	return float64(h.othersLost.sum(first, end)) * 100 / float64(max(1, h.others.sum(first, end)))
}

// quantile returns the time, in seconds, that a share of some times does not exceed.
func quantile(times []time.Duration, share float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[int(share*float64(len(times)-1))].Seconds()
}

// waited returns how long 99 % of the calls waited for their first requests at most, half how long half of those that
// succeeded took.
func (h *history) waited() float64 { return quantile(h.waits, 0.99) }
func (h *history) half() float64   { return quantile(h.took, 0.5) }

// longest returns the seconds that the slowest call took.
func (h *history) longest() float64 { return h.slowest.Seconds() }

// each returns the requests for each call.
func (h *history) each() float64 {
	return float64(h.requests.total()) / float64(max(1, h.begun.total()))
}

// counts is a number of events for each second.
type counts []int

// add counts an event in a second.
func (c *counts) add(second int) {
	for len(*c) <= second {
		*c = append(*c, 0)
	}
	(*c)[second]++
}

// sum returns the events of the seconds from first to before end.
func (c counts) sum(first, end int) int {
	total := 0
	for i := first; i < min(end, len(c)); i++ {
		total += c[i]
	}
	return total
}

// total returns all events.
func (c counts) total() int { return c.sum(0, len(c)) }
