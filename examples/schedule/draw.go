package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/backoff"
)

const maxColumns = 100

// drawing is text with tables of schedules, all on one scale.
type drawing struct {
	strings.Builder
	unit    time.Duration
	name    string        // of unit
	numbers int           // columns of a number
	bar     int           // columns of a bar
	longest time.Duration // which a bar has room for
}

// outcomes are the schedules of one policy.
type outcomes struct {
	drawn    schedule
	shortest schedule // each wait as short as it can be
	longest  schedule // as long
}

// draw returns the text that the program prints.
func draw(s settings) string {
	plain := s.outcomes(0)
	served := s.outcomes(s.server)

	d := newDrawing(plain, served)
	fmt.Fprintf(d, "%s\n\n", s)
	d.table(plain, s.limit)

	if s.server > 0 {
		fmt.Fprintf(d, "\nThe same if a server asks for a wait of %v after each failure (RetryAfter):\n\n", s.server)
		d.table(served, s.limit)
	}
	return d.String()
}

// String returns the policy in words.
func (s settings) String() string {
	text := s.jitter.String()
	if s.jitter == backoff.ProportionalJitter {
		text += fmt.Sprintf(" with factor %v", s.factor)
	}

	text += fmt.Sprintf(": interval %v", s.interval)
	if s.jitter != backoff.DecorrelatedJitter {
		text += fmt.Sprintf(", multiplier %v", s.multiplier)
	}

	text += fmt.Sprintf(", cap %v", s.cap)
	if s.limit > 0 {
		return text + fmt.Sprintf(", limit %v", s.limit)
	}
	return text + ", no limit"
}

// outcomes simulates the policy.
func (s settings) outcomes(server time.Duration) outcomes {
	return outcomes{
		drawn:    s.simulate(rand.NewPCG(s.seed, 0), server),
		shortest: s.simulate(lowest, server),
		longest:  s.simulate(highest, server),
	}
}

// newDrawing returns an empty drawing on whose scale all of these fit.
func newDrawing(all ...outcomes) *drawing {
	d := &drawing{unit: time.Second, name: "s"}
	var total time.Duration
	for _, o := range all {
		total = max(total, o.drawn.total(), o.shortest.total(), o.longest.total())
		for _, w := range o.drawn.waits {
			d.longest = max(d.longest, w.longest)
		}
	}

	switch {
	case d.longest == 0: // there are no waits
	case d.longest < time.Millisecond:
		d.unit = time.Microsecond
		d.name = "µs"
	case d.longest < time.Second:
		d.unit = time.Millisecond
		d.name = "ms"
	}

	d.numbers = max(len("shortest"), len(d.number(total)), len(d.number(d.longest)))
	left := len("retry") + 4*(len("  ")+d.numbers) + len("  ")
	d.bar = maxColumns - left
	return d
}

// number returns a duration in the drawing's unit, without its name.
func (d *drawing) number(t time.Duration) string {
	return fmt.Sprintf("%.3f", float64(t)/float64(d.unit))
}

// table adds the table of the waits, and the totals.
func (d *drawing) table(o outcomes, limit time.Duration) {
	if len(o.drawn.waits) == 0 {
		fmt.Fprintf(d, "No retry: the first wait, as drawn, would pass the limit of %v.\n", limit)
	} else {
		d.row("retry", "shortest", "longest", "drawn", "total", d.axis())
	}
	for i, w := range o.drawn.waits {
		d.row(strconv.Itoa(i+1), d.number(w.shortest), d.number(w.longest), d.number(w.drawn), d.number(w.total),
			d.window(w))
	}

	fmt.Fprintf(d, "\n%12s  %7s  %*s\n", "", "retries", d.numbers, "total")
	d.total("as drawn", o.drawn, limit)
	d.total("all shortest", o.shortest, limit)
	d.total("all longest", o.longest, limit)
}

// row adds a line with four numbers and a bar.
func (d *drawing) row(retry, shortest, longest, drawn, total, bar string) {
	n := d.numbers
	fmt.Fprintf(d, "%5s  %*s  %*s  %*s  %*s  %s\n", retry, n, shortest, n, longest, n, drawn, n, total, bar)
}

// axis returns the two ends of the scale.
func (d *drawing) axis() string {
	start := "0 " + d.name
	end := d.number(d.longest) + " " + d.name
	between := d.bar - utf8.RuneCountInString(start+end)
	return start + strings.Repeat(" ", between) + end
}

// window returns the range of a wait as a bar, with an o where the wait is.
func (d *drawing) window(w wait) string {
	first := d.column(w.shortest)
	last := d.column(w.longest)
	drawn := d.column(w.drawn)

	bar := strings.Repeat(" ", first) + strings.Repeat("-", last-first+1)
	return bar[:drawn] + "o" + bar[drawn+1:]
}

// column returns where on the scale t is.
func (d *drawing) column(t time.Duration) int {
	return int(float64(t) / float64(d.longest) * float64(d.bar-1))
}

// total adds a line that says how many retries there are, how long they wait together, and whether it is
// the limit that ends them.
func (d *drawing) total(name string, s schedule, limit time.Duration) {
	fmt.Fprintf(d, "%-12s  %7d  %*s %s", name, len(s.waits), d.numbers, d.number(s.total()), d.name)
	if s.limited {
		fmt.Fprintf(d, "   one more would pass the limit of %v", limit)
	}
	d.WriteString("\n")
}
