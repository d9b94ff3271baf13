package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"example.com/backoff"
)

// The parameters of the amplification.
const (
	settling = 20_000  // operations before any is counted: the bucket empties
	counted  = 100_000 // operations
	retries  = 3
)

func amplificationStrategies(capacity int) []strategy {
	three := limited(retries, immediate)
	return []strategy{
		{name: noRetries, policy: never},
		{name: threeRetries, policy: three},
		{name: threeBudget, policy: three, budget: &backoff.Budget{Capacity: capacity}},
		{name: threeCost14, policy: three, budget: &backoff.Budget{Capacity: capacity, RetryCost: 14}},
	}
}

// amplification is what one strategy comes to at one failure rate.
type amplification struct {
	strategy
	rate     float64
	requests float64 // for each operation, on average
	failed   float64 // operations, as a share of all
}

var errFailed = errors.New("failed")

// amplify returns the requests for each operation and the share of operations that fail, if attempts
// fail at rate.
func amplify(s strategy, rate float64, random *rand.Rand) (requests, failed float64) {
	policy := s.policy(&simClock{}, random)
	if s.budget != nil {
		policy = backoff.WithBudget(policy, s.newBudget())
	}
	for i := range settling + counted {
		if i == settling {
			requests, failed = 0, 0
		}
		policy.Reset()
		for {
			requests++
			var err error
			if random.Float64() < rate {
				err = errFailed
			}
			if next(policy, err) >= 0 {
				continue
			}
			if err != nil {
				failed++
			}
			break
		}
	}
	return requests / counted, failed / counted
}

// runAmplification returns a row for each rate and each strategy.
func runAmplification(rates []float64, capacity int, seed uint64, p *progress) []amplification {
	var rows []amplification
	for _, rate := range rates {
		for _, s := range amplificationStrategies(capacity) {
			rows = append(rows, amplification{strategy: s, rate: rate})
		}
	}
	parallel(len(rows), p, func(i int) {
		r := &rows[i]
		r.requests, r.failed = amplify(r.strategy, r.rate, rand.New(rand.NewPCG(seed, math.Float64bits(r.rate))))
	})
	return rows
}

func writeAmplification(w io.Writer, rows []amplification, capacity int) {
	strategies := len(amplificationStrategies(capacity))
	fmt.Fprintf(w, "Amplification: requests for each operation, and operations that fail, with a Capacity of %d\n\n", capacity)
	above, below := []string{"failure"}, []string{"rate"}
	for range 2 {
		above = append(above, "", "three", "and a", "at Retry-")
		below = append(below, "no retries", "retries", "budget", "Cost 14")
	}
	table := [][]string{above, below}
	for i := 0; i < len(rows); i += strategies {
		row := []string{fmt.Sprintf("%g", rows[i].rate)}
		for _, r := range rows[i : i+strategies] {
			row = append(row, fmt.Sprintf("%.3f", r.requests))
		}
		for _, r := range rows[i : i+strategies] {
			row = append(row, fmt.Sprintf("%.2f %%", r.failed*100))
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

func writeAmplificationCSV(w io.Writer, rows []amplification) {
	fmt.Fprintln(w, "rate,requests,strategy")
	for _, r := range rows {
		fmt.Fprintf(w, "%g,%.4f,%s\n", r.rate, r.requests, r.name)
	}
}
