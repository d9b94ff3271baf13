package main

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// simple is a plan of a service that works on one request at a time, for so long.
func simple(work time.Duration) plan {
	return plan{
		processes: 1, skew: 1, grow: 1, guess: 1, rate: 1 / work.Seconds(), servers: 1, spread: constant,
		timeout: time.Second, from: time.Hour, after: time.Hour,
	}
}

// Final errors are answers: they are not lost, and their attempts not repeated.
func TestFinal(t *testing.T) {
	for _, o := range simulated(t, "-final 100% -trouble none -load 0.3 -timeout 3s -only no,slots") {
		require.Zero(t, o.lost())
		require.Equal(t, o.begun, o.requests.sum(0, 300))
		require.Equal(t, o.begun, o.answers.sum(0, 300))
	}
	synctest.Test(t, func(t *testing.T) {
		p := simple(time.Second)
		p.final = 1
		w := newWorld(way{}, p)
		err := w.serve(t.Context(), newCall())
		require.ErrorIs(t, err, errFinal)
		require.ErrorAs(t, err, new(*backoff.PermanentError))
	})
}

// newCall returns a call that no process makes.
func newCall() *call { return &call{random: rand.New(rand.NewPCG(1, 1))} }

// The work of requests has the same mean, however it is distributed, and a share of them takes three times as long.
func TestWork(t *testing.T) {
	for spread, rare := range map[string]float64{constant: 0, exponential: 0.050, heavy: 0.069} {
		const n = 100_000
		p := simple(time.Second)
		p.spread = spread
		w := newWorld(way{}, p)
		random := rand.New(rand.NewPCG(1, 1))
		sum, long := 0.0, 0.0
		for range n {
			work := w.work(random).Seconds()
			sum += work
			if work > 3 {
				long++
			}
		}
		require.InEpsilon(t, n, sum, 0.02, spread)
		require.InDelta(t, rare, long/n, 0.003, spread)
	}
}

// Calls to a part that hangs have no answer, and the others are counted apart.
func TestPart(t *testing.T) {
	o := simulated(t, "-trouble part:40%:1m -load 0.2 -after 1m -only no")[noRetries]
	require.InDelta(t, 12*60, o.others.begun+o.lost(), 80)
	require.InDelta(t, 0.6*12*60, o.others.begun, 60)
	require.Less(t, o.others.share(), 1.0)
	require.InDelta(t, 0.2, o.others.half(), 0.1)
}

// Calls with a longer timeout have a longer deadline too.
func TestLong(t *testing.T) {
	for args, want := range map[string]time.Duration{"": time.Second, "-long 50%:8s": 8 * time.Second} {
		o := simulated(t, "-trouble stuck:100%:10s -after 10s -load 0.1 -deadline 1500ms -only no "+args)[noRetries]
		require.InDelta(t, want, o.slowest, float64(time.Millisecond), args)
	}
}

// Workers of a closed loop make as many calls as others, but fewer while these have no answers.
func TestLoop(t *testing.T) {
	for trouble, want := range map[string]float64{"none": 36 * 90, "stuck:100%": 36*30 + 60*100/(1+100./36)} {
		o := simulated(t, "-shape loop -size 100 -after 1m -only no -trouble "+trouble)[noRetries]
		require.InEpsilon(t, want, o.begun, 0.1, trouble)
	}
}

// More calls begin for a time, or more and more.
func TestSurge(t *testing.T) {
	for trouble, want := range map[string]float64{"none": 6 * 90, "traffic:4": 6*30 + 4*6*60, "traffic:4:30s": 6*60 + 4*6*30 + 6*30, "double:30s": 6*30 + 6*30*3/math.Ln2} {
		o := simulated(t, "-load 0.1 -after 1m -only no -trouble "+trouble)[noRetries]
		require.InEpsilon(t, want, o.begun, 0.1, trouble)
	}
}

