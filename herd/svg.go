package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// style has two sets of colours, each with a contrast of 4.5 at least: no colour has that with white and
// with the dark background of GitHub. The picture brings its own background, since the page's need not be
// what the reader's system prefers.
const style = `<style>
svg{--page:#ffffff;--grey:#59636e;--red:#d1242f;--orange:#a85508;--green:#1a7f37;--teal:#0e7480;--blue:#0969da;--purple:#8250df;--pink:#bf2d83;--olive:#6b6e00}
@media (prefers-color-scheme:dark){svg{--page:#0d1117;--grey:#9198a1;--red:#ff7b72;--orange:#e3914a;--green:#3fb950;--teal:#39c5cf;--blue:#58a6ff;--purple:#b78cff;--pink:#f778ba;--olive:#c4c64a}}
text{font:14px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--grey)}
.page{fill:var(--page)}
.title{font-size:15px;font-weight:600}
.label{font-weight:600}
.grid{stroke:var(--grey);stroke-opacity:.3}
.axis{stroke:var(--grey)}
.shade{fill:var(--grey);fill-opacity:.18}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}
</style>
<rect class="page" width="100%" height="100%"/>
`

// width is that of all pictures: on a phone, which shrinks them to about 360 pixels, the text can
// still be read.
const width = 460

// svg is a picture in the making.
type svg struct{ strings.Builder }

// newSVG begins a picture. The title and the description are for those who cannot see it.
func newSVG(height int, title, description string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-labelledby="title description">`+"\n", width, height, width*4/3, height*4/3)
	fmt.Fprintf(s, `<title id="title">%s</title>`+"\n"+`<desc id="description">%s</desc>`+"\n",
		html.EscapeString(title), html.EscapeString(description))
	s.WriteString(style)
	return s
}

func (s *svg) close() string {
	s.WriteString("</svg>\n")
	return s.String()
}

// text writes text with its anchor (start, middle or end) at x, y. A class or a colour may be empty.
func (s *svg) text(x, y float64, anchor, class, colour, text string) {
	attributes := ""
	if class != "" {
		attributes += ` class="` + class + `"`
	}
	if colour != "" {
		attributes += ` style="fill:var(--` + colour + `)"`
	}
	fmt.Fprintf(s, `<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n",
		coordinate(x), coordinate(y), anchor, attributes, html.EscapeString(text))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n",
		class, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

// shade fills the rectangle from x1, y1 to x2, y2.
func (s *svg) shade(x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<rect class="shade" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		coordinate(x1), coordinate(y1), coordinate(x2-x1), coordinate(y2-y1))
}

func (s *svg) curve(colour string, points [][2]float64) {
	var path strings.Builder
	for _, p := range points {
		fmt.Fprintf(&path, " %s,%s", coordinate(p[0]), coordinate(p[1]))
	}
	fmt.Fprintf(s, `<polyline class="curve" style="stroke:var(--%s)" points="%s"/>`+"\n", colour, path.String()[1:])
}

// cross marks a point.
func (s *svg) cross(colour string, x, y float64) {
	fmt.Fprintf(s, `<path class="curve" style="stroke:var(--%s)" d="M%s,%sl10,10m0,-10l-10,10"/>`+"\n", colour, coordinate(x-5), coordinate(y-5))
}

// coordinate writes f with one decimal at most.
func coordinate(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

// short writes v with k or M for thousands and millions.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// scale maps values from low to high to places from start to end.
type scale struct {
	low, high, start, end float64
	logarithmic           bool
}

// at returns the place of v.
func (s scale) at(v float64) float64 {
	if s.logarithmic {
		return s.start + (s.end-s.start)*math.Log(v/s.low)/math.Log(s.high/s.low)
	}
	return s.start + (s.end-s.start)*(v-s.low)/(s.high-s.low)
}

// fromZero returns a scale from zero to a round number not below most, and its ticks.
func fromZero(most, start, end float64) (scale, []float64) {
	if most <= 0 { // nothing to show
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	switch {
	case most/step <= 2:
		step /= 2
	case most/step > 5:
		step *= 2
	}
	var ticks []float64
	for i := 0.0; i < math.Ceil(most/step)+1; i++ {
		ticks = append(ticks, i*step)
	}
	return scale{low: 0, high: ticks[len(ticks)-1], start: start, end: end}, ticks
}

// logarithmic returns a logarithmic scale with round ends for values from least to most, and its
// ticks: 1, 2 and 5 times powers of ten.
func logarithmic(least, most, start, end float64) (scale, []float64) {
	var ticks []float64
	for power := math.Floor(math.Log10(least)); ; power++ {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * math.Pow(10, power)
			if v <= least {
				ticks = nil // a lower end than needed
			}
			ticks = append(ticks, v)
			if v >= most && len(ticks) > 1 {
				return scale{ticks[0], v, start, end, true}, ticks
			}
		}
	}
}
