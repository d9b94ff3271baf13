package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// style has two sets of colours, each with a contrast of 4.5 at least: no colour has that with white and
// with the dark background of GitHub. The picture brings its own background, since the page's need not be
// what the reader's system prefers.
const style = `<style>
svg{--page:#ffffff;--grey:#59636e;--red:#d1242f;--orange:#a85508;--green:#1a7f37;--teal:#0e7480;--blue:#0969da;--olive:#6b6e00}
@media (prefers-color-scheme:dark){svg{--page:#0d1117;--grey:#9198a1;--red:#ff7b72;--orange:#e3914a;--green:#3fb950;--teal:#39c5cf;--blue:#58a6ff;--olive:#c4c64a}}
text{font:14px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--grey)}
.page{fill:var(--page)}
.title{font-size:15px;font-weight:600}
.label{font-weight:600}
.grid{stroke:var(--grey);stroke-opacity:.3}
.shade{fill:var(--grey);fill-opacity:.18}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}
</style>
<rect class="page" width="100%" height="100%"/>
`

// chart shows what happens over time, with a panel for each strategy, one above the other.
type chart struct {
	title, unit    string
	from, to, tick int // of the horizontal axis, in seconds since the service is back
	down           int // the seconds before that without it
	most           float64
	panels         []panel
}

type panel struct {
	name, verdict string
	values        []float64 // of all seconds
}

// add adds a panel with the values of all seconds.
func (c *chart) add(name, verdict string, value func(second int) float64) {
	one := panel{name: name, verdict: verdict}
	for second := c.from; second <= c.to; second++ {
		v := value(second)
		c.most = max(c.most, v)
		one.values = append(one.values, v)
	}
	c.panels = append(c.panels, one)
}

// The sizes of a chart. On a phone, which shrinks it to about 360 pixels, the text can still be read.
const (
	chartWidth            = 460
	chartLeft, chartRight = 50, 444
	panelHeight, panelGap = 64, 62
)

// draw returns the chart as SVG. The title and the description are for those who cannot see it.
func (c chart) draw() string {
	const axis, top = "seconds since the service is back", 108
	bottom := top + len(c.panels)*(panelHeight+panelGap) - panelGap
	description := "Horizontal: " + axis + ". Vertical: " + c.unit + "."
	for _, one := range c.panels {
		description += " " + label(one.name) + ": " + one.verdict + "."
	}
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-labelledby="title description">`+"\n", chartWidth, bottom+52, chartWidth*4/3, (bottom+52)*4/3)
	fmt.Fprintf(s, `<title id="title">%s</title>`+"\n"+`<desc id="description">%s</desc>`+"\n%s",
		html.EscapeString(c.title), html.EscapeString(description), style)
	s.text(8, 20, "start", `class="title"`, c.title)
	s.text(8, 44, "start", "", c.unit)
	x := func(second int) float64 {
		return chartLeft + float64(chartRight-chartLeft)*float64(second-c.from)/float64(c.to-c.from)
	}
	for i, one := range c.panels {
		s.panel(c, one, float64(top+i*(panelHeight+panelGap)), x)
		if i == 0 { // where the curve is at the bottom
			s.text(x(-c.down/2), top+panelHeight/2, "middle", "", "down")
		}
	}
	for second := c.from / c.tick * c.tick; second <= c.to; second += c.tick {
		s.text(x(second), float64(bottom+18), "middle", "", fmt.Sprint(second))
	}
	s.text((chartLeft+chartRight)/2, float64(bottom+40), "middle", "", axis)
	return s.String() + "</svg>\n"
}

type svg struct{ strings.Builder }

// text writes text with its anchor (start, middle or end) at x, y.
func (s *svg) text(x, y float64, anchor, attributes, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(text))
}

// panel draws a panel below a place.
func (s *svg) panel(c chart, one panel, above float64, x func(int) float64) {
	step, high := round(c.most)
	y := func(v float64) float64 { return above + panelHeight - panelHeight*v/high }
	fmt.Fprintf(s, `<rect class="shade" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n", x(-c.down), above, x(0)-x(-c.down), panelHeight)
	for v := 0.0; v <= high; v += step {
		fmt.Fprintf(s, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", chartLeft, y(v), chartRight, y(v))
	}
	s.text(chartLeft-6, above+5, "end", "", fmt.Sprint(high))
	s.text(chartLeft-6, above+panelHeight+5, "end", "", "0")
	s.text(chartLeft, above-27, "start", `class="label" style="fill:var(--`+colours[one.name]+`)"`, label(one.name))
	s.text(chartLeft, above-9, "start", "", one.verdict)
	fmt.Fprintf(s, `<polyline class="curve" style="stroke:var(--%s)" points="`, colours[one.name])
	for i, v := range one.values {
		fmt.Fprintf(s, "%.1f,%.1f ", x(c.from+i), y(v))
	}
	fmt.Fprintln(s, `"/>`)
}

// round returns a round number that is not below most, and a round part of it.
func round(most float64) (step, high float64) {
	if most <= 0 { // nothing to show
		most = 1
	}
	step = math.Pow(10, math.Floor(math.Log10(most)))
	switch {
	case most/step <= 2:
		step /= 2
	case most/step > 5:
		step *= 2
	}
	return step, step * math.Ceil(most/step)
}

// verdict says when a service recovers.
func (o *outcome) verdict() string {
	if after := o.recovered(); !math.IsInf(after, 1) {
		return fmt.Sprintf("recovers after %.0f s", after)
	}
	return "never recovers"
}

// draw returns a chart of the goodput under the middle load. FullJitter looks like the default.
func (all blips) draw() string {
	first := all[len(all)/2]
	down, back := int(first.duration.Seconds()), int(first.back().Seconds())
	c := chart{
		title: fmt.Sprintf("%d s without capacity at %.4g %% load", down, first.load*100),
		unit:  "goodput (%)",
		from:  -down - 10, to: 60, tick: 10, down: down, most: 100,
	}
	for _, t := range all {
		if o := t.outcomes[0]; t.load == first.load && t.name != fullJitter {
			c.add(t.name, o.verdict(), func(second int) float64 {
				return min(100, o.goodput(back+second-1, back+second+2)*100)
			})
		}
	}
	return c.draw()
}

// draw returns a chart of the requests.
func (all outages) draw() string {
	first := all.trials[0].plan
	down, back := int(first.duration.Seconds()), int(first.back().Seconds())
	c := chart{
		title: fmt.Sprintf("Service down for %d s at %.4g %% load", down, first.load*100),
		unit:  "requests, in multiples of the usual number",
		from:  max(-down*3/2, 2-back), to: 3 * down, tick: max(1, down/2), down: down,
	}
	for _, t := range all.trials {
		o := t.outcomes[0]
		c.add(t.name, fmt.Sprintf("%.1f %% lost, %s", o.lostShare(), o.verdict()), func(second int) float64 {
			return float64(o.requests.sum(back+second-1, back+second+2)) / 3 / o.demand()
		})
	}
	return c.draw()
}
