package main

import (
	"cmp"
	"math"
	"math/rand/v2"
)

// plan is a row of a table: a service with its trouble, and the programs that call it. All times are in seconds, and
// those of functions and dips count from the beginning of the simulation.
type plan struct {
	name string
	seed uint64
	service
	programs
	trouble
}

// service is what answers.
type service struct {
	rate     float64                  // requests that it can do in a second; 0: they need no work
	servers  int                      // requests that it works on at once, each at an equal part of its rate
	backends int                      // that share them, each with a queue of its own; 0: one
	spread   func(*rand.Rand) float64 // the work of a request, whose mean is 1; nil: exponential
	order    string                   // in which it takes requests from its queue
	heeds    bool                     // it drops the work of clients that have left
	line     int                      // how many may wait in a queue before it refuses; 0: no limit
	oldest   float64                  // it refuses requests that have waited for longer; 0: none
	asks     float64                  // for how long its refusals ask clients to wait
	proxy    float64                  // after so long a proxy before it answers with an error; 0: never
	cached   float64                  // share of the answers that need no work
	final    float64                  // share of the answers that are final errors
	answer   float64                  // the time of an answer besides the queue and the work
	grown    growth
}

// growth is how many more requests a service works on at once from a time on.
type growth struct{ at, factor float64 }

// The orders in which a service takes requests from its queue. Shared has none: it works on all of them at once.
const (
	oldestFirst = "oldest"
	newestFirst = "newest"
	shared      = "shared"
)

// programs are what calls the service.
type programs struct {
	load      float64 // of the usual calls, as a share of what the service can do
	timeout   float64 // of an attempt
	deadline  float64 // of a call; 0: none
	processes int
	skew      float64  // factor by which the busiest process has more calls than the idlest; 0: 1
	grow      int      // factor by which there are more processes from the trouble on, for the same calls; 0: 1
	fresh     bool     // each call has a process of its own
	streams   []stream // none: the usual calls
}

// stream is calls of one kind. They begin at random times, or in bursts, or workers make them one after the other.
type stream struct {
	name     string
	rate     func(t float64) float64 // calls that begin in a second
	burst    int                     // calls at once
	every    float64                 // time from one burst to the next; 0: there is one
	workers  int
	pause    float64 // of a worker between two calls, on average
	begin    float64 // when the first burst or call of a worker begins
	usual    float64 // calls in a second by which losses are counted; 0: the mean
	timeout  float64
	deadline float64
	answer   func(r *rand.Rand, t float64) float64 // time besides that of the service
	stuck    bool                                  // they have no answer in the trouble
	bare     bool                                  // other programs make them, without retries
	silent   bool                                  // they are not shown
}

// trouble is what the service gets into.
type trouble struct {
	from, duration, after float64 // for how long calls begin before it, in it and after it
	dips                  []dip
	effects               []effect
	restart               bool // all processes are restarted in the middle of it
}

// dip is a time in which the service, or one backend, has another capacity.
type dip struct {
	begin, end float64
	left       float64 // share of the capacity
	backend    int     // or all of them
	loses      bool    // at its end, requests that are there are refused
}

const allBackends = -1

// effect is what happens to a share of the attempts in the trouble, or to the end.
type effect struct {
	kind   string
	amount float64
	lasts  bool
}

// The kinds of effects.
const (
	failing  = "fail"   // a share of the attempts fails, after the work
	refusing = "refuse" // a share of the attempts is refused, without work
	hanging  = "hang"   // a share of the attempts has no answer, and no work
	slow     = "slow"   // answers take so many timeouts on average, exponentially distributed, besides the work
)

// back returns when the trouble ends, closing when the last calls begin, last when all that goes on is cut off.
func (p *plan) back() float64    { return p.from + p.duration }
func (p *plan) closing() float64 { return p.back() + p.after }
func (p *plan) last() float64    { return p.closing() + min(p.after, 1800) }

// demand returns the usual calls in a second.
func (p *plan) demand() float64 { return p.load * p.rate / (1 - p.cached) }

// calls returns the usual calls, or a share of them.
func (p *plan) calls(share float64) stream {
	rate := share * p.demand()
	return stream{rate: steady(rate), usual: rate, timeout: p.timeout, deadline: p.deadline}
}

// kinds returns all streams.
func (p *plan) kinds() []stream {
	if len(p.streams) == 0 {
		return []stream{p.calls(1)}
	}
	return p.streams
}

// inTrouble reports whether there is trouble at a time.
func (p *plan) inTrouble(t float64) bool { return t >= p.from && t < p.back() }

// amount returns how much there is of a kind of effect at a time.
func (p *plan) amount(kind string, t float64) (sum float64) {
	for _, e := range p.effects {
		if e.kind == kind && (p.inTrouble(t) || e.lasts && t >= p.from) {
			sum += e.amount
		}
	}
	return sum
}

// capacity returns the share of its capacity that a backend has at a time, and until when.
func (p *plan) capacity(backend int, t float64) (left, until float64) {
	left, until = 1, math.Inf(1)
	for _, d := range p.dips {
		switch {
		case d.backend != allBackends && d.backend != backend:
		case t < d.begin:
			until = min(until, d.begin)
		case t < d.end:
			left *= d.left
			until = min(until, d.end)
		}
	}
	return left, until
}

// worked returns for how long a backend works between two times, at its whole capacity.
func (p *plan) worked(backend int, begin, end float64) (sum float64) {
	for begin < end {
		left, until := p.capacity(backend, begin)
		until = min(until, end)
		sum += left * (until - begin)
		begin = until
	}
	return sum
}

// worksUntil returns when a backend has done work that it begins at a time.
func (p *plan) worksUntil(backend int, begin, work float64) float64 {
	for {
		left, until := p.capacity(backend, begin)
		able := math.Inf(1)
		if !math.IsInf(until, 1) {
			able = left * (until - begin)
		}
		switch {
		case left > 0 && able >= work:
			return begin + work/left
		case math.IsInf(until, 1):
			return until
		}
		work -= able
		begin = until
	}
}

// shares returns the share of the calls that each of n processes has. From one to the next it grows by the same factor.
func (p *plan) shares(n int) []float64 {
	all := make([]float64, n)
	sum := 0.0
	for i := range all {
		all[i] = math.Pow(cmp.Or(p.skew, 1), float64(i)/float64(max(1, n-1)))
		sum += all[i]
	}
	for i := range all {
		all[i] /= sum
	}
	return all
}

// right is the number of slots that is right for who knows the usual calls of a process: three quarters of those that
// begin in a timeout, to the nearest, at least one. Processes that come with the trouble have those of the others.
func (p *plan) right(process int) int {
	calls := p.demand() * p.shares(p.processes)[process%p.processes]
	return max(1, int(math.Round(0.75*calls*p.timeout)))
}

// steady is always the same rate.
func steady(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

// between is one rate from a time until another, and else the other.
func between(from, to, in, out float64) func(float64) float64 {
	return func(t float64) float64 {
		if t >= from && t < to {
			return in
		}
		return out
	}
}

// ramp is a rate that grows evenly between two times.
func ramp(from, to, first, last float64) func(float64) float64 {
	return func(t float64) float64 { return first + (last-first)*min(1, max(0, (t-from)/(to-from))) }
}
