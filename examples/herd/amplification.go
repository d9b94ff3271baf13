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

func amplificationStrategies() []strategy {
	return []strategy{
		{"no retries", grey, false, never},
		{"three retries", red, false, limited(retries, immediate)},
		{"three retries and a budget", teal, true, limited(retries, immediate)},
	}
}

// amplification is what one strategy comes to at one failure rate.
type amplification struct {
	strategy
	rate     float64
	requests float64 // for each operation, on average
}

var errFailed = errors.New("failed")

// amplify returns the requests for each operation, if attempts fail at rate.
func amplify(s strategy, rate float64, random *rand.Rand) float64 {
	var budget backoff.Budget
	policy := s.policy(&simClock{}, random)
	if s.budgeted {
		policy = backoff.WithBudget(policy, &budget)
	}
	requests := 0
	for i := range settling + counted {
		if i == settling {
			requests = 0
		}
		policy.Reset()
		for {
			requests++
			var err error
			if random.Float64() < rate {
				err = errFailed
			}
			if next(policy, err) < 0 {
				break
			}
		}
	}
	return float64(requests) / counted
}

// unlimitedRequests returns the expected requests for each operation without a budget.
func unlimitedRequests(rate float64) float64 { return 1 + rate + rate*rate + rate*rate*rate }

// runAmplification returns a row for each rate and each strategy.
func runAmplification(rates []float64, seed uint64, p *progress) []amplification {
	var rows []amplification
	for _, rate := range rates {
		for _, s := range amplificationStrategies() {
			rows = append(rows, amplification{strategy: s, rate: rate})
		}
	}
	p.expect(len(rows))
	parallel(len(rows), func(i int) {
		random := rand.New(rand.NewPCG(seed, math.Float64bits(rows[i].rate)))
		rows[i].requests = amplify(rows[i].strategy, rows[i].rate, random)
		p.add(1)
	})
	return rows
}

func writeAmplification(w io.Writer, rows []amplification) {
	fmt.Fprintf(w, "Amplification: requests for each operation, by the failure rate of an attempt\n\n")
	fmt.Fprintf(w, "%-9s%12s%15s%16s%15s\n", "", "", "", "1 + p + p² + p³", "three retries")
	fmt.Fprintf(w, "%-9s%12s%15s%16s%15s\n", "rate p", "no retries", "three retries", "", "and a budget")
	for i := 0; i < len(rows); i += 3 {
		rate := rows[i].rate
		fmt.Fprintf(w, "%-9g%12.3f%15.3f%16.3f%15.3f\n",
			rate, rows[i].requests, rows[i+1].requests, unlimitedRequests(rate), rows[i+2].requests)
	}
	fmt.Fprintln(w)
}

func writeAmplificationCSV(w io.Writer, rows []amplification) {
	fmt.Fprintln(w, "rate,requests,strategy")
	for _, r := range rows {
		fmt.Fprintf(w, "%g,%.4f,%s\n", r.rate, r.requests, r.label)
	}
}
