package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"example.com/backoff"
)

// The parameters of the retry-after. The package comment explains the model.
const (
	overloadRate = 1000.0 // requests per second that the service can answer
	serverWait   = 10 * time.Second
)

func retryAfterStrategies(interval time.Duration) []strategy {
	full, initial := backoff.WithJitter(backoff.FullJitter), backoff.WithInitialInterval(interval)
	longest := backoff.WithMaxInterval(max(backoff.DefaultMaxInterval, interval))
	from := fmt.Sprintf(" from %g s", interval.Seconds())
	return []strategy{
		{name: noRetries, policy: noRetry},
		{name: zeroBackOff, policy: immediate},
		{name: proportional, policy: exponential()},
		{name: proportional + from, policy: exponential(initial, longest)},
		{name: fullJitter, policy: exponential(full)},
		{name: fullJitter + from, policy: exponential(full, initial, longest)},
	}
}

type retryAfters []trial

func runRetryAfter(c config) retryAfters {
	p := c.plan
	p.processes, p.atOnce, p.rate = 1, c.clients.or(10_000)[0], overloadRate
	p.queue, p.wait, p.after = noQueue, serverWait, 30*time.Minute
	return c.try(retryAfterStrategies(cmp.Or(c.interval, serverWait)), p)
}

func (all retryAfters) table(w io.Writer) {
	p := all[0].plan
	fmt.Fprintf(w, "Retry-After: %d clients at once, %g requests/s, the rest told to wait for 10 s\n%s\n\n", p.atOnce, p.rate, p.described())
	head := [][]string{
		{"", "worst", "requests", "served", "last"},
		{"", "second", "in all", fmt.Sprint("of ", p.atOnce), "served"},
	}
	writeStrategies(w, head, len(all), all, func(t trial) []string {
		o := t.outcomes[0]
		return []string{fmt.Sprint(o.worst(serverWait, time.Hour)), fmt.Sprint(o.requests.total()), fmt.Sprint(o.good.total()), fmt.Sprintf("%d s", len(o.good))}
	})
}
