package main

import (
	"fmt"
	"html"
	"strings"
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
)

// charted are the ways that the chart shows, with their colours by their names in the style.
var charted = map[string]string{noRetries: "grey", three: "red", threeBudget: "olive", halfBudget: "teal"}

type svg struct{ strings.Builder }

// newSVG begins a picture of a height. The title and the description are for those who cannot see it.
func newSVG(height int, title, description string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-labelledby="title description">`+"\n", chartWidth, height, chartWidth*4/3, height*4/3)
	fmt.Fprintf(s, `<title id="title">%s</title>`+"\n"+`<desc id="description">%s</desc>`+"\n%s",
		html.EscapeString(title), html.EscapeString(description), style)
	s.text(8, 20, "start", `class="title"`, title)
	return s
}

// end returns the whole picture.
func (s *svg) end() string { return s.String() + "</svg>\n" }

// text writes text with its anchor (start, middle or end) at x, y.
func (s *svg) text(x, y float64, anchor, attributes, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(text))
}

// name writes the name of a way in its colour.
func (s *svg) name(x, y float64, name string) {
	s.text(x, y, "start", `class="label `+charted[name]+`"`, name)
}

// line draws a line of the grid.
func (s *svg) line(x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x1, y1, x2, y2)
}
