package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/backoff/bench"
)

// A figure is what one peer needed for one task, once for each round.
type figure struct {
	task, peer    string
	times, allocs []float64 // in ns, or bytes for memory; and in objects
}

type results []*figure

func measure(rounds, waiting int, wanted func(string) bool, progress io.Writer) results {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r results
	for round := range rounds {
		cases := bench.Cases(ctx)
		order := rand.Perm(len(cases)) // none always comes after the same other
		if round == 0 {
			slices.Sort(order) // that of the tables
		}
		for _, i := range order {
			c := cases[i]
			if wanted(c.Task) {
				b := testing.Benchmark(c.Run)
				r.add(c.Task, c.Peer, float64(b.T.Nanoseconds())/float64(b.N), float64(b.AllocsPerOp()))
			}
		}
		for _, w := range bench.Waiters {
			if wanted(bench.Waiting) && round%7 == 0 { // it takes long, and scatters little
				bytes, _ := bench.Weigh(waiting, w.Build)
				r.add(bench.Waiting, w.Peer, bytes, math.NaN())
			}
		}
		fmt.Fprintf(progress, "round %d of %d\n", round+1, rounds)
	}
	return r
}

func (r *results) add(task, peer string, time, allocs float64) {
	f := r.find(task, peer)
	if f == nil {
		f = &figure{task: task, peer: peer}
		*r = append(*r, f)
	}
	f.times = append(f.times, time)
	f.allocs = append(f.allocs, allocs)
}

func (r results) find(task, peer string) *figure {
	for _, f := range r {
		if f.task == task && f.peer == peer {
			return f
		}
	}
	return nil
}

// time returns the median of the figure's times, or NaN if there is none.
func (r results) time(task, peer string) float64 {
	if f := r.find(task, peer); f != nil {
		return median(f.times)
	}
	return math.NaN()
}

func (r results) allocs(task, peer string) float64 {
	if f := r.find(task, peer); f != nil {
		return median(f.allocs)
	}
	return math.NaN()
}

func (r results) fastestPeer(task string) float64 {
	fastest := math.NaN()
	for _, f := range r {
		if f.task == task && f.peer != bench.Ours && f.peer != bench.Hand {
			if m := median(f.times); !(m >= fastest) {
				fastest = m
			}
		}
	}
	return fastest
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
