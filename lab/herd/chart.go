package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"example.com/backoff/lab/report"
)

// style has two sets of colours, each with a contrast of 4.5 at least: no colour has that with white and
// with the dark background of GitHub. The picture brings its own background, since the page's need not be
// what the reader's system prefers. A class sets the current color, which programs without variables know.
const style = `<style>
svg,.grey{color:#59636e}
.page{color:#ffffff}
.red{color:#d1242f}
.teal{color:#0e7480}
.olive{color:#6b6e00}
@media (prefers-color-scheme:dark){
svg,.grey{color:#9198a1}
.page{color:#0d1117}
.red{color:#ff7b72}
.teal{color:#39c5cf}
.olive{color:#c4c64a}
}
text{font:14px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
text,rect{fill:currentColor}
.title{font-size:15px;font-weight:600}
.label{font-weight:600}
.grid{stroke:currentColor;stroke-opacity:.3}
.shade{fill-opacity:.18}
.curve{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
</style>
<rect class="page" width="100%" height="100%"/>
`

// The sizes of charts. On a phone, which shrinks them to about 360 pixels, the text can still be read.
const (
	chartWidth            = 460
	chartLeft, chartRight = 50, 444
	panelHeight, panelGap = 72, 62
	panelsTop             = 108
)

// charted are the ways that the chart shows, with their colours by their names in the style.
var charted = map[string]string{noRetries: "grey", three: "red", threeBudget: "olive", slotsBudget: "teal"}

// chart shows the requests that reach a service over time, with a panel for each way to call it, one above the other.
// It counts them in multiples of what the service can do.
type chart struct {
	strings.Builder
	plan
	from, to int // of the horizontal axis, in seconds since the service is back
	most     float64
	panels   []panel
}

type panel struct {
	name, verdict string
	requests      []float64 // of each second
}

// draw returns a chart of the load in an outage as SVG, from before it until the last calls begin: each point is a mean
// of three seconds.
func draw(trials []trial) string {
	p := trials[0].plan
	c := &chart{plan: p, from: -int(p.duration.Seconds()) - 20, to: int(p.after.Seconds()) - 2}
	for _, t := range trials {
		if charted[t.way] != "" {
			c.add(t)
		}
	}
	c.draw()
	return c.String()
}

// add adds a panel.
func (c *chart) add(t trial) {
	one := panel{name: t.way, verdict: t.span(lostShare, report.Short) + " % of the calls are lost"}
	for second := c.from; second <= c.to; second++ {
		at := int(c.back().Seconds()) + second
		mean := float64(t.histories[0].requests.sum(at-1, at+2)) / 3 / c.rate
		c.most = max(c.most, mean)
		one.requests = append(one.requests, mean)
	}
	c.panels = append(c.panels, one)
}

// x returns where a second is.
func (c *chart) x(second int) float64 {
	return chartLeft + float64(chartRight-chartLeft)*float64(second-c.from)/float64(c.to-c.from)
}

// draw draws everything.
func (c *chart) draw() {
	const (
		axis = "seconds since the service is back"
		unit = "in multiples of what it can do (the line); shaded: the trouble"
	)
	bottom := panelsTop + len(c.panels)*(panelHeight+panelGap) - panelGap
	var description strings.Builder
	description.WriteString("Horizontal: " + axis + ". Vertical: " + unit + ".")
	for _, one := range c.panels {
		description.WriteString(" " + one.name + ": " + one.verdict + ".")
	}

	c.begin(bottom+52, fmt.Sprintf("Requests at %.4g %% load: down for %g s", c.load*100, c.duration.Seconds()), description.String())
	c.text(8, 44, "start", "", unit)
	for i, one := range c.panels {
		c.drawPanel(one, float64(panelsTop+i*(panelHeight+panelGap)))
	}
	tick := 10
	for (c.to-c.from)/tick > 10 {
		tick *= 2
	}
	for second := c.from / tick * tick; second <= c.to; second += tick {
		c.text(c.x(second), float64(bottom+18), "middle", "", fmt.Sprint(second))
	}
	c.text((chartLeft+chartRight)/2, float64(bottom+40), "middle", "", axis)
	fmt.Fprintln(c, "</svg>")
}

// begin begins a picture of a height. The title and the description are for those who cannot see it.
func (c *chart) begin(height int, title, description string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-labelledby="title description">`+"\n", chartWidth, height, chartWidth*4/3, height*4/3)
	fmt.Fprintf(c, `<title id="title">%s</title>`+"\n"+`<desc id="description">%s</desc>`+"\n%s",
		html.EscapeString(title), html.EscapeString(description), style)
	c.text(8, 20, "start", "title", title)
}

// text writes text with its anchor (start, middle or end) at x, y, in a class if there is one.
func (c *chart) text(x, y float64, anchor, class, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`+"\n", x, y, anchor, class, html.EscapeString(text))
}

// drawPanel draws a panel below a place.
func (c *chart) drawPanel(one panel, above float64) {
	high := max(1, math.Ceil(c.most))
	y := func(v float64) float64 { return above + panelHeight - panelHeight*v/high }
	down := c.x(-int(c.duration.Seconds()))
	fmt.Fprintf(c, `<rect class="shade" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n", down, above, c.x(0)-down, panelHeight)
	for _, v := range []float64{0, 1, high} {
		fmt.Fprintf(c, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", chartLeft, y(v), chartRight, y(v))
	}
	c.text(chartLeft-6, above+5, "end", "", fmt.Sprint(high))
	c.text(chartLeft-6, above+panelHeight+5, "end", "", "0")
	c.text(chartLeft, above-27, "start", "label "+charted[one.name], one.name)
	c.text(chartLeft, above-9, "start", "", one.verdict)

	fmt.Fprintf(c, `<polyline class="curve %s" points="`, charted[one.name])
	for i, v := range one.requests {
		fmt.Fprintf(c, "%.1f,%.1f ", c.x(c.from+i), y(v))
	}
	fmt.Fprintln(c, `"/>`)
}
