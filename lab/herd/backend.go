package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// backend is a simulated service, or one of several that share its capacity. It has places, each of which does the work
// of one request at a time, unless all requests share all places. All its methods require the mutex of the world.
type backend struct {
	world  *world
	number int
	places int

	at      float64    // when it was brought up to date
	clock   float64    // how much work each place has done so far
	running []*request // in the order in which they end
	waiting []*request
	line    int         // how many wait whose client has not left, if it heeds that
	alarm   *time.Timer // rings when the next work is done
}

// request is the work of an attempt.
type request struct {
	work    float64
	arrived float64
	err     error
	done    chan struct{} // closed when the work is done
	backend *backend
	end     float64 // by the clock of the backend
	gone    bool    // its work is done, or given up
}

// instant is less than any time that matters, and more than what rounding takes.
const instant = 1e-9

// add begins the work of a request, or has it wait.
func (b *backend) add(r *request) {
	b.advance()
	r.backend = b
	b.waiting = append(b.waiting, r)
	b.line++
	b.proceed()
}

// leave is called when the client of a request leaves.
func (b *backend) leave(r *request) {
	if !b.world.heeds {
		return
	}
	b.advance()
	i := slices.Index(b.running, r)
	switch {
	case i >= 0:
		b.running = slices.Delete(b.running, i, i+1)
	case !r.gone:
		b.line--
	}
	r.gone = true
	b.proceed()
}

// lose refuses all requests that are there.
func (b *backend) lose() {
	b.advance()
	for _, r := range append(b.waiting, b.running...) {
		if !r.gone {
			b.finish(r, b.world.refusal())
		}
	}
	b.waiting, b.running, b.line = nil, nil, 0
	b.proceed()
}

func (b *backend) finish(r *request, err error) {
	r.gone = true
	r.err = err
	close(r.done)
}

// ring is called when work should be done.
func (b *backend) ring() {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	b.advance()
	b.proceed()
}

// advance does the work of the time since the last call.
func (b *backend) advance() {
	now := b.world.now()
	worked := b.world.worked(b.number, b.at, now)
	b.at = now
	b.clock += b.speed() * worked
	for len(b.running) > 0 && b.running[0].end <= b.clock+instant {
		b.finish(b.running[0], nil)
		b.running = b.running[1:]
	}
}

// proceed begins work where there is a place for it, and sets the alarm.
func (b *backend) proceed() {
	for b.world.order == shared || len(b.running) < b.size() {
		r := b.next()
		if r == nil {
			break
		}
		r.end = b.clock + r.work
		i, _ := slices.BinarySearchFunc(b.running, r, func(one, other *request) int { return cmp.Compare(one.end, other.end) })
		b.running = slices.Insert(b.running, i, r)
	}

	ring := math.Inf(1)
	if len(b.running) > 0 {
		ring = b.world.worksUntil(b.number, b.at, (b.running[0].end-b.clock)/b.speed())
	}
	switch {
	case b.alarm == nil && !math.IsInf(ring, 1):
		b.alarm = time.AfterFunc(seconds(ring-b.at)+1, b.ring)
	case b.alarm == nil:
	case math.IsInf(ring, 1):
		b.alarm.Stop()
	default:
		b.alarm.Reset(seconds(ring-b.at) + 1)
	}
}

// next takes the next request from the line, or returns nil. It refuses those that have waited for too long.
func (b *backend) next() *request {
	for len(b.waiting) > 0 {
		r := b.take()
		if r.gone {
			continue
		}
		b.line--
		if oldest := b.world.oldest; oldest > 0 && b.at-r.arrived > oldest {
			b.finish(r, b.world.refusal())
			continue
		}
		return r
	}
	return nil
}

func (b *backend) take() (r *request) {
	last := len(b.waiting) - 1
	if b.world.order == newestFirst {
		r, b.waiting = b.waiting[last], b.waiting[:last]
	} else {
		r, b.waiting = b.waiting[0], b.waiting[1:]
	}
	return r
}

// size returns the number of places.
func (b *backend) size() int {
	if g := b.world.grown; g.factor > 0 && b.at >= g.at {
		return int(math.Ceil(float64(b.places) * g.factor))
	}
	return b.places
}

// speed returns how fast a request is worked on, as a share of what a place can do.
func (b *backend) speed() float64 {
	return min(1, float64(b.size())/float64(max(1, len(b.running))))
}
