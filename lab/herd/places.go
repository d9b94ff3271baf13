package main

import "math"

// places are what so many can have at a time. Others wait for them in order.
type places struct {
	free    int
	waiting []func() bool // takes the place, or reports that it no longer wants it
}

// newPlaces returns n places, or as many as anybody wants if n is zero.
func newPlaces(n int) places {
	if n == 0 {
		n = math.MaxInt
	}
	return places{free: n}
}

// take takes a place, if one is free.
func (p *places) take() bool {
	if p.free == 0 {
		return false
	}
	p.free--
	return true
}

// wait has f called when a place is there for it.
func (p *places) wait(f func() bool) { p.waiting = append(p.waiting, f) }

// release gives a place back, to the first that still waits.
func (p *places) release() {
	for len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting[0] = nil
		p.waiting = p.waiting[1:]
		if next() {
			return
		}
	}
	p.free++
}
