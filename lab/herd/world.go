package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is a service that gets into trouble, and the processes that call it in some way.
type world struct {
	plan
	way   way
	start time.Time
	serve func(context.Context, *call) error // sends a request
	wait  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	history  history
	backends []*backend
	fleet    []*process // those that run first, then those that come with the trouble
	kill     func()     // ends them
}

// process is a process of the programs.
type process struct {
	world  *world
	number int
	ctx    context.Context // ends with it
	call   caller
}

// history is what happens in a simulation.
type history struct {
	begun    int
	requests int           // that reach the service
	tallies  []tally       // by stream
	answers  map[int]int   // of the calls that succeed, by the second in which they do
	late     time.Duration // by which any call began later than it should
}

// tally counts the calls of a stream.
type tally struct {
	begun int
	took  []float64 // by those that succeed
}

func (t *tally) lost() int { return t.begun - len(t.took) }

// share returns the calls that are lost in per cent, half how long half of the others took at most.
func (t *tally) share() float64 { return 100 * float64(t.lost()) / float64(max(1, t.begun)) }

func (t *tally) half() float64 {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return t.took[(len(t.took)-1)/2]
}

// play has programs go through a plan in one way, with simulated time. With the same plan, all ways get the same calls.
func play(how way, p plan) (h history, err error) {
	synctest.Test(new(testing.T), func(*testing.T) {
		w := newWorld(how, p)
		w.run()
		h = w.history
	})
	return h, nil
}

func newWorld(how way, p plan) *world {
	p.streams = p.kinds()
	w := &world{plan: p, way: how, start: time.Now()}
	w.serve = w.simulate
	w.history.tallies = make([]tally, len(p.streams))
	w.history.answers = map[int]int{}
	n := max(1, p.service.backends)
	for i := range n {
		w.backends = append(w.backends, &backend{world: w, number: i, places: max(1, p.servers/n)})
	}
	w.launch()
	return w
}

// launch starts all processes. It requires mu, or that nothing runs yet.
func (w *world) launch() {
	ctx, cancel := context.WithCancel(context.Background()) // a deadline would change what retries do
	w.kill = cancel
	w.fleet = nil
	for i := range w.processes * max(1, w.grow) {
		w.fleet = append(w.fleet, w.newProcess(ctx, i))
	}
}

func (w *world) newProcess(ctx context.Context, number int) *process {
	p := &process{world: w, number: number, ctx: ctx}
	p.call = w.way.set(p)
	return p
}

// end ends all processes, relaunch starts others in their places.
func (w *world) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill()
}

func (w *world) relaunch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill()
	w.launch()
}

// lose has backends lose what they have.
func (w *world) lose(d dip) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.backends {
		if d.backend == allBackends || d.backend == b.number {
			b.lose()
		}
	}
}

// run runs everything that the plan has.
func (w *world) run() {
	defer time.AfterFunc(seconds(w.last()), w.end).Stop()
	if w.restart {
		defer time.AfterFunc(seconds(w.from+w.duration/2), w.relaunch).Stop()
	}
	for _, d := range w.dips {
		if d.loses {
			defer time.AfterFunc(seconds(d.end), func() { w.lose(d) }).Stop()
		}
	}

	for i, s := range w.streams {
		random := rand.New(rand.NewPCG(w.seed, uint64(i)))
		switch {
		case s.workers > 0:
			w.beginWorkers(i, random)
		case s.burst > 0:
			w.wait.Go(func() { w.bursts(i) })
		default:
			w.wait.Go(func() { w.arrivals(i, random) })
		}
	}
	w.wait.Wait()
	w.end()
}

// now returns the time since the start, and until waits for a time.
func (w *world) now() float64 { return time.Since(w.start).Seconds() }

func (w *world) until(t float64) { time.Sleep(seconds(t - w.now())) }

func seconds(s float64) time.Duration {
	const most = 1e9 // for ever
	return time.Duration(min(s, most) * float64(time.Second))
}

// arrivals begins calls at random times, until the plan closes: of those at the highest rate, the share that the rate
// is of that.
func (w *world) arrivals(stream int, random *rand.Rand) {
	rate, highest := w.streams[stream].rate, 0.0
	for t := 0.0; t < w.closing(); t += 0.5 {
		highest = max(highest, rate(t))
	}
	for at := 0.0; ; {
		at += random.ExpFloat64() / highest
		if at >= w.closing() {
			return
		}
		w.until(at)
		if random.Float64()*highest < rate(at) {
			w.begin(stream, -1, at)
		}
	}
}

