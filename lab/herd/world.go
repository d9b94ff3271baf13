package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// plan is what the calls of a program and the service that they go to go through.
type plan struct {
	seed      uint64
	processes int
	guess     float64       // factor by which those who count them take the capacity for too large
	rate      float64       // of requests that the service can do, per second
	load      float64       // of first attempts, as a share of it
	servers   int           // of the service, which share its capacity
	times     string        // how the work of requests is distributed
	queue     time.Duration // the longest wait in it, or fifo or noQueue
	refusal   float64       // what it costs, over an answer
	wait      time.Duration // what it asks for
	answer    time.Duration // the time of an answer besides the queue and the work
	slow      float64       // share of calls with another such time
	slowly    time.Duration // that time

	trouble
	from   time.Duration // when it begins
	after  time.Duration // for how long calls begin after it
	window int           // of seconds over which the goodput is averaged

	timeout    time.Duration // of attempts
	deadline   time.Duration // of calls, if it is set
	front      time.Duration // timeout of an attempt at the service in front, if there is one
	poison     float64       // share of calls that no attempt makes succeed
	neighbours float64       // requests per second of other programs to the service, which do not retry

	atOnce int  // calls that begin at the moment at which the trouble begins
	pool   int  // of workers, which begin the calls instead, each a second after its last one has ended
	fresh  bool // each call has a process of its own
}

// back returns when the service is back, closing when the last calls begin, last when all that goes on is cut off.
func (p plan) back() time.Duration    { return p.from + p.duration }
func (p plan) closing() time.Duration { return p.back() + p.after }
func (p plan) last() time.Duration    { return p.closing() + min(p.after, 30*time.Minute) }

// demand returns the first attempts in a second.
func (p plan) demand() float64 { return p.load * p.rate }

// slots returns the slots of a process: a share of what the service can do within the timeout of an attempt, over
// all processes.
func (p plan) slots(share float64) int {
	all := share * p.rate * p.guess * p.timeout.Seconds()
	return max(1, int(all/float64(p.processes)))
}

// outcome is what a way to call a service comes to.
type outcome struct {
	way
	plan
	history
}

// recovered returns when the service recovers, in seconds after it is back, or when all calls have succeeded that
// began at once.
func (o *outcome) recovered() float64 {
	switch {
	case o.load > 0:
		return o.recovery(o.back(), o.closing(), o.window)
	case o.lost() > 0:
		return math.Inf(1)
	}
	return (o.slowest - o.duration).Seconds()
}

// othersAfter returns the requests of other programs that are lost after the trouble, in per cent.
func (o *outcome) othersAfter() float64 { return o.othersShare(o.back(), o.closing()) }

// world is a service, and the processes that call it in some way.
type world struct {
	plan
	way
	*service
	history
	start time.Time
	fleet []caller
	front []caller   // the processes of the service in front
	count sync.Mutex // guards history and calls
	calls uint64     // that have begun
	wait  sync.WaitGroup
}

// play has a program go through a plan, with simulated time. With the same plan, all ways get the same calls, but
// those of workers.
func play(s way, p plan) *outcome {
	var w *world
	synctest.Test(new(testing.T), func(*testing.T) {
		w = newWorld(s, p)
		w.run()
	})
	w.history.requests = w.service.requests
	return &outcome{s, p, w.history}
}

func newWorld(s way, p plan) *world {
	w := &world{plan: p, way: s, start: time.Now()}
	w.service = newService(p, w.start)
	for range p.processes {
		w.fleet = append(w.fleet, s.process(p.first()))
		if p.front > 0 {
			w.front = append(w.front, s.second()(p))
		}
	}
	return w
}

// first returns the plan of those who call the service in front, if there is one: their attempts have its timeout.
func (p plan) first() plan {
	if p.front > 0 {
		p.timeout = p.front
	}
	return p
}

// run runs everything that the plan has.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	end := time.AfterFunc(w.plan.last(), cancel) // a deadline would change what retries do

	if w.pool > 0 {
		w.runPool(ctx)
	} else if w.load > 0 {
		w.wait.Go(func() { w.arrivals(w.demand(), 0, func() { w.begin(ctx, -1) }) })
	}
	if w.atOnce > 0 {
		w.wait.Go(func() { w.beginAtOnce(ctx) })
	}
	if w.neighbours > 0 {
		w.wait.Go(func() { w.arrivals(w.neighbours, 3, func() { w.neighbour(ctx) }) })
	}
	w.wait.Wait()
	end.Stop()
	cancel()
}

// arrivals calls begin at random times, rate times a second on average, until the plan closes.
func (w *world) arrivals(rate float64, stream uint64, begin func()) {
	random := rand.New(rand.NewPCG(w.seed, stream))
	for {
		time.Sleep(seconds(random.ExpFloat64() / rate))
		if w.now() >= w.closing() {
			return
		}
		begin()
	}
}

