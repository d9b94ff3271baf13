package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
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
	"events":  {(*plan).events, eventWays},
	"batch":   {(*plan).batch, batchWays},
	"burst":   {(*plan).burst, handlerWays},
	"devices": {(*plan).devices, deviceWays},
	"tool":    {(*plan).tool, toolWays},
}

func (p *plan) handler(int) string {
	if p.deadline < 0 {
		p.deadline = usualDeadline
	}
	return "calls begin at random times, and somebody waits for them"
}

func (p *plan) events(int) string { return "calls begin at random times, and can wait" }

func (p *plan) batch(size int) string {
	p.atOnce = size
	p.load = 0
	return fmt.Sprintf("%d calls begin with the trouble, and no others", p.atOnce)
}

func (p *plan) burst(size int) string {
	p.handler(0)
	p.load = 0
	p.atOnce = size
	p.within = time.Second
	return fmt.Sprintf("%d calls begin in a second, %s after one in each process, and no others", size, spoken(p.from))
}

func (p *plan) devices(size int) string {
	p.atOnce = size
	p.processes = size
	p.neighbours = p.demand()
	p.load = 0
	return fmt.Sprintf("%d clients lose their connections with the trouble, beside requests of others", p.atOnce)
}

func (p *plan) tool(int) string {
	p.fresh = true
	return "each call has a process of its own, at random times"
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
	title = shapes[c.shape].plan(&p, c.size)
	p.deadline = max(0, p.deadline)
	return p, title
}

// chosen returns the ways of a shape, or those that the config wants.
func (c config) chosen(p plan) []way {
	ways := shapes[c.shape].ways(p)
	if c.rules {
		ways = append(ways, ruleWays...)
	}
	return slices.DeleteFunc(ways, func(s way) bool { return !c.wants(s.name) })
}

// wants reports whether a way is to be shown.
func (c config) wants(name string) bool {
	if c.exactly != nil {
		return slices.Contains(c.exactly, name)
	}
	return slices.ContainsFunc(strings.Split(c.only, ","), func(some string) bool {
		return strings.Contains(name, some)
	})
}

// writePrograms runs the programs, and writes their table, and the chart if there is to be one.
func writePrograms(c config, w io.Writer) error {
	all := runPrograms(c)
	all.table(w)
	if c.svg == "" {
		return nil
	}
	return os.WriteFile(c.svg, []byte(all.draw()), 0o666)
}

func (all programs) table(w io.Writer) {
	p := all.trials[0].plan
	fmt.Fprintf(w, "Programs: %s; %d processes, %g requests/s at most, answers of %s, attempts of %s, %s\n", all.title,
		p.processes, p.rate, spoken(p.answer), spoken(p.timeout), p.limit())
	if len(all.trials) > all.ways {
		fmt.Fprint(w, "By trouble and load: the calls that are lost or, if none is, the slowest one\n\n")
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