// One of several backends hangs: so many attempts have no answer, whether they are chosen at random or in turn.
func TestBackends(t *testing.T) {
	for args, want := range map[string][2]float64{ // lost after the trouble's beginning, by no retries and three
		"-balance random -trouble hang:1/4":     {25, 1},
		"-balance turn -trouble hang:1/4":       {25, 0},
		"-balance random -trouble stuck:25%":    {25, 1},
		"-balance random -trouble late:25%":     {25, 1},
		"-balance random -trouble slow:1":       {45, 8},
		"-balance random -trouble hang:1/4:60s": {13, 0},
	} {
		all := simulated(t, "-processes 1 -rate 1000 -servers 100 -load 0.05 -from 1ms -after 1m -only no,3 "+args)
		require.InDelta(t, want[0], all[noRetries].share(), 3, args)
		require.InDelta(t, want[1], all[three].share(), 2, args)
	}
}

// Answers that need no work come while the service is down.
func TestCached(t *testing.T) {
	o := simulated(t, "-trouble 60s -load 0.05 -cached 50% -from 1ms -after 1s -only no")[noRetries]
	require.InDelta(t, 50, o.share(), 5)
	require.InEpsilon(t, 2*60*0.05*61, o.begun, 0.1)
}

// The head of a table says in which unit the cells are.
func TestUnits(t *testing.T) {
	for args, want := range map[string]string{
		"-trouble 10s":                     `of the usual traffic, or.*\n\n.*\nno retries +\d\d s\n`,
		"-trouble 10s -in percent":         `per cent of all calls, or.*\n\n.*\nno retries +\d\d %\n`,
		"-trouble 10s -in both":            `and in per cent of all calls, or.*\n\n.*\nno retries +\d\d s, \d\d %\n`,
		"-trouble none -load 0.1":          `\nno retries +0 \(\d\.\d s\)\n`,
		"-trouble none -shape batch":       `\nno retries +\d\d %\n`,
		"-trouble part:40% -load 0.1":      `\n +part:40% +part:40%: others lost +part:40%: half of them took at most\nno retries +\d\d s +0.0 % +0.\d\d s\n`,
		"-scenario variations -in percent": `in per cent of all calls: no retries / slots by number / slots / slots, budget\n`,
	} {
		var stdout strings.Builder
		require.Zero(t, run(append(strings.Fields(args), "-only", "no retries"), &stdout, io.Discard), args)
		require.Regexp(t, want, stdout.String(), args)
	}
}

// Work goes on at the capacity that a backend has left, and stands still while it is down.
func TestCapacity(t *testing.T) {
	const never = forever / time.Second
	for _, row := range []struct {
		trouble           string
		backend           int
		begin, work, done time.Duration // in seconds
	}{
		{"none", 0, 29, 3, 32},
		{"10s", 0, 20, 9, 29},
		{"10s", 0, 29, 3, 42},
		{"10s", 0, 35, 1, 41},
		{"10s", 0, 40, 1, 41},
		{"half", 0, 30, 3, 36},
		{"half", 0, 28, 3, 32},
		{"half", 0, 80, 7, 92},
		{"half:2m", 0, 80, 7, 94},
		{"10s+half:20s", 0, 29, 7, 51},
		{"ramp:10s/20s", 0, 30, 10, 60},
		{"ramp:10s/40s", 0, 60, 16, 81},
		{"flap:2x10s/30s", 0, 29, 22, 71},
		{"hang:1/2", 0, 29, 2, never},
		{"hang:1/2", 1, 29, 2, 31},
		{"hang:1/2:10s", 0, 29, 2, 41},
		{"roll:3x10s", 0, 29, 2, 41},
		{"roll:3x10s", 2, 29, 22, 61},
		{"refuse:10s", 0, 35, 3, 38},
		{"fail:20%", 0, 35, 3, 38},
	} {
		p := plan{trouble: outage(t, row.trouble), from: 30 * time.Second}
		begin, work := row.begin*time.Second, row.work*time.Second
		got := p.worksUntil(row.backend, begin, work)
		require.InDelta(t, row.done, got/time.Second, 1e-6, row)
		if row.done != never {
			require.InDelta(t, work, p.worked(row.backend, begin, got), 100, row)
		}
	}
}

