package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The colours of the strategies stand out on white and on black. That of the text does too, for
// viewers that do not know prefers-color-scheme; for the others it follows the scheme.
const (
	red    = "#e5534b"
	blue   = "#2f81f7"
	orange = "#d9822b"
	pink   = "#db61a2"
	purple = "#a371f7"
	green  = "#2da44e"
	teal   = "#1b9aaa"
)

const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#6e7781}
.title{font-size:15px;font-weight:600}
.label{font-weight:600}
.grid{stroke:#8b949e;stroke-opacity:.25}
.axis{stroke:#8b949e}
.shade{fill:#8b949e;fill-opacity:.15}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}
@media (prefers-color-scheme:dark){text{fill:#adb5bd}}
</style>
`

// svg is a picture in the making. Its background is transparent.
type svg struct{ strings.Builder }

func newSVG(width, height int) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d">`+"\n", width, height)
	s.WriteString(style)
	return s
}

func (s *svg) close() string {
	s.WriteString("</svg>\n")
	return s.String()
}

// text writes text with its anchor (start, middle or end) at x, y. Attributes are written as they
// are.
func (s *svg) text(x, y float64, anchor, attributes, text string) {
	fmt.Fprintf(s, `<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n",
		number(x), number(y), anchor, attributes, html.EscapeString(text))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n",
		class, number(x1), number(y1), number(x2), number(y2))
}

func (s *svg) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		class, number(x), number(y), number(width), number(height))
}

func (s *svg) dot(colour string, x, y float64) {
	fmt.Fprintf(s, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", number(x), number(y), colour)
}

func (s *svg) curve(colour string, points [][2]float64) {
	var path strings.Builder
	for _, p := range points {
		fmt.Fprintf(&path, " %s,%s", number(p[0]), number(p[1]))
	}
	fmt.Fprintf(s, `<polyline class="curve" stroke="%s" points="%s"/>`+"\n", colour, path.String()[1:])
}

// number writes f with one decimal at most.
func number(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

// scale maps values from low to high to places from start to end.
type scale struct {
	low, high, start, end float64
	logarithmic           bool
}

// at returns the place of v. On a logarithmic scale, values below low are put at low.
func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.logarithmic {
		v, low, high = math.Log(max(v, low)), math.Log(low), math.Log(high)
	}
	return s.start + (s.end-s.start)*(v-low)/(high-low)
}

// linear returns a scale from zero to a round number not below most, and its ticks.
func linear(most, start, end float64) (scale, []float64) {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	switch {
	case most/step <= 2:
		step /= 2
	case most/step > 5:
		step *= 2
	}
	high := math.Ceil(most/step) * step
	var ticks []float64
	for v := 0.0; v <= high; v += step {
		ticks = append(ticks, v)
	}
	return scale{low: 0, high: high, start: start, end: end}, ticks
}

// logarithmic returns a scale from low to high, and the multiples of powers of ten within it as ticks.
func logarithmic(low, high, start, end float64, multiples ...float64) (scale, []float64) {
	var ticks []float64
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, m := range multiples {
			if v := m * math.Pow(10, e); v >= low && v <= high {
				ticks = append(ticks, v)
			}
		}
	}
	return scale{low: low, high: high, start: start, end: end, logarithmic: true}, ticks
}
