package main

import (
	"container/heap"
	"time"
)

// backend is a service, or one of several that share its capacity. It has places, each of which does the work of one
// request at a time, unless all requests share all places. All its methods require the mutex of the world.
type backend struct {
	world  *world
	number int
	places int

	at      time.Duration // when it was brought up to date
	clock   time.Duration // how much work each place has done so far
	running running
	waiting [2][]*request // those that are served first, then the others
	line    int           // how many wait whose client has not left, if it heeds that
	alarm   *time.Timer   // rings when the next work is done
}

// request is the work of an attempt.
type request struct {
	work    time.Duration
	done    chan struct{} // closed when the work is done
	backend *backend
	end     time.Duration // by the clock of the backend
	index   int           // among those that run, or one of these:
}

const (
	waits = -1
	gone  = -2
)

// add begins the work of a request, or has it wait.
func (b *backend) add(r *request, first bool) {
	b.advance()
	r.backend = b
	r.index = waits
	queue := 1
	if first {
		queue = 0
	}
	b.waiting[queue] = append(b.waiting[queue], r)
	b.line++
	b.proceed()
}

// leave is called when the client of a request leaves.
func (b *backend) leave(r *request) {
	if !b.world.heeds {
		return
	}
	b.advance()
	switch {
	case r.index >= 0:
		heap.Remove(&b.running, r.index)
	case r.index == waits:
		b.line--
	}
	r.index = gone
	b.proceed()
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
	b.clock += time.Duration(b.speed() * float64(worked))
	for len(b.running) > 0 && b.running[0].end <= b.clock {
		r := heap.Pop(&b.running).(*request)
		r.index = gone
		close(r.done)
	}
}

// proceed begins work where there is a place for it, and sets the alarm.
func (b *backend) proceed() {
	for b.shares() || len(b.running) < b.places {
		r := b.next()
		if r == nil {
			break
		}
		r.end = b.clock + r.work
		heap.Push(&b.running, r)
	}

	ring := forever
	if len(b.running) > 0 {
		work := float64(b.running[0].end-b.clock) / b.speed()
		ring = b.world.worksUntil(b.number, b.at, time.Duration(work)+1)
	}
	switch {
	case ring == forever && b.alarm != nil:
		b.alarm.Stop()
	case ring == forever:
	case b.alarm == nil:
		b.alarm = time.AfterFunc(ring-b.at, b.ring)
	default:
		b.alarm.Reset(ring - b.at)
	}
}

// next takes the next request from the line, or returns nil.
func (b *backend) next() *request {
	for i := range b.waiting {
		for len(b.waiting[i]) > 0 {
			r := b.take(i)
			if r.index != gone {
				b.line--
				return r
			}
		}
	}
	return nil
}

func (b *backend) take(i int) *request {
	queue := b.waiting[i]
	last := len(queue) - 1
	if b.world.order == newest {
		b.waiting[i] = queue[:last]
		return queue[last]
	}
	b.waiting[i] = queue[1:]
	return queue[0]
}

func (b *backend) shares() bool { return b.world.order == sharing }

// speed returns how fast a request is worked on, as a share of what a place can do.
func (b *backend) speed() float64 {
	return min(1, float64(b.places)/float64(max(1, len(b.running))))
}

// worked returns for how long a backend works between two times, at its whole capacity.
func (p plan) worked(backend int, begin, end time.Duration) (sum time.Duration) {
	for begin < end {
		left, until := p.capacity(backend, begin-p.from)
		until = min(until, end-p.from)
		sum += time.Duration(left * float64(p.from+until-begin))
		begin = p.from + until
	}
	return sum
}

// worksUntil returns when a backend has done work that it begins at a time.
func (p plan) worksUntil(backend int, begin, work time.Duration) time.Duration {
	for {
		left, until := p.capacity(backend, begin-p.from)
		if until == forever && left == 0 {
			return forever
		}
		able := time.Duration(left * float64(until-(begin-p.from)))
		if until == forever || able >= work {
			return begin + time.Duration(float64(work)/left)
		}
		work -= able
		begin = p.from + until
	}
}

// running are requests that are worked on, as a heap: the first is done next.
type running []*request

func (all running) Len() int           { return len(all) }
func (all running) Less(i, j int) bool { return all[i].end < all[j].end }

func (all running) Swap(i, j int) {
	all[i], all[j] = all[j], all[i]
	all[i].index, all[j].index = i, j
}

func (all *running) Push(x any) {
	r := x.(*request)
	r.index = len(*all)
	*all = append(*all, r)
}

func (all *running) Pop() any {
	last := len(*all) - 1
	r := (*all)[last]
	*all = (*all)[:last]
	return r
}
