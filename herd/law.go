package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"example.com/backoff"
)

// laws are the results of WithBudgetWait by load, for each SuccessRefund. It is safe while the share says
// less than one, and a backlog takes about RetryCost / SuccessRefund times its outage.
type laws []trial

var lawRefunds = []int{1, 2, 5}

func runLaw(c config) laws {
	var strategies []strategy
	var plans []plan
	for _, refund := range lawRefunds {
		strategies = append(strategies, waiting(fmt.Sprint(refund), refund))
	}
	for _, load := range c.loads.or(0.45, 0.65, 0.8) {
		p := c.plan
		p.processes, p.load, p.from, p.window = c.processes.or(10)[0], load, troubleAt, 5
		p.queue, p.duration = cmp.Or(p.queue, fifo), cmp.Or(p.duration, time.Minute)
		p.rate, p.after = cmp.Or(p.rate, 50), max(blipAfter, 8*p.duration)
		plans = append(plans, p)
	}
	return c.try(strategies, plans...)
}

func (all laws) table(w io.Writer) {
	p := all[0].plan
	fmt.Fprintf(w, "Law: WithBudgetWait is safe while load × (1 + SuccessRefund / RetryCost) is below 1, and a backlog takes about\n"+
		"RetryCost / SuccessRefund times its outage; %v, %d processes\n%s\n\n", p.duration, p.processes, p.described())
	rows := [][]string{{"SuccessRefund", "load", "load ×", "recovered", "lost", "slowest", "backlog", "predicted"}}
	for i, t := range all {
		refund := float64(lawRefunds[i%len(lawRefunds)])
		share := refund / backoff.DefaultRetryCost
		rows = append(rows, []string{t.name, fmt.Sprintf("%g", t.load), fmt.Sprintf("%.2f", t.load*(1+share)), t.recovered(), t.lost(), t.slowest(),
			t.span((*outcome).backlog, decimals(1), ""), fmt.Sprintf("%.1f", 1/share)})
	}
	writeTable(w, rows)
}

// backlog returns how much longer than the outage the last operations take, over the outage.
func (o *outcome) backlog() float64 { return o.slowest.Seconds()/o.duration.Seconds() - 1 }