// What happens in a trouble happens until its end, and names what all columns are about.
func TestTrouble(t *testing.T) {
	for _, row := range []struct {
		trouble, kind string
		at            time.Duration // in seconds
		want          float64
	}{
		{"refuse:10s", refusing, -1, 0},
		{"refuse:10s", refusing, 0, 1},
		{"refuse:10s", refusing, 10, 0},
		{"refuse:5%", refusing, 3000, 0.05},
		{"stuck:30%:20s", stuck, 19, 0.3},
		{"stuck:30%:20s", stuck, 20, 0},
		{"10s+late:30%", late, 11, 0.3},
		{"slow:1.4", slow, 11, 1.4},
		{"part:40%", part, 11, 0.4},
		{"fail:40%", failing, 11, 0.4},
		{"fail:40%", part, 11, 0},
	} {
		require.Equal(t, row.want, outage(t, row.trouble).amount(row.kind, row.at*time.Second), row)
	}
	for name, want := range map[string]time.Duration{
		"none": 0, "10s": 10, "half": 60, "stuck:30%": 0, "stuck:30%:20s+10s": 20, "hang:1/2": 0, "flap:4x10s/30s": 100, "roll:6x20s": 120,
	} {
		require.Equal(t, want*time.Second, outage(t, name).duration, name)
	}
	for name, want := range map[string]float64{
		"none": 1, "traffic:4": 4, "traffic:4:10s": 1, "double:10s": 8, "traffic:2+double:15s": 8,
	} {
		require.InDelta(t, want, outage(t, name).surge(30*time.Second), 1e-9, name)
	}
	for _, name := range []string{
		"", "x", "1ms", "half:x", "hang:0/3", "hang:3/2", "hang:1", "flap:10s/30s", "flap:2x10s", "ramp:10s", "roll:20s", "stuck:30", "slow:x",
		"traffic:0", "double:2", "stuck:30%:x", "10s+", "roll:2x10s:10s", "half:10s:10s", "10s@0", "10s@1.1",
	} {
		_, err := parseTrouble(name)
		require.Error(t, err, name)
	}
}

// serveAll sends requests a millisecond apart, and returns when each is answered, or 0 for those that get an error.
func serveAll(t *testing.T, p plan, kinds ...float64) (answered []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(way{}, p)
		answered = make([]time.Duration, len(kinds))
		for i, kind := range kinds {
			w.wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), p.timeout)
				defer cancel()
				if w.serve(ctx, &call{kind: kind, random: newCall().random}) == nil {
					answered[i] = w.now().Round(time.Millisecond) / time.Millisecond
				}
			})
			time.Sleep(time.Millisecond)
		}
		w.wait.Wait()
	})
	return answered
}

// A service works on requests in its order, on as many at once as it has servers. Its capacity is the same.
func TestOrder(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*plan)
		want   []time.Duration
	}{
		{"oldest first", func(*plan) {}, []time.Duration{300, 600, 900, 0, 0}},
		{"newest first", func(p *plan) { p.order = newest }, []time.Duration{300, 0, 0, 900, 600}},
		{"some first", func(p *plan) { p.ahead = 0.5 }, []time.Duration{300, 900, 0, 600, 0}},
		{"shared", func(p *plan) { p.order, p.timeout = sharing, time.Minute }, []time.Duration{1494, 1498, 1499, 1500, 1500}},
		{"two at once", func(p *plan) { p.servers = 2 }, []time.Duration{600, 601, 0, 0, 0}},
		{"and an answer", func(p *plan) { p.answer = 100 * time.Millisecond }, []time.Duration{400, 700, 1000, 0, 0}},
		{"a short line", func(p *plan) { p.line = 1 }, []time.Duration{300, 600, 0, 0, 0}},
		{"a line whose clients leave", func(p *plan) { p.timeout = 500 * time.Millisecond }, []time.Duration{300, 0, 0, 0, 0}},
	} {
		p := simple(300 * time.Millisecond)
		row.change(&p)
		require.Equal(t, row.want, serveAll(t, p, 0.9, 0.9, 0.9, 0.1, 0.9), row.name)
	}
}

// A request whose client has left is worked on, unless the service heeds that.
func TestHeeds(t *testing.T) {
	for order, took := range map[string]time.Duration{oldest: 8 * time.Second, newest: 5 * time.Second, sharing: 8 * time.Second} {
		for heeds, want := range map[bool]time.Duration{false: took, true: 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				p := simple(3 * time.Second)
				p.order = order
				p.heeds = heeds
				w := newWorld(way{}, p)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				for range 2 {
					w.wait.Go(func() { require.ErrorIs(t, w.serve(ctx, &call{}), context.DeadlineExceeded) })
				}
				w.wait.Wait()

				start := time.Now()
				require.NoError(t, w.serve(t.Context(), &call{}))
				took := time.Since(start)
				require.InDelta(t, want, took, 10, "%s, %t", order, heeds)
			})
		}
	}
}

