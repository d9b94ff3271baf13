package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff"
)

// plan is what the calls of a program and the service that they go to go through.
type plan struct {
	seed      uint64
	processes int
	skew      float64       // factor by which the busiest process has more calls than the idlest
	grow      int           // factor by which there are more processes from the trouble on
	guess     float64       // factor by which those who count slots take a rate for too large
	rate      float64       // of requests that the service can do, per second
	load      float64       // of first attempts, as a share of it
	servers   int           // of the service, which share its capacity
	even      bool          // all requests are the same work
	answer    time.Duration // the time of an answer besides the queue and the work

	trouble
	from   time.Duration // when it begins
	after  time.Duration // for how long calls begin after it
	window int           // of seconds over which the share of successes is averaged

	timeout    time.Duration // of attempts
	deadline   time.Duration // of calls, if it is set
	poison     float64       // share of calls that no attempt makes succeed
	throttled  float64       // share of calls that the service holds off
	neighbours float64       // requests per second of other programs to the service, which do not retry

	atOnce int  // calls that begin at the moment at which the trouble begins
	fresh  bool // each call has a process of its own
}

// back returns when the service is back, closing when the last calls begin, last when all that goes on is cut off.
func (p plan) back() time.Duration    { return p.from + p.duration }
func (p plan) closing() time.Duration { return p.back() + p.after }
func (p plan) last() time.Duration    { return p.closing() + min(p.after, 30*time.Minute) }

// demand returns the calls that begin in a second.
func (p plan) demand() float64 { return p.load * p.rate }

// traffic returns the share of the calls that each of n processes has. From one to the next it grows by the same
// factor.
func (p plan) traffic(n int) []float64 {
	shares := make([]float64, n)
	sum := 0.0
	for i := range shares {
		shares[i] = math.Pow(p.skew, float64(i)/float64(max(1, n-1)))
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// outcome is what a way to call a service comes to.
type outcome struct {
	way
	plan
	history
}

// recovered returns the seconds after which the service has recovered, once it is back.
func (o *outcome) recovered() float64 { return o.recovery(o.back(), o.closing(), o.window) }

// othersAfter returns the requests of other programs that are lost after the trouble, in per cent.
func (o *outcome) othersAfter() float64 { return o.othersShare(o.back(), o.closing()) }

// world is a service, and the processes that call it in some way.
type world struct {
	plan
	way
	*service
	history
	start time.Time
	fleet []caller   // those that run first, then those that come with the trouble
	early []float64  // the traffic of those that run first
	late  []float64  // the traffic of all, from the trouble on
	count sync.Mutex // guards history and calls
	calls uint64     // that have begun
	wait  sync.WaitGroup
}

// play has a program go through a plan, with simulated time. With the same plan, all ways get the same calls.
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
	w.early = p.traffic(p.processes)
	w.late = p.traffic(p.processes * p.grow)
	for i := range p.processes * p.grow {
		w.fleet = append(w.fleet, s.process(p, i))
	}
	return w
}

// run runs everything that the plan has.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	end := time.AfterFunc(w.plan.last(), cancel) // a deadline would change what retries do

	if w.load > 0 {
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
	until   time.Duration // when the service no longer holds it off
	poison  bool          // no attempt succeeds
	hangs   bool          // no attempt ends by itself
	others  bool          // another program makes it
}

// How long the service holds calls off.
const (
	shortestHold = 5 * time.Second
	longestHold  = 30 * time.Second
)

// newCall returns a call that arrives now.
func (w *world) newCall(process int) *call {
	w.count.Lock()
	w.calls++
	random := rand.New(rand.NewPCG(w.seed, 1<<32+w.calls))
	w.count.Unlock()

	c := &call{world: w, random: random, arrived: w.now(), sent: -1}
	if process < 0 {
		process = w.pick(random.Float64())
	}
	c.poison = random.Float64() < w.poison
	c.hangs = random.Float64() < w.hanging && c.arrived >= w.from
	if random.Float64() < w.throttled {
		c.until = c.arrived + shortestHold + time.Duration(random.Int64N(int64(longestHold-shortestHold)))
	}

	c.caller = w.fleet[process]
	if w.fresh {
		c.caller = w.process(w.plan, process)
	}
	return c
}

// pick returns the process of a call that arrives now, by a random number below 1.
func (w *world) pick(random float64) int {
	shares := w.early
	if w.now() >= w.from {
		shares = w.late
	}
	for i, share := range shares {
		random -= share
		if random < 0 {
			return i
		}
	}
	return len(shares) - 1
}

// do makes a call, and counts it.
func (w *world) do(ctx context.Context, c *call) {
	counted := !c.poison && !c.hangs && c.until == 0
	w.count.Lock()
	if counted {
		w.begun.add(w.second())
	}
	w.count.Unlock()

	if w.deadline > 0 && c.until == 0 {
		// Times that are multiples of each other would leave the order of two events to chance.
		limit := w.deadline - time.Duration(1+c.random.IntN(1000))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
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
		w.good.add(w.second())
		w.took = append(w.took, w.now()-c.arrived)
	}
}

// neighbour sends a request of another program, which does not retry.
func (w *world) neighbour(ctx context.Context) {
	second := w.second()
	c := &call{world: w, others: true, random: rand.New(rand.NewPCG(w.seed, 1<<33+uint64(w.now())))}
	w.wait.Go(func() {
		err := c.attempt(ctx)
		w.count.Lock()
		defer w.count.Unlock()
		w.others.add(second)
		if err != nil {
			w.othersLost.add(second)
		}
	})
}

// request sends a request of a call.
func (c *call) request(ctx context.Context) error {
	if c.sent < 0 && !c.others {
		c.sent = c.world.now()
	}
	return c.world.serve(ctx, c)
}

// attempt sends a request of a call with the timeout of an attempt.
func (c *call) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.world.timeout)
	defer cancel()
	return c.request(ctx)
}

// waits returns a new policy for the call: the default one, changed by opts.
func (c *call) waits(opts ...backoff.ExponentialBackOffOpts) backoff.BackOff {
	opts = append(opts, backoff.WithMaxElapsedTime(0), backoff.WithRand(c.random))
	return backoff.NewExponentialBackOff(opts...)
}
