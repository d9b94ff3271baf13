package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// simple is a service that works on one request at a time, for so long, and a process that calls it seldom.
func simple(work float64) plan {
	p := plan{}
	p.rate, p.servers, p.spread = 1/work, 1, constant
	p.load, p.timeout, p.processes = 0.01, 1, 1
	p.from, p.after = 3600, 3600
	return p
}

// played returns what happens in a plan in one way.
func played(t *testing.T, way string, p plan) history {
	t.Helper()
	ways, err := waysOf(way)
	require.NoError(t, err)
	h, err := play(ways[0], p)
	require.NoError(t, err)
	return h
}

// idle is a way that makes no calls.
var idle = way{set: func(*process) caller { return nil }}

// Work goes on at the capacity that a backend has left, and stands still while it is down.
func TestCapacity(t *testing.T) {
	for _, row := range []struct {
		name              string
		change            change
		backend           int
		begin, work, done float64
	}{
		{"healthy", load(1), 0, 29, 3, 32},
		{"before", down(10), 0, 20, 9, 29},
		{"into it", down(10), 0, 29, 3, 42},
		{"in it", down(10), 0, 35, 1, 41},
		{"after it", down(10), 0, 40, 1, 41},
		{"half", left(0.5, 60), 0, 30, 3, 36},
		{"into half", left(0.5, 60), 0, 28, 3, 32},
		{"out of half", left(0.5, 60), 0, 80, 7, 92},
		{"more", left(2, 60), 0, 30, 6, 33},
		{"a backend", backends(1, 2, 10), 0, 29, 2, 41},
		{"another one", backends(1, 2, 10), 1, 29, 2, 31},
		{"a backend, for ever", backends(1, 2, forever), 0, 29, 2, forever},
		{"pauses", stops(0, 1, 5, 0), 0, 4, 5, 10},
		{"attempts that are refused", happens(refusing, 1, 10), 0, 35, 3, 38},
	} {
		p := plan{trouble: trouble{from: 30, after: 100}}.row("", row.change)
		got := p.worksUntil(row.backend, row.begin, row.work)
		require.InDelta(t, math.Min(row.done, 1e9), math.Min(got, 1e9), 1e-6, row.name)
		if row.done < forever {
			require.InDelta(t, row.work, p.worked(row.backend, row.begin, got), 1e-6, row.name)
		}
	}
}

// Effects and rates are there in the trouble, or from it to the end.
func TestTrouble(t *testing.T) {
	p := simple(1).row("", happens(hanging, 0.3, 20))
	q := simple(1).row("", happens(hanging, 0.3, 0))
	for at, want := range map[float64][2]float64{3599: {0, 0}, 3600: {0.3, 0.3}, 3619: {0.3, 0.3}, 3620: {0, 0.3}} {
		require.Equal(t, want, [2]float64{p.amount(hanging, at), q.amount(hanging, at)}, at)
	}

	s := simple(1).row("", traffic(4, 10)).streams[0]
	require.Equal(t, []float64{0.01, 0.04, 0.01, 0.01}, []float64{s.rate(0), s.rate(3605), s.rate(3610), s.usual})
	grows := ramp(10, 20, 1, 3)
	require.Equal(t, []float64{1, 2, 3}, []float64{grows(5), grows(15), grows(25)})
}

// serveAll sends requests a millisecond apart, and returns when each is answered, or 0 for those that get an error.
func serveAll(t *testing.T, p plan, n int) (answered []float64) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(idle, p)
		answered = make([]float64, n)
		for i := range n {
			w.wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), seconds(p.timeout))
				defer cancel()
				if w.simulate(ctx, newCall(w)) == nil {
					answered[i] = math.Round(1000 * w.now())
				}
			})
			time.Sleep(time.Millisecond)
		}
		w.wait.Wait()
	})
	return answered
}

func newCall(w *world) *call {
	return &call{stream: &w.streams[0], random: rand.New(rand.NewPCG(1, 1))}
}

