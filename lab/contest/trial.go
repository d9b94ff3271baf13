package main

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What all ways to call have in common.
const (
	timeout  = time.Second     // of an attempt
	deadline = 5 * time.Second // of a call
	patience = 4 * time.Second // of who waits for a place: the rest is for an attempt
)

const capacity = 100 // requests that the service can do in a second

// plan is a scene with what the flags say.
type plan struct {
	scene
	seed          uint64
	work          time.Duration // of a request, on average
	before, after time.Duration // the trouble
}

// calls returns how many calls begin in a second before the trouble, all how many requests the service can do then.
func (p plan) calls() float64 { return cmp.Or(p.rate, p.load*capacity) }
func (p plan) all() float64   { return p.calls() / p.load }

func (p plan) ends() time.Duration   { return p.before + p.length }
func (p plan) counts() time.Duration { return p.ends() + p.after } // calls that begin until then

// build returns the servers.
func (p plan) build() []*server {
	n := max(1, p.servers)
	workers := max(1, int(math.Round(p.all()*p.work.Seconds()/float64(n))))
	work := seconds(float64(n*workers) / p.all()) // so that the capacity is exact
	if p.roomy {
		workers, work = 10, p.work
	}
	stages := 1
	if work >= 100*time.Millisecond {
		stages = 4
	}
	var servers []*server
	for i := range n {
		random := rand.New(rand.NewPCG(p.seed, uint64(i+2)))
		servers = append(servers, &server{random: random, workers: workers, work: work, stages: stages})
	}
	return servers
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// process is what one of the processes has to set a way to call up with.
type process struct {
	rate   float64                     // its calls in a second, for who sets numbers
	do     func(context.Context) error // makes an attempt, without a timeout
	random *draws                      // for what all of its calls share
	end    func(func())                // has a function called in the end
}

// once makes an attempt with its timeout.
func (p process) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.do(ctx)
}

// draws are random numbers that are safe for concurrent use.
type draws struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (d *draws) Float64() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64()
}

// caller makes a call.
type caller func(context.Context) error

// tally is what becomes of the calls that begin from the trouble on.
type tally struct {
	begun, lost, requests int
	rate                  float64 // of the calls before the trouble
}

// percent returns the calls that are lost in per cent, seconds in seconds of the traffic before the trouble, attempts
// the requests that come for each call.
func (t tally) percent() float64  { return 100 * float64(t.lost) / float64(max(1, t.begun)) }
func (t tally) seconds() float64  { return float64(t.lost) / t.rate }
func (t tally) attempts() float64 { return float64(t.requests) / float64(max(1, t.begun)) }

// world is the service of a plan, and the processes that call it.
type world struct {
	plan
	start   time.Time
	servers []*server
	callers []caller
	endings []func()
	wait    sync.WaitGroup

	mu sync.Mutex // guards tally
	tally
}

// play has one way go through a plan, in simulated time. With the same plan, all ways get the same calls.
func play(set func(process) caller, p plan) (t tally) {
	synctest.Test(new(testing.T), func(*testing.T) {
		w := &world{plan: p, start: time.Now(), servers: p.build()}
		w.tally.rate = p.calls()
		w.launch(set)
		w.run()
		t = w.tally
	})
	return t
}

// launch starts all processes, those that come with the trouble too.
func (w *world) launch(set func(process) caller) {
	rate := w.calls() / float64(w.procs)
	if w.known {
		rate *= w.surge
	}
	for i := range w.procs * max(1, w.crowd) {
		w.callers = append(w.callers, set(process{
			rate:   rate,
			do:     w.request,
			random: &draws{random: rand.New(rand.NewPCG(w.seed, 1_000+uint64(i)))},
			end:    func(f func()) { w.endings = append(w.endings, f) },
		}))
	}
}

func (w *world) run() {
	w.wait.Go(w.trouble)
	w.wait.Go(w.traffic)
	if w.burst > 0 {
		w.wait.Go(w.bursts)
	}
	w.wait.Wait()
	for _, f := range w.endings {
		f()
	}
}

// trouble begins and ends the trouble, and counts the requests from then on.
func (w *world) trouble() {
	change := func(f func([]*server)) {
		if f != nil {
			f(w.servers)
		}
	}
	time.Sleep(w.before)
	earlier := w.requested()
	change(w.begin)
	time.Sleep(w.length)
	change(w.scene.end)
	time.Sleep(w.after)
	w.requests = w.requested() - earlier
}

func (w *world) requested() (n int) {
	for _, s := range w.servers {
		n += s.count()
	}
	return n
}

// traffic begins calls at random times, each in any of the processes. Calls begin for a deadline longer than they
// count, so that the last ones that count are among others.
func (w *world) traffic() {
	random := rand.New(rand.NewPCG(w.seed, 0))
	for id, at := uint64(0), time.Duration(0); ; id++ {
		rate, processes := w.calls(), w.procs
		if at >= w.before {
			processes *= max(1, w.crowd)
			if at < w.ends() {
				rate *= max(1, w.surge)
			}
		}
		at += seconds(random.ExpFloat64() / rate)
		if at >= w.counts()+deadline {
			return
		}
		time.Sleep(at - time.Since(w.start))
		w.call(w.callers[random.IntN(processes)], at, id)
	}
}

// bursts begins calls at once, from time to time.
func (w *world) bursts() {
	for at, id := 10*time.Second, uint64(math.MaxUint32); at < w.counts(); at += 20 * time.Second {
		time.Sleep(at - time.Since(w.start))
		for i := range w.burst {
			w.call(w.callers[i%len(w.callers)], at, id)
			id++
		}
	}
}

// call begins a call.
func (w *world) call(do caller, at time.Duration, id uint64) {
	w.wait.Go(func() {
		ctx, cancel := context.WithTimeout(withRandom(context.Background(), w.seed, id), deadline)
		defer cancel()
		err := do(ctx)
		if at < w.before || at >= w.counts() {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.begun++
		if err != nil {
			w.lost++
		}
	})
}

// request makes an attempt of a call.
func (w *world) request(ctx context.Context) error {
	if len(w.servers) == 1 {
		return w.servers[0].do(ctx)
	}
	return w.servers[randomOf(ctx).IntN(len(w.servers))].do(ctx)
}

type randomKey struct{}

// withRandom gives a call random numbers of its own, so that they do not depend on what other calls do. randomOf
// returns them.
func withRandom(ctx context.Context, seed, call uint64) context.Context {
	return context.WithValue(ctx, randomKey{}, rand.New(rand.NewPCG(seed, 1<<32+call)))
}

func randomOf(ctx context.Context) *rand.Rand { return ctx.Value(randomKey{}).(*rand.Rand) }
