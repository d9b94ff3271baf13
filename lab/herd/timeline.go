package main

import (
	"fmt"
	"math"
)

// timeline is a chart of the requests that reach a service over time, with a panel for each way to call it, one
// above the other. It counts them in multiples of what the service can do.
type timeline struct {
	plan
	from, to int // of the horizontal axis, in seconds since the service is back
	most     float64
	panels   []panel
}

type panel struct {
	name, verdict string
	requests      []float64 // of each second
}

const (
	panelHeight, panelGap = 72, 62
	panelsTop             = 108
)

// draw returns a chart of the load in the first trouble, from before it until all that its panels say has happened.
func (all programs) draw() string {
	p := all.trials[0].plan
	c := &timeline{plan: p, from: -int(p.duration.Seconds()) - 20, to: 60}
	var drawn []trial
	for _, t := range all.trials[:all.ways] {
		if charted[t.way.name] != "" {
			drawn = append(drawn, t)
			c.to = max(c.to, int(min(t.claimed()+20, p.after.Seconds()-2))) // each point is a mean of three seconds
		}
	}
	for _, t := range drawn {
		c.add(t)
	}
	return c.draw()
}

// claimed returns the seconds after which what the verdict says has happened.
func (t trial) claimed() float64 {
	if t.outcomes[0].lost() == 0 {
		return t.outcomes[0].longest()
	}
	return t.outcomes[0].recovered()
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
	case after < 1:
		return t.harm() + " are lost; recovers immediately"
	}
	return fmt.Sprintf("%s are lost; recovers after %.0f s", t.harm(), after)
}

// add adds a panel.
func (c *timeline) add(t trial) {
	one := panel{name: t.way.name, verdict: t.verdict()}
	for second := c.from; second <= c.to; second++ {
		at := int(c.back().Seconds()) + second
		mean := float64(t.outcomes[0].requests.sum(at-1, at+2)) / 3 / c.rate
		c.most = max(c.most, mean)
		one.requests = append(one.requests, mean)
	}
	c.panels = append(c.panels, one)
}

// x returns where a second is.
func (c *timeline) x(second int) float64 {
	return chartLeft + float64(chartRight-chartLeft)*float64(second-c.from)/float64(c.to-c.from)
}

// draw returns the chart as SVG.
func (c *timeline) draw() string {
	const (
		axis = "seconds since the service is back"
		unit = "in multiples of what it can do (the line); shaded: the trouble"
	)
	bottom := panelsTop + len(c.panels)*(panelHeight+panelGap) - panelGap
	description := "Horizontal: " + axis + ". Vertical: " + unit + "."
	for _, one := range c.panels {
		description += " " + one.name + ": " + one.verdict + "."
	}
	s := newSVG(bottom+52, fmt.Sprintf("Requests at %.4g %% load: %s", c.load*100, c.trouble.described()), description)
	s.text(8, 44, "start", "", unit)
	for i, one := range c.panels {
		c.drawPanel(s, one, float64(panelsTop+i*(panelHeight+panelGap)))
	}
	tick := 10
	for (c.to-c.from)/tick > 10 {
		tick *= 2
	}
	for second := c.from / tick * tick; second <= c.to; second += tick {
		s.text(c.x(second), float64(bottom+18), "middle", "", fmt.Sprint(second))
	}
	s.text((chartLeft+chartRight)/2, float64(bottom+40), "middle", "", axis)
	return s.end()
}

// drawPanel draws a panel below a place.
func (c *timeline) drawPanel(s *svg, one panel, above float64) {
	high := max(1, math.Ceil(c.most))
	y := func(v float64) float64 { return above + panelHeight - panelHeight*v/high }
	down := c.x(-int(c.duration.Seconds()))
	fmt.Fprintf(s, `<rect class="shade" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n", down, above, c.x(0)-down, panelHeight)
	for _, v := range []float64{0, 1, high} {
		s.line(chartLeft, y(v), chartRight, y(v))
	}
	s.text(chartLeft-6, above+5, "end", "", fmt.Sprint(high))
	s.text(chartLeft-6, above+panelHeight+5, "end", "", "0")
	s.name(chartLeft, above-27, one.name)
	s.text(chartLeft, above-9, "start", "", one.verdict)
	fmt.Fprintf(s, `<polyline class="curve %s" points="`, charted[one.name])
	for i, v := range one.requests {
		fmt.Fprintf(s, "%.1f,%.1f ", c.x(c.from+i), y(v))
	}
	fmt.Fprintln(s, `"/>`)
}
