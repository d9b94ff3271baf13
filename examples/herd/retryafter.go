package main

import (
	"fmt"
	"io"
	"time"

	"example.com/backoff"
)

// The parameters of the retry-after. The package comment explains the model.
const (
	overloadClients  = 10_000
	overloadCapacity = 1000.0 // requests per second
	serverWait       = 10 * time.Second
	tick             = 100 * time.Millisecond // of the counts
)

func retryAfterStrategies() []strategy {
	full := backoff.WithJitter(backoff.FullJitter)
	return []strategy{
		{"no retries", "", false, looped(never)},
		{"to the nanosecond", "", false, looped(immediate)},
		{"default", "", false, looped(exponential())},
		{"full jitter", "", false, looped(exponential(full))},
		{"full jitter from 10 s", "", false, looped(exponential(full, backoff.WithInitialInterval(serverWait)))},
	}
}

// retryAfter is what one strategy comes to.
type retryAfter struct {
	strategy
	requests counts // that reach the service in each tick
	accepted counts // those of them that it answers
}

func runRetryAfter(seed uint64, p *progress) []*retryAfter {
	strategies := retryAfterStrategies()
	results := make([]*retryAfter, len(strategies))
	p.expect(len(strategies))
	parallel(len(strategies), func(i int) {
		results[i] = simulateRetryAfter(strategies[i], seed)
		p.add(1)
	})
	return results
}

func simulateRetryAfter(s strategy, seed uint64) *retryAfter {
	r := &retryAfter{strategy: s}
	c := newCrowd(s, 0, seed)
	service := newLimiter(overloadCapacity)
	overload := backoff.RetryAfter(errRefused, serverWait)
	c.serve = func() (time.Duration, error) {
		now := int(c.clock.now / tick)
		r.requests.add(now)
		took := normal(c.random, attemptMean, attemptDev)
		if !service.accepts(c.clock.now) {
			return took, overload
		}
		r.accepted.add(now)
		return took, nil
	}
	c.ended = func(error) {}
	for range overloadClients {
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

func writeRetryAfter(w io.Writer, results []*retryAfter) {
	fmt.Fprintf(w, "Retry-After: %d clients at once, %g requests/s, the rest told to wait for 10 s\n\n",
		overloadClients, overloadCapacity)
	fmt.Fprintf(w, "%-24s%15s%15s%12s%13s%12s\n",
		"", "after 10 s", "after 10 s", "requests", "served", "last served")
	fmt.Fprintf(w, "%-24s%15s%15s%12s%13s%12s\n",
		"", "worst second", "worst 100 ms", "in all", "of 10000", "after")
	for _, r := range results {
		fmt.Fprintf(w, "%-24s%15d%15d%12d%13d%10.0f s\n", r.label, r.peak(10), r.peak(1),
			r.requests.sum(0, len(r.requests)), r.accepted.sum(0, len(r.accepted)),
			(time.Duration(len(r.accepted)) * tick).Seconds())
	}
	fmt.Fprintln(w)
}
