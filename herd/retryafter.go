package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"example.com/backoff"
)

// The parameters of the retry-after. The package comment explains the model.
const (
	overloadRate = 1000.0 // requests per second that the service can answer
	serverWait   = 10 * time.Second
	tick         = 100 * time.Millisecond // of the counts
)

func retryAfterStrategies(interval time.Duration) []strategy {
	full, initial := backoff.WithJitter(backoff.FullJitter), backoff.WithInitialInterval(interval)
	from := fmt.Sprintf(" from %g s", interval.Seconds())
	return []strategy{
		{name: noRetries, policy: never},
		{name: zeroBackOff, policy: immediate},
		{name: proportional, policy: exponential()},
		{name: proportional + from, policy: exponential(initial)},
		{name: fullJitter, policy: exponential(full)},
		{name: fullJitter + from, policy: exponential(full, initial)},
	}
}

// retryAfter is what one strategy comes to.
type retryAfter struct {
	strategy
	requests counts // that reach the service in each tick
	accepted counts // those of them that it answers
}

type retryAfters []*retryAfter

func runRetryAfter(c config) retryAfters {
	strategies := retryAfterStrategies(cmp.Or(c.interval, serverWait))
	clients := c.clients.or(10_000)[0]
	all := make(retryAfters, len(strategies))
	parallel(len(strategies), func(i int) { all[i] = simulateRetryAfter(strategies[i], clients, c.seed) })
	return all
}

func simulateRetryAfter(s strategy, clients int, seed uint64) *retryAfter {
	r := &retryAfter{strategy: s}
	c := newCrowd(s, 1, seed)
	service := newLimiter(overloadRate)
	wait := backoff.RetryAfter(errRefused, serverWait)
	c.serve = func(*operation) (time.Duration, error) {
		now := int(c.clock.now / tick)
		r.requests.add(now, 1)
		took := normal(c.random, 100*time.Millisecond, 20*time.Millisecond)
		if !service.accepts(c.clock.now) {
			return took, wait
		}
		r.accepted.add(now, 1)
		return took, nil
	}
	for range clients {
		c.begin(0, nil)
	}
	c.runUntil(time.Hour)
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

func (all retryAfters) table(w io.Writer) {
	clients := all[0].requests[0]
	fmt.Fprintf(w, "Retry-After: %d clients at once, %g requests/s, the rest told to wait for 10 s\n\n",
		clients, overloadRate)
	head := [][]string{
		{"", "worst", "worst", "requests", "served", "last"},
		{"", "second", "100 ms", "in all", fmt.Sprint("of ", clients), "served"},
	}
	writeStrategies(w, head, len(all), all, func(r *retryAfter) []string {
		return []string{strconv.Itoa(r.peak(10)), strconv.Itoa(r.peak(1)),
			strconv.Itoa(r.requests.total()), strconv.Itoa(r.accepted.total()),
			fmt.Sprintf("%.0f s", (time.Duration(len(r.accepted)) * tick).Seconds())}
	})
}