// bursts begins calls at once, from time to time: a microsecond apart, and those of other streams later, so that their
// order is always the same.
func (w *world) bursts(stream int) {
	s := w.streams[stream]
	for at := s.begin + 0.01*float64(stream); at < w.closing(); at += s.every {
		w.until(at)
		for i := range s.burst {
			w.begin(stream, i%w.processes, w.now())
			time.Sleep(time.Microsecond)
		}
		if s.every == 0 {
			return
		}
	}
}

// beginWorkers begins the workers of a stream, within a second. Without a pause, a worker pauses after a failure.
func (w *world) beginWorkers(stream int, all *rand.Rand) {
	s := w.streams[stream]
	for i := range s.workers {
		random := rand.New(rand.NewPCG(w.seed, all.Uint64()))
		w.wait.Go(func() {
			w.until(s.begin + random.Float64())
			for w.now() < w.closing() {
				err := w.do(w.newCall(stream, i%w.processes))
				switch {
				case s.pause > 0:
					time.Sleep(seconds(random.ExpFloat64() * s.pause))
				case err != nil:
					time.Sleep(time.Second)
				}
			}
		})
	}
}

// call is one call of a program.
type call struct {
	*stream
	number  int      // of the stream
	process *process // nil: another program makes it
	random  *rand.Rand
	apart   time.Duration // by which it comes after what others do at the same moment
	arrived float64
}

// begin begins a call of a process, or of any if its number is negative, which should have begun at a time.
func (w *world) begin(stream, process int, at float64) {
	c := w.newCall(stream, process)
	w.wait.Go(func() { _ = w.do(c) })

	w.mu.Lock()
	defer w.mu.Unlock()
	w.history.late = max(w.history.late, seconds(c.arrived-at))
}

func (w *world) newCall(stream, process int) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history.begun++
	n := uint64(w.history.begun)
	w.history.tallies[stream].begun++

	c := &call{stream: &w.streams[stream], number: stream, arrived: w.now(), apart: time.Duration(n)}
	c.random = rand.New(rand.NewPCG(w.seed, 1<<32+n))
	if process < 0 {
		process = w.pick(c.random.Float64())
	}
	switch {
	case c.bare:
	case w.fresh:
		c.process = w.newProcess(w.fleet[process].ctx, process)
	default:
		c.process = w.fleet[process]
	}
	return c
}

// pick returns the process of a call that begins now, by a random number below 1.
func (w *world) pick(random float64) int {
	n := w.processes
	if w.now() >= w.from {
		n = len(w.fleet)
	}
	if w.skew == 0 {
		return int(random * float64(n))
	}
	for i, share := range w.shares(n) {
		random -= share
		if random < 0 {
			return i
		}
	}
	return n - 1
}

// do makes a call, and counts it.
func (w *world) do(c *call) error {
	ctx, end := w.limit(c)
	defer end()
	var err error
	if c.process == nil {
		err = w.serve(ctx, c)
	} else {
		err = c.process.call(ctx)
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if isAnswer(err) {
		t := &w.history.tallies[c.number]
		t.took = append(t.took, w.now()-c.arrived)
		w.history.answers[int(w.now())]++
	}
	return err
}

// limit returns the context of a call. It ends with its process, and at its deadline.
func (w *world) limit(c *call) (context.Context, context.CancelFunc) {
	ctx, limit := context.Background(), c.deadline
	if c.process == nil {
		limit = c.timeout
	} else {
		ctx = c.process.ctx
	}
	ctx = withCall(ctx, c)
	if limit == 0 {
		return ctx, func() {}
	}
	// Times that are multiples of each other would leave the order of two events to chance.
	return context.WithTimeout(ctx, seconds(limit)-time.Duration(1+c.random.IntN(1000)))
}

type callKey struct{}

// withCall returns a context in which the requests of a call are sent, callOf that call.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// send makes an attempt of a call, without a timeout. Calls that get slots, or run out of time, at the same moment would
// go on in any order.
func (p *process) send(ctx context.Context) error {
	c := callOf(ctx)
	p.world.mu.Lock()
	p.world.history.requests++
	p.world.mu.Unlock()
	time.Sleep(c.apart)
	defer time.Sleep(c.apart)
	return p.world.serve(ctx, c)
}

// once makes an attempt with its timeout.
func (p *process) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(callOf(ctx).timeout))
	defer cancel()
	return p.send(ctx)
}
