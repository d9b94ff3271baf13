package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"example.com/backoff"
)

const usualDeadline = 5 * time.Second

// shape is a kind of program, by how it begins calls.
type shape struct {
	// plan makes a plan its own, and returns what the program does.
	plan func(p *plan, size int) string
	ways func(plan) []way
}

var shapes = map[string]shape{
	"handler": {(*plan).handler, handlerWays},
	"events":  {(*plan).events, workWays},
	"pool":    {(*plan).workers, workWays},
	"batch":   {(*plan).batch, batchWays},
	"devices": {(*plan).devices, deviceWays},
	"tool":    {(*plan).tool, toolWays},
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

func (p *plan) handler(int) string {
	if p.deadline < 0 {
		p.deadline = usualDeadline
	}
	return "calls begin at random times, and somebody waits for them"
}

func (p *plan) events(int) string { return "calls begin at random times, and can wait" }

func (p *plan) workers(size int) string {
	each := p.pause().Seconds()
	p.pool = cmp.Or(size, int(p.demand()*each))
	p.load = float64(p.pool) / each / p.rate
	return fmt.Sprintf("%d workers begin a call each, a second after their last one", p.pool)
}

func (p *plan) batch(size int) string {
	p.atOnce = cmp.Or(size, 1000)
	p.load = 0
	return fmt.Sprintf("%d calls begin with the trouble, and no others", p.atOnce)
}

func (p *plan) devices(size int) string {
	p.atOnce = cmp.Or(size, 1000)
	p.processes = p.atOnce
	p.neighbours = p.demand()
	p.load = 0
	return fmt.Sprintf("%d clients lose their connections with the trouble, beside requests of others", p.atOnce)
}

func (p *plan) tool(int) string {
	p.fresh = true
	return "each call has a process of its own, at random times"
}

// handlerWays are those in which somebody waits for the calls.
func handlerWays(p plan) []way {
	if p.front == 0 {
		return slices.Clone(oneService)
	}
	return slices.Concat(oneService, twoServices)
}

// oneService are the ways with one service, twoServices those besides for one behind another.
var (
	oneService = []way{
		{name: noRetries, process: once},
		{name: three, process: plain(threeTimes)},
		{name: threeBudget, process: budgeted(threeTimes, 0)},
		{name: threeSmall, process: budgeted(threeTimes, 5)},
		{name: placeEach, process: placed(threeTimes, false)},
		{name: placeInside, process: placed(threeTimes, true)},
		{name: semaphore, process: semaphored(threeTimes)},
		{name: third, process: retrier(1./3, threeTimes, false)},
		{name: half, process: retrier(0.5, threeTimes, false)},
		{name: halfBudget, process: retrier(0.5, threeTimes, true)},
		{name: own, process: ownRate(threeTimes, false)},
		{name: ownBudget, process: ownRate(threeTimes, true)},
		{name: ownOnce, process: ownRate(limited(0, exponential()), false)},
	}
	twoServices = []way{
		{name: innerOnly, process: retrier(0.5, stop, false), inner: retrier(0.5, threeTimes, false)},
		{name: outerOnly, process: retrier(0.5, threeTimes, false), inner: retrier(0.5, stop, false)},
	}
)

// workWays are those of calls that can wait.
func workWays(plan) []way {
	return []way{
		{name: noRetries, process: once},
		{name: three, process: plain(threeTimes)},
		{name: threeBudget, process: budgeted(threeTimes, 0)},
		{name: untilDone, process: plain(forever)},
		{name: half, process: retrier(0.5, threeTimes, false)},
		{name: halfBudget, process: retrier(0.5, threeTimes, true)},
		{name: own, process: ownRate(threeTimes, false)},
		{name: ownBudget, process: ownRate(threeTimes, true)},
		{name: ownOnce, process: ownRate(limited(0, exponential()), false)},
		{name: halfTen, process: retrier(0.5, patient(10), false)},
		{name: halfForever, process: retrier(0.5, forever, false)},
	}
}

// batchWays are those of many calls at once.
func batchWays(plan) []way {
	return []way{
		{name: noRetries, process: once},
		{name: untilDone, process: plain(forever)},
		{name: half, process: retrier(0.5, threeTimes, false)},
		{name: halfBudget, process: retrier(0.5, threeTimes, true)},
		{name: own, process: ownRate(threeTimes, false)},
		{name: ownBudget, process: ownRate(threeTimes, true)},
		{name: ownOnce, process: ownRate(limited(0, exponential()), false)},
		{name: halfTwenty, process: retrier(0.5, patient(20), false)},
	}
}

// deviceWays are those of clients that do not know of each other.
func deviceWays(p plan) []way {
	first := p.firstWait()
	full := backoff.WithJitter(backoff.FullJitter)
	return []way{
		{name: defaultWaits, process: plain(forever)},
		{name: longWaits, process: plain(waitingFirst(first))},
		{name: longFull, process: plain(waitingFirst(first, full))},
		{name: longDelay, process: delayed(first, plain(waitingFirst(first)))},
	}
}

// firstWait returns 2 N / spare capacity, with the spare capacity that somebody has guessed.
func (p plan) firstWait() time.Duration {
	spare := (p.rate - p.neighbours) * p.guess
	return seconds(2 * float64(p.atOnce) / spare)
}

// waitingFirst is the default policy from a first wait to four times that, without a limit of time.
func waitingFirst(first time.Duration, opts ...backoff.ExponentialBackOffOpts) policyFunc {
	return exponential(append(opts,
		backoff.WithMaxElapsedTime(0),
		backoff.WithInitialInterval(first),
		backoff.WithMaxInterval(4*first),
	)...)
}

// toolWays are those of processes that make one call.
func toolWays(plan) []way {
	return []way{
		{name: noRetries, process: once},
		{name: twoLate, process: plain(limited(2, exponential(fiveLater)))},
	}
}

// programs are what programs come to: in each trouble all ways, then in the next one.
type programs struct {
	title  string
	ways   int
	trials []trial
}

func runPrograms(c config) (all programs) {
	var plans []plan
	for _, t := range c.troubles {
		p, title := c.program(t)
		all.title = title
		plans = append(plans, p)
	}
	ways := c.chosen(plans[0])
	all.ways = len(ways)
	all.trials = c.try(ways, plans...)
	return all
}

// program returns the plan of a program of any shape in a trouble, and what it does.
func (c config) program(t trouble) (p plan, title string) {
	p = c.plan
	p.trouble = t
	p.load = cmp.Or(t.at, p.load)
	p.from = troubleAt
	p.window = 20
	p.after = cmp.Or(p.after, usualAfter)
	title = shapes[c.shape].plan(&p, c.size)
	p.deadline = max(0, p.deadline)
	return p, title
}

const usualAfter = 3 * time.Minute

// chosen returns the ways of a shape, or those with one of -only in their names.
func (c config) chosen(p plan) []way {
	return slices.DeleteFunc(shapes[c.shape].ways(p), func(s way) bool {
		return !slices.ContainsFunc(strings.Split(c.only, ","), func(some string) bool {
			return strings.Contains(s.name, some)
		})
	})
}

func (all programs) table(w io.Writer) {
	p := all.trials[0].plan
	fmt.Fprintf(w, "Programs: %s; %d processes, %g requests/s at most, attempts of %s, %s\n%s\n", all.title, p.processes,
		p.rate, spoken(p.timeout), p.limit(), p.described())
	if p.front > 0 {
		fmt.Fprintf(w, "Another service is in front of it; attempts there have %s.\n", spoken(p.front))
	}
	if len(all.trials) > all.ways {
		fmt.Fprint(w, "By trouble: the calls that are lost or, if none is, the slowest one\n\n")
		all.byTrouble(w)
		return
	}
	fmt.Fprintf(w, "Trouble: %s, and %s after it, at %.4g %% load\n\n", p.trouble.described(), spoken(p.after),
		(p.load+p.neighbours/p.rate)*100)
	all.inDetail(w)
}

// limit says how long a call has.
func (p plan) limit() string {
	if p.deadline == 0 {
		return "no deadline"
	}
	return "a deadline of " + spoken(p.deadline)
}

// byTrouble writes a column for each trouble.
func (all programs) byTrouble(w io.Writer) {
	head := []string{""}
	for i := 0; i < len(all.trials); i += all.ways {
		head = append(head, all.trials[i].trouble.name)
	}
	table := [][]string{head}
	for s := range all.ways {
		row := []string{all.trials[s].way.name}
		for i := s; i < len(all.trials); i += all.ways {
			row = append(row, all.trials[i].harm())
		}
		table = append(table, row)
	}
	writeTable(w, table)
}

// inDetail writes more columns about one trouble.
func (all programs) inDetail(w io.Writer) {
	table := [][]string{
		{"", "", "half took", "slowest", "99 % wait", "requests", "others"},
		{"", "lost", "at most", "call", "at most", "for each", "lost"},
	}
	for _, t := range all.trials {
		table = append(table, []string{
			t.way.name,
			t.span((*outcome).lostShare, decimals(1), " %"),
			t.span((*outcome).half, decimals(1), " s"),
			t.span((*outcome).longest, decimals(0), " s"),
			t.span((*outcome).waited, decimals(2), " s"),
			t.span((*outcome).each, decimals(2), ""),
			t.span((*outcome).othersAfter, decimals(1), " %"),
		})
	}
	writeTable(w, table)
}

// stop returns a policy that does not retry.
func stop(*rand.Rand) backoff.BackOff { return &backoff.StopBackOff{} }
