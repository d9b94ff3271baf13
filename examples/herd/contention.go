package main

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The parameters of the published experiment.
const (
	hopMean   = 10 * time.Millisecond
	hopSpread = 2 * time.Millisecond
	base      = 5 * time.Millisecond
	limit     = 2 * time.Second
)

// contender is a strategy that clients use against each other. Its name is the one in the CSV, that
// of the published figures where they have it.
type contender struct {
	name, label, colour string
	policy              func(backoff.Clock, *rand.Rand) backoff.BackOff
}

func contenders() []contender {
	return []contender{
		{"None", "no backoff", red, func(backoff.Clock, *rand.Rand) backoff.BackOff {
			return &backoff.ZeroBackOff{}
		}},
		// The published program counts attempts from 1, so that its first interval is the base, doubled.
		{"Exponential", "no jitter", blue, doubling(backoff.NoJitter, 2*base)},
		{"Proportional", "proportional", orange, doubling(backoff.ProportionalJitter, 2*base)},
		{"Additive", "additive", pink, doubling(backoff.AdditiveJitter, 2*base)},
		{"EqualJitter", "equal", purple, doubling(backoff.EqualJitter, 2*base)},
		{"FullJitter", "full", green, doubling(backoff.FullJitter, 2*base)},
		// Its decorrelated jitter starts with the base itself as the previous wait.
		{"Decorr", "decorrelated", teal, doubling(backoff.DecorrelatedJitter, base)},
	}
}

func doubling(jitter backoff.Jitter, initial time.Duration) func(backoff.Clock, *rand.Rand) backoff.BackOff {
	return func(clock backoff.Clock, random *rand.Rand) backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(initial),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(limit),
			backoff.WithMaxElapsedTime(0),
			backoff.WithJitter(jitter),
			backoff.WithRand(random),
			backoff.WithClockProvider(clock))
	}
}

// simClock is the simulated time, counted from an arbitrary moment.
type simClock struct{ now time.Duration }

func (c *simClock) Now() time.Time { return time.Unix(0, 0).Add(c.now) }

// step says what a client's next event is.
type step uint8

const (
	readArrives  step = iota // at the server
	readReturns              // to the client, with the row's version
	writeArrives             // at the server, which takes it only if the version is still the row's
	writeReturns             // to the client
)

type writer struct {
	at      time.Duration // of the next event
	step    step
	written bool
	version int // as read
	policy  backoff.BackOff
}

// contend lets clients update one row, and returns the time at which the last of them knows that it
// has, and the number of writes that reached the server.
func contend(clients int, c contender, random *rand.Rand) (done time.Duration, calls int) {
	hop := func() time.Duration {
		return time.Duration(random.NormFloat64()*float64(hopSpread) + float64(hopMean)).Abs()
	}
	clock := &simClock{}
	queue := make(writers, clients)
	for i := range queue {
		queue[i] = &writer{at: hop(), policy: c.policy(clock, random)}
	}
	heap.Init(&queue)
	version := 0
	for len(queue) > 0 {
		w := queue[0]
		clock.now = w.at
		switch w.step {
		case readArrives:
			w.version, w.step = version, readReturns
		case readReturns:
			w.step = writeArrives
		case writeArrives:
			calls++
			w.written, w.step = w.version == version, writeReturns
			if w.written {
				version++
			}
		case writeReturns:
			if w.written {
				heap.Pop(&queue)
				continue
			}
			w.at += w.policy.NextBackOff()
			w.step = readArrives
		}
		w.at += hop()
		heap.Fix(&queue, 0)
	}
	return clock.now, calls
}

// writers is a heap by time. Each client has one event, which it changes in place.
type writers []*writer

func (q writers) Len() int           { return len(q) }
func (q writers) Less(i, j int) bool { return q[i].at < q[j].at }
func (q writers) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *writers) Push(x any)        { *q = append(*q, x.(*writer)) }

func (q *writers) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	*q = (*q)[:last]
	return w
}

// contention is what the runs of one strategy come to.
type contention struct {
	contender
	clients     int
	time, calls float64 // means; the time in milliseconds
}

// runContention returns a row for each number of clients and each strategy. A run's random numbers
// depend on the seed, the strategy, the number of clients and the run, not on what else runs.
func runContention(clients []int, runs int, seed uint64, p *progress) []contention {
	var rows []contention
	strategies := contenders()
	for _, n := range clients {
		for _, c := range strategies {
			rows = append(rows, contention{contender: c, clients: n})
		}
	}
	type outcome struct {
		done  time.Duration
		calls int
	}
	outcomes := make([]outcome, len(rows)*runs)
	p.expect(len(outcomes))
	parallel(len(outcomes), func(i int) {
		row := rows[i/runs]
		strategy, run := i/runs%len(strategies), i%runs
		stream := uint64(strategy)<<56 | uint64(row.clients)<<32 | uint64(run)
		random := rand.New(rand.NewPCG(seed, stream))
		outcomes[i].done, outcomes[i].calls = contend(row.clients, row.contender, random)
		p.add(1)
	})
	for i, o := range outcomes {
		rows[i/runs].time += o.done.Seconds() * 1000 / float64(runs)
		rows[i/runs].calls += float64(o.calls) / float64(runs)
	}
	return rows
}
