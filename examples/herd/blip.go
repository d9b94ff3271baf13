package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The parameters of the blip. The package comment says where they come from.
const (
	serviceRate   = 300.0 // requests per second that the service can work through
	answerLatency = 100 * time.Millisecond
	answerTimeout = time.Second
	blipProcesses = 10
	blipWindow    = 5 // seconds that a goodput is averaged over

	blipStart = 30 * time.Second
	blipEnd   = blipStart + 10*time.Second
	blipClose = blipEnd + 5*time.Minute // no operation begins later
)

func blipLoads() []float64 { return []float64{0.7, 0.8, 0.9} }

// three returns the default policy with a jitter and a limit of three retries.
func three(jitter backoff.Jitter) policyFunc {
	return limited(retries, exponential(backoff.WithJitter(jitter)))
}

func blipStrategies() []strategy {
	return []strategy{
		{name: noRetries, policy: never},
		{name: zeroBackOff, policy: limited(retries, immediate)},
		{name: noJitter, policy: three(backoff.NoJitter)},
		{name: proportional, policy: three(backoff.ProportionalJitter)},
		{name: fullJitter, policy: three(backoff.FullJitter)},
		{name: equalJitter, policy: three(backoff.EqualJitter)},
		{name: decorrelated, policy: three(backoff.DecorrelatedJitter)},
		{name: additive, policy: three(backoff.AdditiveJitter)},
		{name: fullBudget, policy: three(backoff.FullJitter), budget: &backoff.Budget{}},
	}
}

// blip is what one strategy comes to under one load.
type blip struct {
	strategy
	load     float64 // of first attempts, as a share of the service's capacity
	begun    counts  // operations that begin in each second
	requests counts  // that reach the service in each second
	good     counts  // operations that succeed in each second
}

var errTimeout = errors.New("timeout")

// runBlip returns a result for each load and each strategy.
func runBlip(strategies []strategy, loads []float64, seed uint64, p *progress) []*blip {
	results := make([]*blip, len(loads)*len(strategies))
	parallel(len(results), p, func(i int) {
		results[i] = simulateBlip(strategies[i%len(strategies)], blipProcesses, loads[i/len(strategies)], seed)
	})
	return results
}

func simulateBlip(s strategy, processes int, load float64, seed uint64) *blip {
	b := &blip{strategy: s, load: load}
	c := newCrowd(s, processes, seed)
	// The service works through its queue in order, whether or not the client still waits. So it is
	// known at once when it will have done a request: at idle, when all before it are done, plus
	// its own work.
	var idle time.Duration
	c.serve = func() (time.Duration, error) {
		b.requests.add(c.clock.second())
		start := max(idle, c.clock.now)
		if start >= blipStart && start < blipEnd {
			start = blipEnd
		}
		idle = start + time.Duration(c.random.ExpFloat64()/serviceRate*float64(time.Second))
		if start < blipStart && idle > blipStart {
			idle += blipEnd - blipStart
		}
		took := idle + answerLatency - c.clock.now
		if took > answerTimeout {
			return answerTimeout, errTimeout
		}
		return took, nil
	}
	c.ended = func(err error) {
		if err == nil {
			b.good.add(c.clock.second())
		}
	}
	arrivals := rand.New(rand.NewPCG(seed, 0)) // the same for all strategies
	c.arrivals(arrivals, load*serviceRate, blipClose, func() {
		b.begun.add(c.clock.second())
		c.begin(arrivals.IntN(processes))
	})
	c.run()
	return b
}

// goodput returns the operations that succeed in the seconds from first to before end, as a share of
// those that begin in them.
func (b *blip) goodput(first, end int) float64 {
	return float64(b.good.sum(first, end)) / float64(b.begun.sum(first, end))
}

// recovery returns how many seconds after the blip the goodput is back for good at 90 % or more. It
// reports false if it never is.
func (b *blip) recovery() (int, bool) {
	first, last := int(blipEnd/time.Second), int(blipClose/time.Second)
	for second := last - blipWindow; second >= first; second-- {
		if b.goodput(second, second+blipWindow) < 0.9 {
			return second + 1 - first, second < last-blipWindow
		}
	}
	return 0, true
}

// law returns when the service recovers if it has to work through what the full buckets hold, in seconds
// of its capacity, over what it has in b, which is without retries: it gains 1 − load seconds of its
// capacity in each second.
func (b *blip) law(held float64) float64 {
	after, _ := b.recovery()
	return float64(after) + held/(1-b.load)
}

// last returns the goodput of the last minute.
func (b *blip) last() float64 {
	end := int(blipClose / time.Second)
	return b.goodput(end-60, end)
}

func writeBlip(w io.Writer, results []*blip, loads []float64) {
	fmt.Fprintf(w, "Blip: a service without capacity for 10 s, by its load before; goodput in the fifth minute after\n\n")
	above, below := []string{""}, []string{""}
	for _, load := range loads {
		above = append(above, "", fmt.Sprintf("%.0f %% load", load*100))
		below = append(below, "recovered", "goodput")
	}
	rows := [][]string{above, below}
	strategies := len(results) / len(loads)
	for s := range strategies {
		row := []string{results[s].label()}
		for i := s; i < len(results); i += strategies {
			row = append(row, verdict(results[i].recovery()), fmt.Sprintf("%.0f %%", results[i].last()*100))
		}
		rows = append(rows, row)
	}
	writeTable(w, rows)
}
