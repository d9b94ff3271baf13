package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"example.com/backoff"
)

// The parameters of the outage. The package comment explains the model.
const (
	perClient    = 100 * time.Second // between the operations of one client, on average
	oneInNotices = 10                // one client in so many begins an operation when the service goes down
)

func outageStrategies() []strategy {
	return []strategy{
		{name: noRetries, policy: noRetry},
		{name: proportional, policy: exponential()},
		{name: fullJitter, policy: exponential(backoff.WithJitter(backoff.FullJitter))},
		{name: first20, policy: exponential(backoff.WithInitialInterval(20 * time.Second))},
		{name: withBudget, policy: exponential(), process: budget(0, 0, 0)},
	}
}

type outages struct {
	clients, perProcess int
	trials              []trial
}

// runOutage returns a result for each strategy.
func runOutage(c config) outages {
	clients, p := c.clients.or(2000)[0], c.plan
	p.processes, p.atOnce = (clients+c.perProcess-1)/c.perProcess, clients/oneInNotices
	p.load = c.loads.or(0.8)[0]
	p.rate = float64(clients) / perClient.Seconds() / p.load
	p.queue, p.from, p.window = cmp.Or(p.queue, noQueue), troubleAt, 20
	p.duration, p.after = cmp.Or(p.duration, time.Minute), cmp.Or(p.after, 30*time.Minute)
	return outages{clients, c.perProcess, c.try(outageStrategies(), p)}
}

func (all outages) table(w io.Writer) {
	p := all.trials[0].plan
	fmt.Fprintf(w, "Outage: %v at %.4g %% load (%.4g requests/s from %d clients, %d to a process), and %v after it\n%s\n\n",
		p.duration, p.load*100, p.demand(), all.clients, all.perProcess, p.after, p.described())
	head := [][]string{
		{"", "requests", "worst", "recovered", "", "slowest"},
		{"", "while down", "second", "after", "lost", "operation"},
	}
	writeStrategies(w, head, len(all.trials), all.trials, func(t trial) []string {
		return []string{t.span((*outcome).mean, decimals(1), "×"), t.span(func(o *outcome) float64 { return float64(o.worst(p.from, p.back())) / p.demand() }, decimals(1), "×"),
			t.recovered(), t.lost(), t.slowest()}
	})
}
