package main

import (
	"fmt"
	"math"
)

// timeline is a chart of what happens over time, with a panel for each strategy, one above the other.
type timeline struct {
	title, unit string
	from, to    int // of the horizontal axis, in seconds since the service is back
	tick        int
	down        int // the seconds before that in trouble
	most        float64
	mark        float64 // a value with a line through all panels, if it is above zero
	panels      []panel
}

type panel struct {
	name, verdict string
	values        []float64 // of all seconds
}

const (
	panelHeight, panelGap = 72, 62
	panelsTop             = 108
)

// add adds a panel with the values of all seconds.
func (c *timeline) add(name, verdict string, value func(second int) float64) {
	one := panel{name: name, verdict: verdict}
	for second := c.from; second <= c.to; second++ {
		v := value(second)
		c.most = max(c.most, v)
		one.values = append(one.values, v)
	}
	c.panels = append(c.panels, one)
}

// x returns where a second is.
func (c *timeline) x(second int) float64 {
	return chartLeft + float64(chartRight-chartLeft)*float64(second-c.from)/float64(c.to-c.from)
}

// draw returns the chart as SVG.
func (c *timeline) draw() string {
	const axis = "seconds since the service is back"
	bottom := panelsTop + len(c.panels)*(panelHeight+panelGap) - panelGap
	description := "Horizontal: " + axis + ". Vertical: " + c.unit + "."
	for _, one := range c.panels {
		description += " " + label(one.name) + ": " + one.verdict + "."
	}
	s := newSVG(bottom+52, c.title, description)
	s.text(8, 44, "start", "", c.unit)
	for i, one := range c.panels {
		c.drawPanel(s, one, float64(panelsTop+i*(panelHeight+panelGap)))
	}
	for second := c.from / c.tick * c.tick; second <= c.to; second += c.tick {
		s.text(c.x(second), float64(bottom+18), "middle", "", fmt.Sprint(second))
	}
	s.text((chartLeft+chartRight)/2, float64(bottom+40), "middle", "", axis)
	return s.end()
}

// drawPanel draws a panel below a place.
func (c *timeline) drawPanel(s *svg, one panel, above float64) {
	_, high := round(c.most)
	y := func(v float64) float64 { return above + panelHeight - panelHeight*v/high }
	fmt.Fprintf(s, `<rect class="shade" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n",
		c.x(-c.down), above, c.x(0)-c.x(-c.down), panelHeight)
	s.line(chartLeft, y(0), chartRight, y(0))
	s.line(chartLeft, y(high), chartRight, y(high))
	if c.mark > 0 {
		s.line(chartLeft, y(c.mark), chartRight, y(c.mark))
	}
	s.text(chartLeft-6, above+5, "end", "", fmt.Sprint(high))
	s.text(chartLeft-6, above+panelHeight+5, "end", "", "0")
	s.name(chartLeft, above-27, one.name)
	s.text(chartLeft, above-9, "start", "", one.verdict)
	fmt.Fprintf(s, `<polyline class="curve" style="stroke:var(--%s)" points="`, colours[one.name])
	for i, v := range one.values {
		fmt.Fprintf(s, "%.1f,%.1f ", c.x(c.from+i), y(v))
	}
	fmt.Fprintln(s, `"/>`)
}

// newTimeline returns a chart from before the trouble until all that the panels say has happened.
func newTimeline(p plan, drawn []trial) *timeline {
	down := int(p.duration.Seconds())
	to := 60
	for _, t := range drawn {
		o := t.outcomes[0]
		claim := o.recovered()
		if o.lost() == 0 {
			claim = o.longest()
		}
		to = max(to, int(min(claim+20, p.after.Seconds())))
	}
	tick := 10
	for (to+down)/tick > 10 {
		tick *= 2
	}
	if tick > 40 {
		tick = 60
	}
	return &timeline{from: -down - 20, to: to, tick: tick, down: down}
}

// drawLoad returns a chart of the requests that reach the service.
func (all programs) drawLoad() string {
	p := all.trials[0].plan
	var drawn []trial
	for _, t := range all.trials {
		if t.drawn() && t.name != bounded {
			drawn = append(drawn, t)
		}
	}
	c := newTimeline(p, drawn)
	c.title = "Requests to a service that is " + p.trouble.described()
	c.unit = "in multiples of what it can do; the line is 1"
	c.mark = 1
	for _, t := range drawn {
		o := t.outcomes[0]
		c.add(t.name, t.verdict(), func(second int) float64 {
			at := int(p.back().Seconds()) + second
			return float64(o.requests.sum(at-1, at+2)) / 3 / p.rate
		})
	}
	return c.draw()
}

// verdict says what is lost and when the service recovers or, if nothing is lost, how long the slowest takes.
func (t trial) verdict() string {
	o := t.outcomes[0]
	after := o.recovered()
	switch {
	case o.lost() == 0:
		return "nothing is lost; the slowest takes " + t.harm()
	case math.IsInf(after, 1):
		return fmt.Sprintf("%s are lost; does not recover in %s", t.harm(), spoken(o.after))
	}
	return fmt.Sprintf("%s are lost; recovers after %.0f s", t.harm(), after)
}