// A service works on requests in its order, on as many at once as it has servers. It refuses what it cannot do soon.
func TestOrder(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*plan)
		want   []float64
	}{
		{"oldest first", func(*plan) {}, []float64{300, 600, 900, 0, 0}},
		{"newest first", inOrder(newestFirst), []float64{300, 0, 0, 900, 600}},
		{"shared", func(p *plan) { p.order, p.timeout = shared, 60 }, []float64{1494, 1498, 1499, 1500, 1500}},
		{"two at once", func(p *plan) { p.servers = 2 }, []float64{600, 601, 0, 0, 0}},
		{"twice as many", func(p *plan) { p.grown = growth{0.5, 2} }, []float64{300, 600, 900, 900, 0}},
		{"and an answer", func(p *plan) { p.answer = 0.1 }, []float64{400, 700, 1000, 0, 0}},
		{"a short line", func(p *plan) { p.line = 1 }, []float64{300, 600, 0, 0, 0}},
		{"a line of so long", func(p *plan) { p.oldest = 0.4 }, []float64{300, 600, 0, 0, 0}},
		{"a proxy", func(p *plan) { p.proxy = 0.7 }, []float64{300, 600, 0, 0, 0}},
		{"a line whose clients leave", func(p *plan) { p.timeout = 0.5 }, []float64{300, 0, 0, 0, 0}},
		{"no work", func(p *plan) { p.rate, p.answer = 0, 0.1 }, []float64{100, 101, 102, 103, 104}},
	} {
		p := simple(0.3)
		row.change(&p)
		require.Equal(t, row.want, serveAll(t, p, 5), row.name)
	}
}

// A request whose client has left is worked on, unless the service heeds that.
func TestHeeds(t *testing.T) {
	for order, took := range map[string]float64{oldestFirst: 8, newestFirst: 5, shared: 8} {
		for heeds, want := range map[bool]float64{false: took, true: 3} {
			synctest.Test(t, func(t *testing.T) {
				p := simple(3)
				p.order, p.heeds = order, heeds
				w := newWorld(idle, p)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				for range 2 {
					w.wait.Go(func() { require.Equal(t, errLate, w.simulate(ctx, newCall(w))) })
				}
				w.wait.Wait()

				begin := w.now()
				require.NoError(t, w.simulate(t.Context(), newCall(w)))
				require.InDelta(t, want, w.now()-begin, 1e-6, "%s, %t", order, heeds)
			})
		}
	}
}

// The work of requests has the same mean, however it is distributed, and a share of them takes three times as long.
func TestWork(t *testing.T) {
	for name, row := range map[string]struct {
		spread func(*rand.Rand) float64
		rare   float64
	}{"constant": {constant, 0}, "exponential": {nil, 0.050}, "heavy": {heavy, 0.069}} {
		const n = 100_000
		w := &world{plan: simple(1)}
		w.spread = row.spread
		random := rand.New(rand.NewPCG(1, 1))
		sum, long := 0.0, 0.0
		for range n {
			work := w.work(random)
			sum += work
			if work > 3 {
				long++
			}
		}
		require.InEpsilon(t, n, sum, 0.02, name)
		require.InDelta(t, row.rare, long/n, 0.003, name)
	}
}

// What happens to a share of the attempts happens to so many of them. Final errors are answers.
func TestEffects(t *testing.T) {
	for name, row := range map[string]struct {
		change change
		lost   float64 // per cent
		half   float64 // of the others take so long at most
	}{
		"nothing":     {heeds, 0, 0.01},
		"fail":        {happens(failing, 0.4, 0), 40, 0.01},
		"are refused": {happens(refusing, 0.4, 0), 40, 0.01},
		"hang":        {happens(hanging, 0.4, 0), 40, 0.01},
		"are slow":    {happens(slow, 2, 0), 61, 0.45},
		"take longer": {func(p *plan) { p.streams = []stream{p.calls(1)}; p.streams[0].answer = alike(0.5) }, 0, 0.51},
		"final":       {func(p *plan) { p.final = 1 }, 0, 0.01},
	} {
		p := simple(0.01).row(name, load(0.1), func(p *plan) { p.from, p.after = 0, 600 }, row.change)
		h := played(t, "none", p)
		require.InDelta(t, row.lost, h.tallies[0].share(), 2, name)
		require.InDelta(t, row.half, h.tallies[0].half(), 0.02, name)
	}

	synctest.Test(t, func(t *testing.T) {
		p := simple(1)
		p.final, p.asks = 1, 5
		w := newWorld(idle, p)
		err := w.serve(t.Context(), newCall(w))
		require.ErrorIs(t, err, errFinal)
		require.ErrorAs(t, err, new(*backoff.PermanentError))
		var asked *backoff.RetryAfterError
		require.ErrorAs(t, w.refusal(), &asked)
		require.Equal(t, 5*time.Second, asked.Duration)
		require.ErrorIs(t, asked, errFailed)
	})
}

