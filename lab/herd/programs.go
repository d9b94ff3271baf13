package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/backoff"
)

const (
	workerPause    = time.Second
	neighbourShare = 0.05 // of the load, if there are neighbours
	deadLetter     = 10   // retries after which an operation leaves
)

// shape is a kind of program, by how it begins operations.
type shape struct {
	// plan makes a plan its own, and returns what the program does.
	plan       func(p *plan, size int) string
	strategies func(config, plan) []strategy
}

var shapes = map[string]shape{
	"arrivals":    {(*plan).arrivals, config.arrivalStrategies},
	"workers":     {(*plan).workersBegin, config.workerStrategies},
	"batch":       {(*plan).batch, config.batchStrategies},
	"connections": {(*plan).connections, config.connectionStrategies},
	"tool":        {(*plan).tool, config.toolStrategies},
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

func (p *plan) arrivals(int) string { return "operations begin at random times" }

func (p *plan) workersBegin(size int) string {
	each := (workerPause + answerTime).Seconds()
	p.workers = cmp.Or(size, int(p.demand()*each))
	p.load = float64(p.workers) / each / p.rate
	return fmt.Sprintf("%d workers begin an operation each, a second after their last one", p.workers)
}

func (p *plan) batch(size int) string {
	p.atOnce = cmp.Or(size, 1000)
	p.load = 0
	return fmt.Sprintf("%d operations begin with the trouble, and no others", p.atOnce)
}

func (p *plan) connections(size int) string {
	p.atOnce = cmp.Or(size, 1000)
	p.processes = p.atOnce
	p.neighbours = p.demand()
	p.load = 0
	return fmt.Sprintf("%d clients lose their connections with the trouble, beside requests of others", p.atOnce)
}

func (p *plan) tool(int) string {
	p.fresh = true
	return "each operation has a process of its own, at random times"
}

// The policies of several shapes.
var (
	forever     = exponential(backoff.WithMaxElapsedTime(0))
	threeTimes  = limited(3, exponential())
	noRetrying  = strategy{name: noRetries, policy: noRetry}
	byDefault   = strategy{name: defaults, policy: exponential()}
	unlimited   = strategy{name: noLimit, policy: forever}
	twoFromFive = strategy{name: twoLate, policy: limited(2, exponential(backoff.WithInitialInterval(5*time.Second)))}
)

func (c config) arrivalStrategies(p plan) []strategy {
	pool := c.poolSize(p)
	own := budget(0, 0, c.refund)
	small := budget(5, 0, c.refund)
	return append([]strategy{
		noRetrying,
		{name: three, policy: threeTimes},
		{name: threeBudget, policy: threeTimes, process: own},
		{name: threeSmall, policy: threeTimes, process: small},
		{name: threePooled, policy: threeTimes, attempts: pool},
		{name: threeBoth, policy: threeTimes, process: own, attempts: pool},
		{name: threeBounded, policy: threeTimes, operations: c.boundSize(p)},
		byDefault,
		{name: pooled, policy: exponential(), attempts: pool},
		unlimited,
	}, c.boundedStrategies(p)...)
}

func (c config) workerStrategies(p plan) []strategy {
	return []strategy{
		noRetrying,
		{name: threeBudget, policy: threeTimes, process: budget(0, 0, c.refund)},
		byDefault,
		{name: pooled, policy: exponential(), attempts: c.poolSize(p)},
		unlimited,
	}
}

func (c config) batchStrategies(p plan) []strategy {
	first := c.reconnectWait(p)
	return append([]strategy{
		noRetrying,
		twoFromFive,
		byDefault,
		{name: pooled, policy: exponential(), attempts: c.poolSize(p)},
		unlimited,
		{name: firstWait, policy: waitingFirst(first, 4*first)},
	}, c.boundedStrategies(p)...)
}

func (c config) connectionStrategies(p plan) []strategy {
	first := c.reconnectWait(p)
	return []strategy{
		byDefault,
		unlimited,
		{name: firstWait, policy: waitingFirst(first, 4*first)},
		{name: sameWait, policy: waitingFirst(first, first)},
	}
}

func (c config) toolStrategies(plan) []strategy {
	return []strategy{noRetrying, twoFromFive, {name: three, policy: threeTimes}, byDefault}
}

// boundedStrategies go on without a limit of time, or for ten retries. Where one operation in each process
// is more than the bound, the first wait spreads the processes.
func (c config) boundedStrategies(p plan) []strategy {
	policy := forever
	if p.processes > cmp.Or(c.bound, halfOfTimeout(p)) {
		first := seconds(2 * float64(p.processes) / p.rate)
		policy = waitingFirst(first, max(4*first, backoff.DefaultMaxInterval))
	}
	places := c.boundSize(p)
	return []strategy{
		{name: bounded, policy: policy, operations: places},
		{name: boundedTen, policy: limited(deadLetter, policy), operations: places},
	}
}

// halfOfTimeout returns half of what a service can do within the timeout of an attempt.
func halfOfTimeout(p plan) int { return max(1, int(p.rate*p.timeout.Seconds()/2)) }

// boundSize and poolSize return the operations that each process can have in progress, and the attempts that it
// can have in flight.
func (c config) boundSize(p plan) int { return p.perProcess(cmp.Or(c.bound, halfOfTimeout(p))) }
func (c config) poolSize(p plan) int  { return p.perProcess(cmp.Or(c.pool, halfOfTimeout(p))) }

// reconnectWait returns 2 N / spare capacity, with the spare capacity that somebody has guessed.
func (c config) reconnectWait(p plan) time.Duration {
	spare := (p.rate - p.neighbours) * c.guess
	return seconds(2 * float64(p.atOnce) / spare)
}

// waitingFirst is the plain policy from a first wait to a longest one, without a limit of time.
func waitingFirst(first, longest time.Duration) policyFunc {
	return exponential(
		backoff.WithMaxElapsedTime(0),
		backoff.WithInitialInterval(first),
		backoff.WithMaxInterval(longest),
	)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// programs are what programs come to: in each trouble all strategies, then in the next one.
type programs struct {
	title      string
	strategies int
	trials     []trial
	neighbours bool // are what the results are about
}

func runPrograms(c config) programs {
	all := programs{neighbours: c.neighboursToo}
	var plans []plan
	for _, t := range c.programTroubles() {
		p := c.programs(t)
		all.title = shapes[c.shape].plan(&p, c.size)
		if c.neighboursToo {
			p.neighbours += neighbourShare * p.demand()
			p.load *= 1 - neighbourShare
		}
		plans = append(plans, p)
	}
	strategies := c.chosen(plans[0])
	all.strategies = len(strategies)
	all.trials = c.try(strategies, plans...)
	return all
}

// chosen returns the strategies of a shape, or those with -only in their names.
func (c config) chosen(p plan) []strategy {
	return slices.DeleteFunc(shapes[c.shape].strategies(c, p), func(s strategy) bool {
		return !strings.Contains(s.name, c.only)
	})
}

// programs is the plan of programs of any shape in a trouble.
func (c config) programs(t trouble) plan {
	p := c.plan
	p.trouble = t
	p.processes = c.processes.or(10)[0]
	p.rate = cmp.Or(p.rate, 30)
	p.load = c.loads.or(0.6)[0]
	p.queue = cmp.Or(p.queue, fifo)
	p.from = troubleAt
	p.after = cmp.Or(p.after, max(blipAfter, 8*p.duration))
	p.window = 20
	return p
}

// programTroubles returns the troubles that the flags say.
func (c config) programTroubles() []trouble {
	all := slices.Clone(c.troubles)
	if c.scenario == "all" {
		all = all[:1]
	}
	for i, t := range all {
		if c.duration > 0 && (t.left > 0 || t.flaps) {
			all[i].duration = c.duration
		}
	}
	return all
}

func (all programs) table(w io.Writer) {
	p := all.trials[0].plan
	fmt.Fprintf(w, "Programs: %s; %d processes, %g requests/s at most, %.4g %% load, attempts of %s\n%s\n",
		all.title, p.processes, p.rate, (p.load+p.neighbours/p.rate)*100, spoken(p.timeout), p.described())
	switch {
	case all.neighbours:
		fmt.Fprint(w, "The requests of other programs that are lost, while the trouble lasts / after it\n\n")
		all.byTrouble(w, trial.neighbourHarm)
	case len(all.trials) > all.strategies:
		fmt.Fprint(w, "By trouble: the operations that are lost or, if none is, the slowest one\n\n")
		all.byTrouble(w, trial.harm)
	default:
		fmt.Fprintf(w, "Trouble: %s, and %s after it\n\n", p.trouble.described(), spoken(p.after))
		all.inDetail(w)
	}
}

// byTrouble writes a column for each trouble.
func (all programs) byTrouble(w io.Writer, cell func(trial) string) {
	head := []string{""}
	for i := 0; i < len(all.trials); i += all.strategies {
		head = append(head, all.trials[i].trouble.name)
	}
	writeStrategies(w, [][]string{head}, all.strategies, all.trials, func(t trial) []string {
		return []string{cell(t)}
	})
}

// inDetail writes more columns about one trouble.
func (all programs) inDetail(w io.Writer) {
	head := [][]string{
		{"", "worst", "recovered", "", "slowest", "calls"},
		{"", "second", "after", "lost", "operation", "for each"},
	}
	writeStrategies(w, head, all.strategies, all.trials, func(t trial) []string {
		return []string{t.span((*outcome).worst, decimals(0), ""), t.recovered(), t.lost(), t.slowest(), t.each()}
	})
}
