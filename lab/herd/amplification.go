package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/backoff"
)

// The parameters of the amplification.
const (
	settling = 20_000  // operations before any is counted: the bucket empties
	counted  = 100_000 // operations
)

func amplificationStrategies(c config) []strategy {
	some := limited(c.retries, immediate)
	return []strategy{
		{name: noRetries, policy: noRetry},
		{name: noBudget, policy: some},
		{name: withBudget, policy: some, process: budget(0, 0, c.refund)},
		{name: cost14, policy: some, process: budget(0, 14, c.refund)},
	}
}

// amplification is what one strategy comes to at one failure rate.
type amplification struct {
	strategy
	rate     float64
	requests float64 // for each operation, on average
	failed   float64 // operations, as a share of all
}

// amplify returns the requests for each operation and the share of operations that fail, if attempts
// fail at rate. It has so many operations in a second.
func amplify(s strategy, rate, perSecond float64, random *rand.Rand) (requests, failed float64) {
	clock := &simClock{}
	policy := s.start(clock, random)(s.policy(clock, random))
	operation := func() error {
		requests++
		if random.Float64() < rate {
			return errFailed
		}
		return nil
	}
	for i := range settling + counted {
		if i == settling {
			requests, failed = 0, 0
		}
		clock.now = time.Duration(float64(i) / perSecond * float64(time.Second))
		if backoff.Retry(operation, policy) != nil {
			failed++
		}
	}
	return requests / counted, failed / counted
}

// amplifications holds the results of all strategies for each rate.
type amplifications struct {
	config
	rows []amplification
}

func runAmplification(c config) amplifications {
	rates := c.rates.or()
	if rates == nil {
		for i := range 21 {
			rates = append(rates, float64(i)/20)
		}
	}
	strategies := amplificationStrategies(c)
	all := amplifications{c, make([]amplification, len(rates)*len(strategies))}
	parallel(len(all.rows), func(i int) {
		s, rate := strategies[i%len(strategies)], rates[i/len(strategies)]
		random := rand.New(rand.NewPCG(c.seed, math.Float64bits(rate)))
		requests, failed := amplify(s, rate, c.perSecond, random)
		all.rows[i] = amplification{s, rate, requests, failed}
	})
	return all
}

func (all amplifications) table(w io.Writer) {
	fmt.Fprintf(w, "Amplification: requests for each operation, and operations that fail, of %g in a second\n\n", all.perSecond)
	strategies := amplificationStrategies(all.config)
	head := []string{"failure rate"}
	for range 2 {
		for _, s := range strategies {
			head = append(head, s.label())
		}
	}
	table := [][]string{head}
	for rows := range slices.Chunk(all.rows, len(strategies)) {
		row := []string{fmt.Sprintf("%g", rows[0].rate)}
		var failed []string
		for _, r := range rows {
			row = append(row, fmt.Sprintf("%.3f", r.requests))
			failed = append(failed, fmt.Sprintf("%.2f %%", r.failed*100))
		}
		table = append(table, append(row, failed...))
	}
	writeTable(w, table)
}