// A service refuses while too many wait. Those whose clients have left count, unless it heeds that.
func TestLine(t *testing.T) {
	for heeds, want := range map[bool]error{false: errFailed, true: nil} {
		synctest.Test(t, func(t *testing.T) {
			p := simple(3)
			p.line, p.heeds = 1, heeds
			w := newWorld(idle, p)
			w.wait.Go(func() { require.NoError(t, w.simulate(t.Context(), newCall(w))) })
			time.Sleep(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.Equal(t, errLate, w.simulate(ctx, newCall(w)))
			require.Equal(t, want, w.simulate(t.Context(), newCall(w)))
			w.wait.Wait()
		})
	}
}

// Calls begin at random times, in bursts, or by workers, and those of a part that hangs have no answer.
func TestStreams(t *testing.T) {
	p := simple(0.01)
	p.load, p.from, p.after = 0.2, 100, 100
	h := played(t, "none", p)
	require.InDelta(t, 20*200, h.begun, 200)
	require.InDelta(t, 20*200, len(h.tallies[0].took), 200)

	h = played(t, "none", p.row("", part(0.4, 50)))
	require.InDelta(t, 0.6*20*250, h.tallies[0].begun, 200)
	require.Zero(t, h.tallies[0].lost())
	require.InDelta(t, 0.4*20*50, h.tallies[1].lost(), 100)

	p.streams = []stream{{burst: 7, begin: 10, every: 50, timeout: 1}, {burst: 3, begin: 10, timeout: 1}, {workers: 2, pause: 1, begin: 100, timeout: 1}}
	h = played(t, "none", p)
	require.Equal(t, 7*4, h.tallies[0].begun)
	require.Equal(t, 3, h.tallies[1].begun)
	require.InDelta(t, 2*100, h.tallies[2].begun, 50)

	p.fresh = true
	p.streams = []stream{{burst: 5, begin: 10, timeout: 1}, {burst: 5, begin: 10, timeout: 1, bare: true, answer: alike(2)}}
	made := 0
	h, err := play(way{set: func(p *process) caller {
		made++
		return p.once
	}}, p)
	require.NoError(t, err)
	require.Equal(t, p.processes+5, made)
	require.Equal(t, 5, h.tallies[1].lost())
}

// At the end of an outage, a service may lose what it has.
func TestLoses(t *testing.T) {
	p := simple(1).row("", func(p *plan) { p.from = 10 }, down(10))
	p.streams = []stream{{burst: 3, begin: 11, timeout: 100}, {burst: 2, begin: 21, timeout: 100}}
	require.Zero(t, played(t, "none", p).tallies[0].lost())
	loses(&p)
	h := played(t, "none", p)
	require.Equal(t, 3, h.tallies[0].lost())
	require.Zero(t, h.tallies[1].lost())
}

// A call that has not ended when all is cut off is lost, and so are those that a restart of the processes cuts off.
func TestCutOff(t *testing.T) {
	p := simple(90)
	p.from, p.after, p.timeout = 0, 60, 3600
	p.streams = []stream{{burst: 2, timeout: 3600}}
	require.Equal(t, 1, played(t, "none", p).tallies[0].lost())

	p = simple(3)
	p.from, p.duration, p.restart = 10, 10, true
	p.streams = []stream{{burst: 3, begin: 10, timeout: 3600}} // of which the first is done before the restart
	made := 0
	h, err := play(way{set: func(p *process) caller {
		made++
		return p.once
	}}, p)
	require.NoError(t, err)
	require.Equal(t, 2, made)
	require.Equal(t, 2, h.tallies[0].lost())
}

// The busiest process has more calls than the idlest by the skew. Those that come with the trouble have as many as the
// others, and the slots of those.
func TestProcesses(t *testing.T) {
	p := simple(1)
	p.processes, p.skew = 3, 4
	require.InDeltaSlice(t, []float64{1. / 7, 2. / 7, 4. / 7}, p.shares(3), 1e-9)

	p = simple(0.01).row("", load(0.8), processes(5), func(p *plan) { p.grow = 2 })
	require.Equal(t, 12, p.right(0))
	require.Equal(t, 12, p.right(9))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(idle, p)
		require.Len(t, w.fleet, 10)
		require.Equal(t, 4, w.pick(0.999))
		w.until(w.from)
		require.Equal(t, 9, w.pick(0.999))
	})
}

// The first wait is half of what the first attempt may take, if that is less than a second.
func TestFirstWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(idle, simple(1))
		ctx, cancel := context.WithTimeout(withCall(t.Context(), newCall(w)), 2*time.Second)
		defer cancel()
		for timeout, want := range map[float64]time.Duration{1: 500 * time.Millisecond, 0.4: 200 * time.Millisecond, 5: 500 * time.Millisecond} {
			w.streams[0].timeout = timeout
			require.Equal(t, want, settings{}.firstWait(ctx, w.fleet[0]))
		}
		w.streams[0].timeout = 1
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, 250*time.Millisecond, settings{}.firstWait(ctx, w.fleet[0]))
	})
}
