package main

import (
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// world is a simulation of the outage. Operations that wait for their next attempt are in due.
type world struct {
	outage
	clock    simClock
	arrivals *rand.Rand // when operations begin, and whose they are
	random   *rand.Rand // for the rest
	next     float64    // when the next operation begins, in milliseconds
	budgets  []backoff.Budget
	due      calendar
	room     float64 // for requests, at the server; below zero after many refusals
}

func newWorld(clients int, s survivor, seed uint64) *world {
	w := &world{
		outage:   outage{survivor: s, clients: clients},
		arrivals: rand.New(rand.NewPCG(seed, 0)),
		random:   rand.New(rand.NewPCG(seed, 1)),
		due:      newCalendar(),
	}
	if s.budgeted {
		w.budgets = make([]backoff.Budget, (clients+perProcess-1)/perProcess)
	}
	return w
}

// run goes from millisecond to millisecond, until each operation has ended.
func (w *world) run(p *progress) outage {
	load := w.load() / 1000 // per millisecond
	capacity := headroom * load
	most := max(fewest, capacity*float64(evening/time.Millisecond))
	w.room, w.next = most, w.arrivals.ExpFloat64()/load
	for ms := 0; w.clock.now < closing || w.due.size > 0; ms++ {
		w.clock.now = time.Duration(ms) * time.Millisecond
		if w.clock.now%time.Second == 0 {
			w.rate, w.failed = append(w.rate, 0), append(w.failed, 0)
			if w.clock.now < closing {
				p.add(1)
			}
		}
		w.room = min(most, max(-most, w.room)+capacity)
		if w.clock.now == down {
			for client := 0; client < w.clients; client += noticing {
				w.begin(client)
			}
		}
		for i := w.due.take(ms); i != none; {
			next := w.due.slots[i].next // attempt may put i into another list
			w.attempt(i)
			i = next
		}
		for ; w.clock.now < closing && w.next < float64(ms+1); w.next += w.arrivals.ExpFloat64() / load {
			w.begin(w.arrivals.IntN(w.clients))
		}
	}
	return w.outage
}

// begin starts an operation of client.
func (w *world) begin(client int) {
	w.operations++
	w.attempt(w.due.add(operation{process: int32(client / perProcess)}))
}

// attempt sends the request of operation i, and ends the operation or has it wait.
func (w *world) attempt(i int32) {
	second := len(w.rate) - 1
	w.rate[second]++
	op := &w.due.slots[i]
	if w.answered() {
		if w.budgets != nil {
			w.budgets[op.process].Deposit()
		}
		w.succeeded++
		w.due.remove(i)
		return
	}
	w.failed[second]++
	if op.policy == nil {
		op.policy = w.newPolicy(op.process)
	}
	took := time.Duration(w.random.NormFloat64()*float64(attemptDev) + float64(attemptMean)).Abs()
	w.clock.now += took // the client knows only then
	wait := op.policy.NextBackOff()
	w.clock.now -= took
	if wait < 0 {
		w.lost++
		w.due.remove(i)
		return
	}
	ms := max(w.clock.now+time.Millisecond, w.clock.now+took+wait) / time.Millisecond // after this one
	w.due.put(i, int(ms))
}

// answered reports whether the service answers a request that comes now. While it is down it does
// not, and refusing costs nothing.
func (w *world) answered() bool {
	switch {
	case w.clock.now >= down && w.clock.now < back:
		return false
	case w.room >= 1:
		w.room--
		return true
	}
	w.room -= refusalCost
	return false
}

// newPolicy is called at an operation's first failure: most operations never need one.
func (w *world) newPolicy(process int32) backoff.BackOff {
	policy := w.policy(&w.clock, w.random)
	if w.budgets != nil {
		policy = backoff.WithBudget(policy, &w.budgets[process])
	}
	return policy
}
