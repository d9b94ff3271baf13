package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is a service that gets into trouble, and the processes that call it in some way.
type world struct {
	plan
	way
	history
	start time.Time
	early []float64 // the traffic of the processes that run first
	late  []float64 // the traffic of all, from the trouble on
	wait  sync.WaitGroup

	mu       sync.Mutex // guards what follows, and history
	backends []*backend
	fleet    []*process // those that run first, then those that come with the trouble
	kill     func()     // ends them
}

// process is a process of a program.
type process struct {
	caller
	ctx  context.Context // ends with it
	next int             // the number of the backend that had its last request, if it takes them in turn
}

// play has a program go through a plan, with simulated time. With the same plan, all ways get the same calls.
func play(how way, p plan) *history {
	var w *world
	synctest.Test(new(testing.T), func(*testing.T) {
		w = newWorld(how, p)
		w.run()
	})
	return &w.history
}

func newWorld(how way, p plan) *world {
	w := &world{plan: p, way: how, start: time.Now()}
	w.requests = counts{}
	w.answers = counts{}
	n := max(1, p.trouble.backends)
	for i := range n {
		w.backends = append(w.backends, &backend{world: w, number: i, places: max(1, p.servers/n)})
	}
	w.early = p.traffic(p.processes)
	w.late = p.traffic(p.processes * p.grow)
	w.launch()
	return w
}

// launch starts all processes. It requires mu, or that nothing runs yet.
func (w *world) launch() {
	ctx, cancel := context.WithCancel(context.Background()) // a deadline would change what retries do
	w.kill = cancel
	w.fleet = nil
	for i := range w.processes * w.grow {
		w.fleet = append(w.fleet, &process{w.way.process(w.plan, i), ctx, i})
	}
}

// end ends all processes.
func (w *world) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill()
}

// relaunch ends all processes, and starts others in their places.
func (w *world) relaunch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill()
	w.launch()
}

// run runs everything that the plan has.
func (w *world) run() {
	defer w.end()
	defer time.AfterFunc(w.plan.last(), w.end).Stop()
	if w.restart {
		defer time.AfterFunc(w.from+w.duration/2, w.relaunch).Stop()
	}

	switch {
	case w.closed > 0:
		w.beginWorkers()
	case w.load > 0:
		w.wait.Go(func() { w.arrivals(w.demand(), 0, func() { w.begin(-1) }) })
	}
	if w.atOnce > 0 {
		w.beginAtOnce()
	}
	if w.neighbours > 0 {
		w.wait.Go(func() { w.arrivals(w.neighbours, 3, w.neighbour) })
	}
	w.wait.Wait()
}

// arrivals calls begin at random times, rate times a second on average, until the plan closes.
func (w *world) arrivals(rate float64, stream uint64, begin func()) {
	random := rand.New(rand.NewPCG(w.seed, stream))
	for {
		time.Sleep(seconds(random.ExpFloat64() / (rate * w.surge(w.now()-w.from))))
		if w.now() >= w.closing() {
			return
		}
		begin()
	}
}

// beginWorkers begins the workers of a closed loop.
func (w *world) beginWorkers() {
	for i := range w.closed {
		random := rand.New(rand.NewPCG(w.seed, 1<<40+uint64(i)))
		w.wait.Go(func() {
			for {
				time.Sleep(seconds(random.ExpFloat64() * w.pause()))
				if w.now() >= w.closing() {
					return
				}
				w.do(w.newCall(i % w.processes))
			}
		})
	}
}

// now returns the simulated time since the start.
func (w *world) now() time.Duration { return time.Since(w.start) }