// now returns the simulated time since the start, second the second in which it is.
func (w *world) now() time.Duration { return time.Since(w.start) }
func (w *world) second() int        { return int(w.now() / time.Second) }

// beginAtOnce begins calls with the trouble, a microsecond apart, so that their order is always the same.
func (w *world) beginAtOnce(ctx context.Context) {
	time.Sleep(w.from)
	for i := range w.atOnce {
		w.begin(ctx, i%w.processes)
		time.Sleep(time.Microsecond)
	}
}

// runPool runs the workers.
func (w *world) runPool(ctx context.Context) {
	w.usual = w.demand()
	for worker := range w.pool {
		w.wait.Go(func() {
			random := rand.New(rand.NewPCG(w.seed, 1000+uint64(worker)))
			time.Sleep(seconds(random.Float64() * w.pause().Seconds()))
			for w.now() < w.closing() {
				c := w.newCall(worker % w.processes)
				w.do(ctx, c)
				time.Sleep(workerPause + time.Duration(random.IntN(1e6))) // no two at the same moment
			}
		})
	}
}

// pause returns the time from one call of a worker to its next one, while all is well.
func (p plan) pause() time.Duration {
	return workerPause + p.answer + seconds(float64(p.servers)/p.rate)
}

const workerPause = time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// begin begins a call in a process, or in any if that is negative.
func (w *world) begin(ctx context.Context, process int) {
	c := w.newCall(process)
	w.wait.Go(func() { w.do(ctx, c) })
}

// call is one call of a program.
type call struct {
	world   *world
	caller  caller
	random  *rand.Rand
	arrived time.Duration
	sent    time.Duration // when its first request was sent, if it was
	slow    bool
	poison  bool // no attempt succeeds
	hangs   bool // no attempt ends by itself
	behind  bool // the service in front makes it
	others  bool // another program makes it
}

// newCall returns a call that arrives now.
func (w *world) newCall(process int) *call {
	w.count.Lock()
	w.calls++
	random := rand.New(rand.NewPCG(w.seed, 1<<32+w.calls))
	w.count.Unlock()

	c := &call{world: w, random: random, arrived: w.now(), sent: -1}
	if process < 0 {
		process = random.IntN(w.processes)
	}
	c.slow = random.Float64() < w.slow
	c.poison = random.Float64() < w.poison
	c.hangs = random.Float64() < w.hanging && c.arrived >= w.from
	if w.fresh {
		c.caller = w.process(w.plan)
	} else {
		c.caller = w.fleet[process]
	}
	return c
}

// do makes a call, and counts it.
func (w *world) do(ctx context.Context, c *call) {
	counted := !c.poison && !c.hangs
	w.count.Lock()
	if counted {
		w.begun.add(w.second(), 1)
	}
	w.count.Unlock()

	if w.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = c.within(ctx, w.deadline)
		defer cancel()
	}
	err := c.caller(ctx, c)

	w.count.Lock()
	defer w.count.Unlock()
	if !counted {
		return
	}
	w.slowest = max(w.slowest, w.now()-c.arrived)
	if c.sent >= 0 {
		w.waits = append(w.waits, c.sent-c.arrived)
	}
	if err == nil && ctx.Err() != context.Canceled {
		w.good.add(w.second(), 1)
		w.took = append(w.took, w.now()-c.arrived)
	}
}

// neighbour sends a request of another program, which does not retry.
func (w *world) neighbour(ctx context.Context) {
	second := w.second()
	c := &call{world: w, others: true, random: rand.New(rand.NewPCG(w.seed, 1<<33+uint64(w.now())))}
	w.wait.Go(func() {
		err := attempt(ctx, w.timeout, func(ctx context.Context) error { return w.serve(ctx, c) })
		w.count.Lock()
		defer w.count.Unlock()
		w.others.add(second, 1)
		if err != nil {
			w.othersLost.add(second, 1)
		}
	})
}

// nanoseconds returns a few. Where times are multiples of each other, they keep two events from the same moment, in which
// their order would be left to chance.
func (c *call) nanoseconds() time.Duration { return time.Duration(1 + c.random.IntN(1000)) }

// within returns a context that ends after a time.
func (c *call) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d-c.nanoseconds())
}

// request sends a request of a call.
func (c *call) request(ctx context.Context) error {
	w := c.world
	if c.sent < 0 {
		c.sent = w.now()
	}
	if w.front == nil || c.behind {
		return w.serve(ctx, c)
	}
	ctx, cancel := c.within(ctx, w.plan.front)
	defer cancel()
	process := c.random.IntN(len(w.front))
	behind := &call{world: w, behind: true, random: rand.New(rand.NewPCG(c.random.Uint64(), 0))}
	behind.slow, behind.poison, behind.hangs = c.slow, c.poison, c.hangs
	err := w.front[process](ctx, behind)
	time.Sleep(c.nanoseconds()) // what follows there comes before what follows here
	return err
}
