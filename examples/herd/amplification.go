package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"example.com/backoff"
)

// The parameters of the amplification.
const (
	settling = 20_000  // operations before any is counted: the bucket empties
	counted  = 100_000 // operations
)

func amplificationStrategies(c config) []strategy {
	some := limited(c.blip.retries, immediate)
	return []strategy{
		{name: noRetries, policy: never},
		{name: noBudget, policy: some},
		{name: withBudget, policy: some, process: budget(c.capacity, 0, backoff.WithBudget)},
		{name: cost14, policy: some, process: budget(c.capacity, 14, backoff.WithBudget)},
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
// fail at rate. It has so many operations in a second, and layers of retries, each inside the next.
func amplify(s strategy, rate, perSecond float64, layers int, random *rand.Rand) (requests, failed float64) {
	clock := &simClock{}
	operation := func() error {
		requests++
		if random.Float64() < rate {
			return errFailed
		}
		return nil
	}
	for range layers {
		policy, inner := s.policy(clock, random), operation
		if s.process != nil {
			policy = s.process(clock, random)(policy)
		}
		operation = func() error { return backoff.Retry(inner, policy) }
	}
	for i := range settling + counted {
		if i == settling {
			requests, failed = 0, 0
		}
		clock.now = time.Duration(float64(i) / perSecond * float64(time.Second))
		if operation() != nil {
			failed++
		}
	}
	return requests / counted, failed / counted
}

// runAmplification returns a row for each rate and each strategy.
func runAmplification(c config) []amplification {
	var rows []amplification
	for _, rate := range c.rates {
		for _, s := range amplificationStrategies(c) {
			rows = append(rows, amplification{strategy: s, rate: rate})
		}
	}
	parallel(len(rows), func(i int) {
		r := &rows[i]
		random := rand.New(rand.NewPCG(c.seed, math.Float64bits(r.rate)))
		r.requests, r.failed = amplify(r.strategy, r.rate, c.perSecond, c.layers, random)
	})
	return rows
}

func writeAmplification(w io.Writer, rows []amplification, c config) {
	fmt.Fprintf(w, "Amplification: requests for each operation, and operations that fail, of %g in a second\n\n", c.perSecond)
	strategies := amplificationStrategies(c)
	head := []string{"failure rate"}
	for range 2 {
		for _, s := range strategies {
			head = append(head, s.label())
		}
	}
	table := [][]string{head}
	for ; len(rows) > 0; rows = rows[len(strategies):] {
		row, failed := []string{fmt.Sprintf("%g", rows[0].rate)}, []string(nil)
		for _, r := range rows[:len(strategies)] {
			row = append(row, fmt.Sprintf("%.3f", r.requests))
			failed = append(failed, fmt.Sprintf("%.2f %%", r.failed*100))
		}
		table = append(table, append(row, failed...))
	}
	writeTable(w, table)
}
