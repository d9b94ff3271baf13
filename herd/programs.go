package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"example.com/backoff"
)

const workerPause = time.Second

// shapes are the kinds of programs, by how they begin operations. Each makes a plan its own, and says what
// it does.
var shapes = map[string]func(p *plan, size int) string{
	"arrivals": func(*plan, int) string { return "operations begin at random times" },
	"bursts": func(p *plan, size int) string {
		p.burst = cmp.Or(size, 30)
		return fmt.Sprintf("operations begin %d at once in one process, at random times", p.burst)
	},
	"pool": func(p *plan, size int) string {
		p.workers = cmp.Or(size, int(p.demand()*(workerPause+answerTime).Seconds()))
		p.load = float64(p.workers) / (workerPause + answerTime).Seconds() / p.rate
		return fmt.Sprintf("%d workers begin an operation each, a second after their last one", p.workers)
	},
	"batch": func(p *plan, size int) string {
		p.atOnce, p.load = cmp.Or(size, 1000), 0
		return fmt.Sprintf("%d operations begin when the service goes down, and no others", p.atOnce)
	},
	"tool": func(p *plan, _ int) string {
		p.fresh = true
		return "each operation has a process of its own, at random times"
	},
}

func programStrategies(interval time.Duration) []strategy {
	forever, first := backoff.WithMaxElapsedTime(0), backoff.WithInitialInterval(interval)
	longest := backoff.WithMaxInterval(max(backoff.DefaultMaxInterval, interval))
	return []strategy{
		{name: noRetries, policy: noRetry},
		{name: proportional, policy: exponential()},
		{name: awsRule, policy: jittered(2, backoff.FullJitter), process: following(awsStandard)},
		{name: "3 retries " + withBudget, policy: limited(3, exponential()), process: budget(0, 0, 0, backoff.WithBudget)},
		{name: "2 retries from 5 s", policy: limited(2, exponential(backoff.WithInitialInterval(5*time.Second)))},
		{name: noLimit, policy: exponential(forever)},
		{name: noLimit + " from " + interval.String(), policy: exponential(forever, first, longest)},
		waiting(withWait, 0),
		waiting(withWait+" refund 5", 5),
	}
}

// program is what a program comes to in one trouble, by strategies.
type program struct {
	title  string
	trials []trial
}

type programs []program

// troubles are what programs get into: what the flags say, or those in the tables of the page.
func (c config) troubles() []plan {
	p := c.plan
	p.processes, p.load, p.queue = c.processes.or(10)[0], c.loads.or(0.8)[0], cmp.Or(p.queue, fifo)
	p.rate, p.from, p.window = cmp.Or(p.rate, 100), troubleAt, 20
	if p.duration > 0 || p.failing > 0 || c.scenario == "all" {
		p.duration = cmp.Or(p.duration, 10*time.Second)
		return []plan{p}
	}
	var plans []plan
	const s = time.Second
	for _, t := range []plan{{duration: 10 * s}, {duration: 60 * s}, {duration: 10 * s, failing: 0.1}, {duration: 10 * s, failing: 0.3}} {
		p.duration, p.failing = t.duration, t.failing
		plans = append(plans, p)
	}
	return plans
}

func runPrograms(c config) (all programs) {
	plans, title := c.troubles(), ""
	for i := range plans {
		p := &plans[i]
		p.after = cmp.Or(p.after, max(blipAfter, 8*p.duration))
		title = shapes[c.shape](p, c.size)
	}
	strategies := programStrategies(cmp.Or(c.interval, 20*time.Second))
	for trials := range slices.Chunk(c.try(strategies, plans...), len(strategies)) {
		all = append(all, program{title, trials})
	}
	return all
}

func (all programs) table(w io.Writer) {
	for i, one := range all {
		p := one.trials[0].plan
		if i == 0 {
			fmt.Fprintf(w, "Programs: %s; %d processes, %g requests/s at most\n%s\n\n", one.title, p.processes, p.rate, p.described())
		}
		fmt.Fprintf(w, "Down for %v at %.4g %% load, and %v after it; from then on %g %% of attempts fail\n\n",
			p.duration, p.load*100, p.after, p.failing*100)
		head := [][]string{
			{"", "calls", "recovered", "", "slowest", "calls"},
			{"", "while down", "after", "lost", "operation", "for each"},
		}
		writeStrategies(w, head, len(one.trials), one.trials, func(t trial) []string {
			down := t.span((*outcome).down, func(v float64) string { return strconv.Itoa(int(v)) }, "")
			return []string{down, t.recovered(), t.lost(), t.slowest(), t.each()}
		})
	}
}
