package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// style has two sets of colours, each with a contrast of 4.5 at least: no colour has that with white and
// with the dark background of GitHub. The picture brings its own background, since the page's need not be
// what the reader's system prefers. A class sets the current color, which programs without variables know.
// Dashes tell curves apart without colours.
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
.grey.curve{stroke-dasharray:2 3}
.olive.curve{stroke-dasharray:8 3}
</style>
<rect class="page" width="100%" height="100%"/>
`

// The sizes of charts. On a phone, which shrinks them to about 360 pixels, the text can still be read.
const (
	chartWidth            = 460
	chartLeft, chartRight = 50, 444
	chartHeight           = 180
	labelsTop, labelGap   = 72, 22
)

// charted are the ways that the chart shows, with their colours by their names in the style.
var charted = map[string]string{"none": "grey", "retries": "red", "budget": "olive", "slots-budget": "teal"}

// chart shows the calls that are answered in time, in each second, with a curve for each way to make them.
type chart struct {
	strings.Builder
	plan
	from, to int // of the horizontal axis, in seconds since the service is back
	top      int // where the curves begin
	high     float64
	curves   []curve
}

type curve struct {
	name, verdict, color string
	answers              []float64 // of each second
}

// draw returns a chart of an outage as SVG, from before it until the last calls begin: each point is a mean of three
// seconds of the first run.
func draw(row []cell) string {
	p := row[0].plan
	c := &chart{plan: p, from: -int(p.duration) - 20, to: int(p.after) - 2, high: p.demand()}
	for _, one := range row {
		color := charted[one.way.name]
		if color != "" {
			c.add(one, color)
		}
	}
	c.top = labelsTop + len(c.curves)*labelGap
	c.draw()
	return c.String()
}

// add adds a curve.
func (c *chart) add(one cell, color string) {
	answers := one.histories[0].answers
	curve := curve{name: one.way.title, verdict: one.show(0, false) + " s of traffic lost", color: color}
	for second := c.from; second <= c.to; second++ {
		at := int(c.back()) + second
		mean := float64(answers[at-1]+answers[at]+answers[at+1]) / 3
		c.high = max(c.high, mean)
		curve.answers = append(curve.answers, mean)
	}
	c.curves = append(c.curves, curve)
}

// x returns where a second is, y where a number of answers is.
func (c *chart) x(second int) float64 {
	return chartLeft + float64(chartRight-chartLeft)*float64(second-c.from)/float64(c.to-c.from)
}

func (c *chart) y(answers float64) float64 {
	return float64(c.top+chartHeight) - chartHeight*answers/c.high
}

// draw draws everything.
func (c *chart) draw() {
	const axis = "seconds since the service is back"
	unit := fmt.Sprintf("in each second, of the %.4g that begin; shaded: the outage", c.demand())
	var description strings.Builder
	description.WriteString("Horizontal: " + axis + ". Vertical: calls " + unit + ".")
	for _, one := range c.curves {
		description.WriteString(" " + one.name + ": " + one.verdict + ".")
	}

	bottom := c.top + chartHeight
	title := fmt.Sprintf("Calls answered in time: down for %g s at load %.4g", c.duration, c.load)
	c.begin(bottom+52, title, description.String())
	c.text(8, 44, "start", "", unit)
	c.drawFrame()
	for i, one := range c.curves {
		c.drawCurve(one, float64(labelsTop+i*labelGap))
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

// drawFrame draws what is behind the curves: the outage, and the number of the calls that begin.
func (c *chart) drawFrame() {
	begin := c.x(-int(c.duration))
	fmt.Fprintf(c, `<rect class="shade" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", begin, c.top, c.x(0)-begin, chartHeight)
	for _, v := range []float64{0, math.Round(c.demand())} {
		fmt.Fprintf(c, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", chartLeft, c.y(v), chartRight, c.y(v))
		c.text(chartLeft-6, c.y(v)+5, "end", "", fmt.Sprint(v))
	}
}

// drawCurve draws a curve, and its label at a height.
func (c *chart) drawCurve(one curve, label float64) {
	fmt.Fprintf(c, `<line class="curve %s" x1="8" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", one.color, label-5, chartLeft-8, label-5)
	c.text(chartLeft, label, "start", "label "+one.color, one.name+": "+one.verdict)

	fmt.Fprintf(c, `<polyline class="curve %s" points="`, one.color)
	for i, v := range one.answers {
		fmt.Fprintf(c, "%.1f,%.1f ", c.x(c.from+i), c.y(v))
	}
	fmt.Fprintln(c, `"/>`)
}
