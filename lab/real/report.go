//go:build unix

package main

import (
	"fmt"
	"time"
)

// recovery is how long operations must succeed again until a server is said to be back.
const recovery = 5 * time.Second

// report is what a client or a server prints in the end, or what all of a cell print together.
type report struct {
	Counts       map[string]int
	BegunAt      []int         // operations by the second in which they began
	LostAt       []int         // those of them that did not succeed
	MostAttempts int           // in progress at once in one process
	Latest       time.Duration // how much later than it should have an operation began
}

func newReport(c cell) report {
	seconds := int(c.Duration.Seconds()) + 1
	return report{Counts: map[string]int{}, BegunAt: make([]int, seconds), LostAt: make([]int, seconds)}
}

// add adds the report of a process.
func (r *report) add(other report) {
	for name, n := range other.Counts {
		r.Counts[name] += n
	}
	for second := range other.BegunAt {
		r.BegunAt[second] += other.BegunAt[second]
		r.LostAt[second] += other.LostAt[second]
	}
	r.MostAttempts = max(r.MostAttempts, other.MostAttempts)
	r.Latest = max(r.Latest, other.Latest)
}

// check returns an error if the counts contradict each other. Each process had so many slots, if not zero.
func (r *report) check(slots int) error {
	n := r.Counts
	begun := sum(r.BegunAt)
	lost := n["no slot"] + n["no budget"] + n["no retries or time left"]
	switch {
	case begun == 0:
		return fmt.Errorf("no operation began")
	case n["done"]+lost != begun || sum(r.LostAt) != lost:
		return fmt.Errorf("%d operations began, %d of them lost, and the outcomes are %v", begun, sum(r.LostAt), n)
	case n["reported"] != begun || n["reported attempts"] != n["attempts"]:
		return fmt.Errorf("%d operations began, and the Retriers reported others: %v", begun, n)
	case n["done"] > n["answered"] || n["answered"] > n["requests"] || n["requests"] > n["attempts"]:
		return fmt.Errorf("more operations than answers, requests or attempts: %v", n)
	case slots > 0 && r.MostAttempts > slots:
		return fmt.Errorf("%d attempts at once with %d slots", r.MostAttempts, slots)
	}
	return nil
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// figures returns the text of a cell of the table.
func (r *report) figures(c cell) string {
	lost := 100 * float64(sum(r.LostAt)) / float64(sum(r.BegunAt))
	return fmt.Sprintf("%.0f, %s", lost, r.back(c))
}

// back returns how many seconds after the trouble the server is back. From then on, at least 90 % of the
// operations that begin in every five seconds succeed.
func (r *report) back(c cell) string {
	end := int((c.From + c.Down).Seconds())
	window := int(recovery.Seconds())
	back := "never"
	for from := int(c.Duration.Seconds()) - window; from >= end; from-- {
		begun := sum(r.BegunAt[from : from+window])
		lost := sum(r.LostAt[from : from+window])
		if 10*lost > begun {
			break
		}
		back = fmt.Sprintf("%d s", from-end)
	}
	return back
}