// beginAtOnce begins the calls that begin with the trouble: all of them a microsecond apart, so that their order is
// always the same, or at random times, after a call of each process and a pause.
func (w *world) beginAtOnce() {
	if w.within > 0 {
		for i := range w.processes {
			w.begin(i)
			time.Sleep(time.Microsecond)
		}
	}

	random := rand.New(rand.NewPCG(w.seed, 0))
	for i := range w.atOnce {
		at := w.from + time.Duration(i)*time.Microsecond
		if w.within > 0 {
			at = w.from + time.Duration(random.Int64N(int64(w.within)))
		}
		w.wait.Go(func() {
			time.Sleep(at - w.now())
			w.do(w.newCall(i % w.processes))
		})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// begin begins a call, as newCall returns it.
func (w *world) begin(number int) {
	c := w.newCall(number)
	w.wait.Go(func() { w.do(c) })
}

// call is one call of a program.
type call struct {
	world   *world
	process *process // nil: another program makes it
	random  *rand.Rand
	kind    float64       // from 0 to 1: the shares that are of calls have those with the smallest
	apart   time.Duration // by which it comes after what others do at the same moment
	arrived time.Duration
}

// newCall returns a call that arrives now, of a process, or of any if its number is negative.
func (w *world) newCall(number int) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	random := rand.New(rand.NewPCG(w.seed, 1<<32+uint64(w.begun)))

	c := &call{world: w, random: random, arrived: w.now(), apart: time.Duration(w.begun)}
	if number < 0 {
		number = w.pick(random.Float64())
	}
	c.kind = random.Float64()
	if w.isOther(c) {
		w.others.begun++
	}

	c.process = w.fleet[number]
	if w.fresh {
		c.process = &process{w.way.process(w.plan, number), c.process.ctx, w.begun}
	}
	return c
}

// isOther reports whether a call is one of the others while a part of them has no answer.
func (w *world) isOther(c *call) bool {
	share := w.amount(part, c.arrived-w.from)
	return share > 0 && c.kind >= share
}

// pick returns the process of a call that arrives now, by a random number below 1.
func (w *world) pick(random float64) int {
	shares := w.early
	if w.now() >= w.from {
		shares = w.late
	}
	moved := 0
	if w.move > 0 {
		moved = int(w.now() / w.move)
	}
	for i, share := range shares {
		random -= share
		if random < 0 {
			return (i + moved) % len(shares)
		}
	}
	return (len(shares) - 1 + moved) % len(shares)
}

// do makes a call, and counts it.
func (w *world) do(c *call) {
	ctx := c.process.ctx
	if w.deadline > 0 {
		// Times that are multiples of each other would leave the order of two events to chance.
		limit := w.deadline - time.Duration(1+c.random.IntN(1000))
		if w.isLong(c) {
			limit = time.Duration(float64(limit) * float64(w.longer) / float64(w.timeout))
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err := c.process.caller(ctx, c)

	w.mu.Lock()
	defer w.mu.Unlock()
	ok := isAnswer(err) && ctx.Err() != context.Canceled
	took := w.now() - c.arrived
	w.count(took, ok)
	if w.isOther(c) {
		w.others.count(took, ok)
	}
	if ok {
		w.answers[int(w.now()/time.Second)]++
	}
}

// isAnswer reports whether a service has answered with this error, or none.
func isAnswer(err error) bool { return err == nil || errors.Is(err, errFinal) }

// neighbour sends a request of another program, which does not retry. It is counted after the trouble.
func (w *world) neighbour() {
	counted := w.now() >= w.back()
	random := rand.New(rand.NewPCG(w.seed, 1<<33+uint64(w.now())))
	c := &call{world: w, random: random, kind: random.Float64()}
	w.wait.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
		defer cancel()
		arrived := w.now()
		err := c.request(ctx)
		if !counted {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.others.begun++
		w.others.count(w.now()-arrived, isAnswer(err))
	})
}

// request sends a request of a call.
func (c *call) request(ctx context.Context) error {
	// Calls that get slots, or run out of time, at the same moment would go on in any order.
	time.Sleep(c.apart)
	defer time.Sleep(c.apart)
	return c.world.serve(ctx, c)
}