// A service refuses while too many wait. Those whose clients have left count, unless it heeds that.
func TestLine(t *testing.T) {
	for heeds, want := range map[bool]error{false: errFailed, true: nil} {
		synctest.Test(t, func(t *testing.T) {
			p := simple(3 * time.Second)
			p.line = 1
			p.heeds = heeds
			w := newWorld(way{}, p)
			w.wait.Go(func() { require.NoError(t, w.serve(t.Context(), &call{})) })
			time.Sleep(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, w.serve(ctx, &call{}), context.DeadlineExceeded)
			require.Equal(t, want, w.serve(t.Context(), &call{}))
			w.wait.Wait()
		})
	}
}

// A call that has not ended when all is cut off is lost, whatever would have come of it.
func TestUnended(t *testing.T) {
	p := simple(90 * time.Second)
	p.timeout = time.Hour
	p.from = 0
	p.after = time.Minute
	p.atOnce = 2
	o := play(ways[noRetries], p)
	require.Equal(t, 2, o.begun)
	require.Equal(t, 1, o.lost())
}

// The busiest process has more calls than the idlest by the skew, and those that come with the trouble have as many as
// the others.
func TestTraffic(t *testing.T) {
	p := simple(time.Second)
	p.processes = 3
	p.skew = 4
	require.InDeltaSlice(t, []float64{1. / 7, 2. / 7, 4. / 7}, p.traffic(3), 1e-9)

	p.skew = 1
	p.grow = 2
	for from, most := range map[time.Duration]int{0: 5, time.Hour: 2} {
		synctest.Test(t, func(t *testing.T) {
			p.from = from
			w := newWorld(way{}, p)
			require.Len(t, w.fleet, 6)
			require.Equal(t, 0, w.pick(0))
			require.Equal(t, most, w.pick(0.999))
		})
	}
}

// The traffic of the processes moves on by one of them at a time.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simple(time.Second)
		p.processes = 3
		p.move = time.Minute
		w := newWorld(way{}, p)
		for _, want := range []int{0, 1, 2, 0} {
			require.Equal(t, want, w.pick(0))
			require.Equal(t, (want+2)%3, w.pick(0.999))
			time.Sleep(time.Minute)
		}
	})
}

// When the processes are restarted, their calls are cut off, and those that follow are made by others.
func TestRestart(t *testing.T) {
	p := simple(3 * time.Second)
	p.timeout = time.Hour
	p.trouble = trouble{duration: 10 * time.Second}
	p.from = 10 * time.Second
	p.restart = true
	p.atOnce = 3 // of which the first is done before the restart, the others at 16 s and 19 s
	p.load = 0.01
	var made []int
	o := play(way{attempts: 1, slots: func(_ plan, number int) *backoff.Slots {
		made = append(made, number)
		return nil
	}}, p)
	require.Equal(t, []int{0, 0}, made)
	require.Equal(t, 2, o.lost())
	require.Greater(t, o.begun, 10)
}

// A burst comes within a second, after a call of each process and a pause. Attempts that are refused fail at once.
func TestBurst(t *testing.T) {
	all := simulated(t, "-shape burst -size 50 -from 1m -trouble refuse:100% -rate 2000 -servers 200")
	o := all[three]
	require.Equal(t, 5+50, o.begun)
	require.Equal(t, 50, o.lost())
	require.Equal(t, 5, o.requests.sum(0, 60))
	require.Equal(t, 50*4, o.requests.sum(60, 70))
	require.Less(t, all[noRetries].half(), 0.5)
}

// The requests of other programs are counted apart, and lost if the service does not answer in time.
func TestNeighbours(t *testing.T) {
	o := simulated(t, "-shape devices -size 1000 -trouble 10s -after 1m -load 0.5")[usualWaits]
	require.InDelta(t, 60*60*0.5, o.others.begun, 150)
	require.Greater(t, o.others.share(), 85.0)
	require.Equal(t, 1000, o.begun)
}
