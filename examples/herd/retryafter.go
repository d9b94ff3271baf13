package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"example.com/backoff"
)

// The parameters of the retry-after. The package comment explains the model.
const (
	overloadClients = 10_000
	overload        = 10 // the clients over the requests that the service can answer per second
	serverWait      = 10 * time.Second
	tick            = 100 * time.Millisecond // of the counts
)

func retryAfterStrategies() []strategy {
	const from10 = "InitialInterval 10 s"
	full, initial := backoff.WithJitter(backoff.FullJitter), backoff.WithInitialInterval(serverWait)
	return []strategy{
		{name: noRetries, policy: looped(never)},
		{name: zeroBackOff, policy: looped(immediate)},
		{name: proportional, policy: looped(exponential())},
		{name: proportional, note: from10, policy: looped(exponential(initial))},
		{name: fullJitter, policy: looped(exponential(full))},
		{name: fullJitter, note: from10, policy: looped(exponential(full, initial))},
	}
}

// retryAfter is what one strategy comes to.
type retryAfter struct {
	strategy
	requests counts // that reach the service in each tick
	accepted counts // those of them that it answers
}

func runRetryAfter(clients int, seed uint64, p *progress) []*retryAfter {
	strategies := retryAfterStrategies()
	results := make([]*retryAfter, len(strategies))
	parallel(len(strategies), p, func(i int) {
		results[i] = simulateRetryAfter(strategies[i], clients, seed)
	})
	return results
}

func simulateRetryAfter(s strategy, clients int, seed uint64) *retryAfter {
	r := &retryAfter{strategy: s}
	c := newCrowd(s, 0, seed)
	service := newLimiter(float64(clients) / overload)
	wait := backoff.RetryAfter(errRefused, serverWait)
	c.serve = func() (time.Duration, error) {
		now := int(c.clock.now / tick)
		r.requests.add(now)
		took := normal(c.random, attemptMean, attemptDev)
		if !service.accepts(c.clock.now) {
			return took, wait
		}
		r.accepted.add(now)
		return took, nil
	}
	c.ended = func(error) {}
	for range clients {
		c.begin(0)
	}
	c.run()
	return r
}

// peak returns the most requests in a number of ticks that follow each other, from the moment at
// which the server's wait may be over.
func (r *retryAfter) peak(ticks int) int {
	most := 0
	for i := int(serverWait / tick); i < len(r.requests); i++ {
		most = max(most, r.requests.sum(i, i+ticks))
	}
	return most
}

func writeRetryAfter(w io.Writer, results []*retryAfter, clients int) {
	fmt.Fprintf(w, "Retry-After: %d clients at once, %d requests/s, the rest told to wait for 10 s\n\n",
		clients, clients/overload)
	table := [][]string{
		{"", "worst", "worst", "requests", "served", "last"},
		{"", "second", "100 ms", "in all", fmt.Sprint("of ", clients), "served"},
	}
	for _, r := range results {
		table = append(table, []string{r.label(), strconv.Itoa(r.peak(10)), strconv.Itoa(r.peak(1)),
			strconv.Itoa(r.requests.sum(0, len(r.requests))), strconv.Itoa(r.accepted.sum(0, len(r.accepted))),
			fmt.Sprintf("%.0f s", (time.Duration(len(r.accepted)) * tick).Seconds())})
	}
	writeTable(w, table)
}
