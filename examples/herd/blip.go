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

	blipStart = 30 * time.Second
	blipEnd   = blipStart + 10*time.Second
	blipClose = blipEnd + 5*time.Minute // no operation begins later
)

func blipLoads() []float64 { return []float64{0.7, 0.8, 0.9} }

func blipStrategies() []strategy {
	three := func(jitter backoff.Jitter) policyFunc {
		return limited(retries, exponential(backoff.WithJitter(jitter)))
	}
	return []strategy{
		{"no retries", grey, false, never},
		{"immediate", red, false, limited(retries, immediate)},
		{"default", orange, false, three(backoff.ProportionalJitter)},
		{"full jitter", green, false, three(backoff.FullJitter)},
		{"immediate, budget", pink, true, limited(retries, immediate)},
		{"default, budget", blue, true, three(backoff.ProportionalJitter)},
		{"full jitter, budget", teal, true, three(backoff.FullJitter)},
		{"no jitter", "", false, three(backoff.NoJitter)},
		{"equal jitter", "", false, three(backoff.EqualJitter)},
		{"decorrelated jitter", "", false, three(backoff.DecorrelatedJitter)},
		{"additive jitter", "", false, three(backoff.AdditiveJitter)},
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
func runBlip(loads []float64, seed uint64, p *progress) []*blip {
	strategies := blipStrategies()
	results := make([]*blip, len(loads)*len(strategies))
	p.expect(len(results))
	parallel(len(results), func(i int) {
		results[i] = simulateBlip(strategies[i%len(strategies)], loads[i/len(strategies)], seed)
		p.add(1)
	})
	return results
}

func simulateBlip(s strategy, load float64, seed uint64) *blip {
	b := &blip{strategy: s, load: load}
	c := newCrowd(s, blipProcesses, seed)
	// The service works through its queue in order, whether or not the client still waits. So it is
	// known at once when it will have done a request: at idle, when all before it are done, plus
	// its own work.
	var idle time.Duration
	c.serve = func() (time.Duration, error) {
		b.requests.add(int(c.clock.now / time.Second))
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
			b.good.add(int(c.clock.now / time.Second))
		}
	}
	arrivals := rand.New(rand.NewPCG(seed, 0)) // the same for all strategies
	c.arrivals(arrivals, load*serviceRate, blipClose, func() {
		b.begun.add(int(c.clock.now / time.Second))
		c.begin(arrivals.IntN(blipProcesses))
	})
	c.run()
	return b
}

// goodput returns the operations that succeed in the seconds from first to before end, as a share of
// those that begin in them.
func (b *blip) goodput(first, end int) float64 {
	return float64(b.good.sum(first, end)) / float64(b.begun.sum(first, end))
}

// recovery returns how many seconds after the blip the goodput, averaged over window seconds, is back
// for good at 90 % or more. It reports false if it never is.
func (b *blip) recovery() (int, bool) {
	const window = 5
	first, last := int(blipEnd/time.Second), int(blipClose/time.Second)
	for second := last - window; second >= first; second-- {
		if b.goodput(second, second+window) < 0.9 {
			return second + 1 - first, second < last-window
		}
	}
	return 0, true
}

func writeBlip(w io.Writer, results []*blip, loads []float64) {
	fmt.Fprintf(w, "Blip: a service without capacity for 10 s, by its load before; goodput in the fifth minute after\n")
	strategies := len(blipStrategies())
	fmt.Fprintf(w, "\n%-22s", "")
	for _, load := range loads {
		fmt.Fprintf(w, "%21s", fmt.Sprintf("%.0f %% load", load*100))
	}
	fmt.Fprintf(w, "\n%-22s", "")
	for range loads {
		fmt.Fprintf(w, "%11s%10s", "recovered", "goodput")
	}
	fmt.Fprintln(w)
	last := int(blipClose / time.Second)
	for s := range strategies {
		fmt.Fprintf(w, "%-22s", results[s].label)
		for i := s; i < len(results); i += strategies {
			verdict := "never"
			if after, ok := results[i].recovery(); ok {
				verdict = fmt.Sprintf("%d s", after)
			}
			fmt.Fprintf(w, "%11s%8.0f %%", verdict, results[i].goodput(last-60, last)*100)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
