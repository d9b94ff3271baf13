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
var charted = map[string]string{noRetries: "grey", three: "red", threeBudget: "olive", slotsBudget: "teal"}

// chart shows the calls that are answered in time, in each second, with a line for each way to make them.
type chart struct {
	strings.Builder
	plan
	from, to int // of the horizontal axis, in seconds since the service is back
	top      int // where the lines begin
	high     float64
	lines    []line
}

type line struct {
	name, verdict string
	answers       []float64 // of each second
}

// draw returns a chart of an outage as SVG, from before it until the last calls begin: each point is a mean of three
// seconds.
func draw(trials []trial) string {
	p := trials[0].plan
	c := &chart{plan: p, from: -int(p.duration.Seconds()) - 20, to: int(p.after.Seconds()) - 2, high: p.demand()}
	for _, t := range trials {
		if charted[t.way] != "" {
			c.add(t)
		}
	}
	c.top = labelsTop + len(c.lines)*labelGap
	c.draw()
	return c.String()
}

// add adds a line.
func (c *chart) add(t trial) {
	one := line{name: t.way, verdict: t.harm(inSeconds) + " of traffic lost"}
	for second := c.from; second <= c.to; second++ {
		at := int(c.back().Seconds()) + second
		mean := float64(t.histories[0].answers.sum(at-1, at+2)) / 3
		c.high = max(c.high, mean)
		one.answers = append(one.answers, mean)
	}
	c.lines = append(c.lines, one)
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
	for _, one := range c.lines {
		description.WriteString(" " + one.name + ": " + one.verdict + ".")
	}

	bottom := c.top + chartHeight
	title := fmt.Sprintf("Calls answered in time: down for %g s at load %.4g", c.duration.Seconds(), c.load)
	c.begin(bottom+52, title, description.String())
	c.text(8, 44, "start", "", unit)
	c.drawFrame()
	for i, one := range c.lines {
		c.drawLine(one, float64(labelsTop+i*labelGap))
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

// drawFrame draws what is behind the lines: the outage, and the number of the calls that begin.
func (c *chart) drawFrame() {
	begin := c.x(-int(c.duration.Seconds()))
	fmt.Fprintf(c, `<rect class="shade" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", begin, c.top, c.x(0)-begin, chartHeight)
	for _, v := range []float64{0, math.Round(c.demand())} {
		fmt.Fprintf(c, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", chartLeft, c.y(v), chartRight, c.y(v))
		c.text(chartLeft-6, c.y(v)+5, "end", "", fmt.Sprint(v))
	}
}

// drawLine draws a line, and its label at a height.
func (c *chart) drawLine(one line, label float64) {
	color := charted[one.name]
	fmt.Fprintf(c, `<line class="curve %s" x1="8" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", color, label-5, chartLeft-8, label-5)
	c.text(chartLeft, label, "start", "label "+color, one.name+": "+one.verdict)

	fmt.Fprintf(c, `<polyline class="curve %s" points="`, color)
	for i, v := range one.answers {
		fmt.Fprintf(c, "%.1f,%.1f ", c.x(c.from+i), c.y(v))
	}
	fmt.Fprintln(c, `"/>`)
}
