package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"example.com/backoff"
)

const (
	workerPause = time.Second
	firstWait   = "first wait 2 N / capacity"
)

// shapes are the kinds of programs, by how they begin operations. Each makes a plan its own, and says what
// it does.
var shapes = map[string]func(p *plan, size int) string{
	"arrivals": func(*plan, int) string { return "operations begin at random times" },
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

// programStrategies returns those for the shape of a plan. The first three are for all.
func programStrategies(p plan) []strategy {
	forever := backoff.WithMaxElapsedTime(0)
	three, small := limited(3, exponential()), budget(5, 0, 0)
	all := []strategy{
		{name: noRetries, policy: noRetry},
		{name: "default", policy: exponential()},
		{name: awsRule, policy: jittered(2, backoff.FullJitter), process: following(awsStandard)},
	}
	switch plain := (strategy{name: noLimit, policy: exponential(forever)}); {
	case p.fresh:
		return append(all, strategy{name: "2 retries from 5 s", policy: limited(2, exponential(backoff.WithInitialInterval(5*time.Second)))})
	case p.workers > 0:
		return append(all, plain)
	case p.atOnce > 0:
		first := time.Duration(2 * float64(p.atOnce) / p.rate * float64(time.Second))
		longest := backoff.WithMaxInterval(max(backoff.DefaultMaxInterval, first))
		return append(all, strategy{name: firstWait, policy: exponential(forever, backoff.WithInitialInterval(first), longest)})
	default:
		return append(all, strategy{"3 retries " + withBudget, three, budget(0, 0, 0)}, strategy{"3 retries Capacity 5", three, small},
			plain)
	}
}

// programs are what programs come to: in each trouble all strategies, then in the next one.
type programs struct {
	title      string
	strategies int
	trials     []trial
}

// troubles are what programs get into: what the flags say, or those in the tables of the page.
func (c config) troubles() []plan {
	p := c.plan
	p.processes, p.load, p.queue = c.processes.or(10)[0], c.loads.or(0.6)[0], cmp.Or(p.queue, fifo)
	p.rate, p.from, p.window = cmp.Or(p.rate, 30), troubleAt, 20
	if p.duration > 0 || p.failing > 0 || c.scenario == "all" {
		p.duration = cmp.Or(p.duration, 10*time.Second)
		return []plan{p}
	}
	var plans []plan
	for _, t := range []plan{{duration: 10}, {duration: 60}, {duration: 600}, {duration: 10, failing: 0.1}, {duration: 10, failing: 0.3}} {
		if p.duration, p.failing = t.duration*time.Second, t.failing; c.long || t.duration < 600 {
			plans = append(plans, p)
		}
	}
	return plans
}

func runPrograms(c config) (all programs) {
	plans := c.troubles()
	for i := range plans {
		p := &plans[i]
		p.after = cmp.Or(p.after, max(blipAfter, 8*p.duration))
		all.title = shapes[c.shape](p, c.size)
	}
	strategies := programStrategies(plans[0])
	all.strategies, all.trials = len(strategies), c.try(strategies, plans...)
	return all
}

func (all programs) table(w io.Writer) {
	p := all.trials[0].plan
	fmt.Fprintf(w, "Programs: %s; %d processes, %g requests/s at most, %.4g %% load\n%s\n", all.title, p.processes, p.rate, p.load*100, p.described())
	if len(all.trials) > all.strategies {
		fmt.Fprint(w, "Down for so long, or for 10 s and failing at that rate from then on: the operations that are lost, or the slowest\n\n")
		head := []string{""}
		for i := 0; i < len(all.trials); i += all.strategies {
			head = append(head, all.trials[i].trouble())
		}
		writeStrategies(w, [][]string{head}, all.strategies, all.trials, func(t trial) []string { return []string{t.harm()} })
		return
	}
	fmt.Fprintf(w, "Down for %v, and %v after it; from then on %g %% of attempts fail\n\n", p.duration, p.after, p.failing*100)
	head := [][]string{
		{"", "calls", "recovered", "", "slowest", "calls"},
		{"", "while down", "after", "lost", "operation", "for each"},
	}
	writeStrategies(w, head, all.strategies, all.trials, func(t trial) []string {
		down := t.span((*outcome).down, func(v float64) string { return strconv.Itoa(int(v)) }, "")
		return []string{down, t.recovered(), t.lost(), t.slowest(), t.each()}
	})
}

// trouble names what a plan gets into.
func (p plan) trouble() string {
	if p.failing > 0 {
		return fmt.Sprintf("%g %%", p.failing*100)
	}
	return fmt.Sprintf("%g s", p.duration.Seconds())
}

// harm returns the share of the operations that are lost or, if none are, how long the slowest takes.
func (t trial) harm() string {
	lost, slowest := 0.0, 0.0
	for _, o := range t.outcomes {
		lost, slowest = max(lost, o.lostShare()), max(slowest, o.history.slowest.Seconds())
	}
	switch {
	case lost >= 9.95:
		return t.span(func(o *outcome) float64 { return o.lostShare() }, decimals(0), " %")
	case lost >= 0.05:
		return t.lost()
	case slowest >= 300:
		return t.span(func(o *outcome) float64 { return o.history.slowest.Minutes() }, decimals(0), " min")
	}
	return t.span(func(o *outcome) float64 { return o.history.slowest.Seconds() }, decimals(0), " s")
}
