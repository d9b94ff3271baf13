package main

import (
	"math"
	"slices"
	"time"
)

// trouble is what a service gets into. Its times count from its beginning.
type trouble struct {
	name     string        // the head of its column
	at       float64       // load, if it is not that of the flags
	duration time.Duration // until the last of all that ends
	backends int           // of the service, if only some of them hang; else 0
	dips     []dip
	effects  []effect
}

// dip is a time with less capacity.
type dip struct {
	begin, end time.Duration
	left       float64 // share of the capacity meanwhile
	backend    int     // that has it, or all
}

// effect is what happens to a share of the attempts or calls, or to the traffic.
type effect struct {
	kind   string
	amount float64
	end    time.Duration
}

// The kinds of effects.
const (
	failing  = "fail"    // a share of the attempts fails, after the work
	refusing = "refuse"  // a share of the attempts is refused without work
	stuck    = "stuck"   // a share of the attempts has no answer, and no work
	late     = "late"    // a share of the answers comes after two timeouts of an attempt
	slow     = "slow"    // answers take so many timeouts on average, exponentially distributed, besides the work
	part     = "part"    // the calls to a part of the service, a share of all, have no answer, and no work
	traffic  = "traffic" // factor by which more calls begin
	doubling = "double"  // the calls double in each so many seconds
)

const (
	allBackends = -1
	forever     = time.Duration(math.MaxInt64)
)

// amount returns how much there is of a kind of effect at a time: 0 without it.
func (t trouble) amount(kind string, since time.Duration) float64 {
	for _, one := range t.effects {
		if one.kind == kind && since >= 0 && since < one.end {
			return one.amount
		}
	}
	return 0
}

// isOutage reports whether the service is down for a time, and that is all.
func (t trouble) isOutage() bool {
	return len(t.dips) == 1 && t.dips[0].left == 0 && t.dips[0].backend == allBackends && len(t.effects) == 0
}

// has reports whether there is a kind of effect at some time.
func (t trouble) has(kind string) bool {
	return slices.ContainsFunc(t.effects, func(one effect) bool { return one.kind == kind })
}

// surge returns the factor by which more calls begin.
func (t trouble) surge(since time.Duration) float64 {
	factor := 1.0
	if more := t.amount(traffic, since); more > 0 {
		factor = more
	}
	if each := t.amount(doubling, since); each > 0 {
		factor *= math.Exp2(since.Seconds() / each)
	}
	return factor
}

// capacity returns the share of its capacity that a backend has left, and until when.
func (t trouble) capacity(backend int, since time.Duration) (left float64, until time.Duration) {
	left, until = 1, forever
	for _, d := range t.dips {
		switch {
		case d.backend != allBackends && d.backend != backend:
		case since < d.begin:
			until = min(until, d.begin)
		case since < d.end:
			left *= d.left
			until = min(until, d.end)
		}
	}
	return left, until
}
