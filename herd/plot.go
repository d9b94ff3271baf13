package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plot is a chart of curves over a common axis, with their names at their right ends.
type plot struct {
	title, unit, axis string
	ticks             []float64 // of the horizontal axis, in order; those of the first curve if nil
	logarithmic       bool      // the vertical axis
	logarithmicAxis   bool      // the horizontal one
	most              float64   // of the vertical axis, if that is more than the curves need
	curves            []curve
}

type curve struct {
	label, colour string
	points        [][2]float64 // from left to right
	crosses       [][2]float64 // those of them that mark something else than their height
}

// add adds a point at the right end of the curve with a label, in the colour of a strategy.
func (p *plot) add(name, label string, x, y float64) *curve {
	i := slices.IndexFunc(p.curves, func(c curve) bool { return c.label == label })
	if i < 0 {
		i = len(p.curves)
		p.curves = append(p.curves, curve{label: label, colour: colours[name]})
	}
	c := &p.curves[i]
	c.points = append(c.points, [2]float64{x, y})
	return c
}

func (p plot) draw() string {
	const height, left, top, bottom = 340, 50, 70, 290
	right, least, most := 380.0, p.curves[0].points[0][1], p.most
	if p.ticks == nil {
		for _, point := range p.curves[0].points {
			p.ticks = append(p.ticks, point[0])
		}
	}
	labels := make([][]string, len(p.curves))
	description := "Horizontal: " + p.axis + ". Vertical: " + p.unit + ". Highest values: "
	for i, c := range p.curves {
		labels[i] = wrap(c.label)
		for _, line := range labels[i] {
			right = min(right, width-12-8.5*float64(len(line))) // leaves space for a wide font
		}
		highest := 0.0
		for _, point := range c.points {
			least, highest = min(least, point[1]), max(highest, point[1])
		}
		most = max(most, highest)
		description += fmt.Sprintf("%s %.4g, ", c.label, highest)
	}
	x := scale{low: p.ticks[0], high: p.ticks[len(p.ticks)-1], start: left, end: right, logarithmic: p.logarithmicAxis}
	y, ticks := fromZero(most, bottom, top)
	if p.logarithmic {
		y, ticks = logarithmic(least, most, bottom, top)
	}

	s := newSVG(height, p.title, strings.TrimSuffix(description, ", ")+".")
	p.axes(s, x, y, ticks)
	var ends, sizes []float64
	for i, c := range p.curves {
		var places [][2]float64
		for _, point := range c.points {
			places = append(places, [2]float64{x.at(point[0]), y.at(point[1])})
		}
		s.curve(c.colour, places)
		for _, cross := range c.crosses {
			s.cross(c.colour, x.at(cross[0]), y.at(cross[1]))
		}
		ends = append(ends, places[len(places)-1][1])
		sizes = append(sizes, 18*float64(len(labels[i])))
	}
	for i, place := range spread(ends, sizes, top, bottom) {
		c := p.curves[i]
		for k, line := range labels[i] {
			s.text(x.at(c.points[len(c.points)-1][0])+8, place+5+18*float64(k)-sizes[i]/2+9, "start", "label", c.colour, line)
		}
	}
	return s.close()
}

// axes draws the titles, the grid and the axes.
func (p plot) axes(s *svg, x, y scale, ticks []float64) {
	s.text(8, 20, "start", "title", "", p.title)
	s.text(8, 44, "start", "", "", p.unit)
	for _, v := range ticks {
		s.line("grid", x.start, y.at(v), x.end, y.at(v))
		s.text(x.start-6, y.at(v)+5, "end", "", "", short(v))
	}
	s.line("axis", x.start, y.start, x.end, y.start)
	free := 0.0 // where the next tick may be
	for _, v := range p.ticks {
		if x.at(v) >= free {
			s.text(x.at(v), y.start+18, "middle", "", "", short(v))
			free = x.at(v) + 32
		}
	}
	s.text((x.start+x.end)/2, y.start+40, "middle", "", "", p.axis)
}

// wrap returns the lines of a label.
func wrap(label string) []string {
	if at := strings.LastIndex(label[:min(len(label), 18)], " "); len(label) > 18 && at > 0 {
		return []string{label[:at], label[at+1:]}
	}
	return []string{label}
}

// spread moves places from top to bottom that are nearer to each other than their sizes allow, and
// keeps their order.
func spread(places, sizes []float64, top, bottom float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	moved := slices.Clone(places)
	for range 200 { // more than enough for the few labels of a chart to settle
		for k := 1; k < len(order); k++ {
			above, below := &moved[order[k-1]], &moved[order[k]]
			gap := (sizes[order[k-1]] + sizes[order[k]]) / 2
			if excess := gap - (*below - *above); excess > 0 {
				*above = max(top, *above-excess/2)
				*below = min(bottom, *below+excess/2)
			}
		}
	}
	return moved
}

// panels is a chart with a curve over time for each strategy, one above the other.
type panels struct {
	title, unit    string
	from, to, tick int     // of the horizontal axis, in seconds since the service is back
	down           float64 // the seconds before that without it
	most           float64 // of the vertical axis
	panels         []panel
}

type panel struct {
	name    string
	verdict string
	points  [][2]float64
}

// add adds a panel with the values of all seconds.
func (p *panels) add(name, verdict string, value func(second int) float64) {
	one := panel{name: name, verdict: verdict}
	for second := p.from; second <= p.to; second++ {
		v := value(second)
		p.most = max(p.most, v)
		one.points = append(one.points, [2]float64{float64(second), v})
	}
	p.panels = append(p.panels, one)
}

func (p panels) draw() string {
	const axis = "seconds since the service is back"
	const left, right, top, high, gap = 50, 444, 108, 64, 62
	bottom := float64(top + len(p.panels)*(high+gap) - gap)
	x := scale{low: float64(p.from), high: float64(p.to), start: left, end: right}
	description := "Horizontal: " + axis + ". Vertical: " + p.unit + ". "
	for _, one := range p.panels {
		description += label(one.name) + ": " + one.verdict + ". "
	}
	s := newSVG(int(bottom)+52, p.title, strings.TrimSpace(description))
	s.text(8, 20, "start", "title", "", p.title)
	s.text(8, 44, "start", "", "", p.unit)
	for i, one := range p.panels {
		above := float64(top + i*(high+gap))
		y, ticks := fromZero(p.most, above+high, above)
		s.shade(x.at(-p.down), above, x.at(0), above+high)
		if i == 0 { // where the curve is at the bottom
			s.text(x.at(-p.down/2), above+high/2, "middle", "", "", "down")
		}
		for _, v := range ticks {
			s.line("grid", left, y.at(v), right, y.at(v))
		}
		s.text(left-6, above+5, "end", "", "", short(y.high))
		s.text(left-6, above+high+5, "end", "", "", "0")
		s.text(left, above-27, "start", "label", colours[one.name], label(one.name))
		s.text(left, above-9, "start", "", "", one.verdict)
		var points [][2]float64
		for _, point := range one.points {
			points = append(points, [2]float64{x.at(point[0]), y.at(point[1])})
		}
		s.curve(colours[one.name], points)
	}
	for v := p.from / p.tick * p.tick; v <= p.to; v += p.tick {
		s.text(x.at(float64(v)), bottom+18, "middle", "", "", strconv.Itoa(v))
	}
	s.text((left+right)/2, bottom+40, "middle", "", "", axis)
	return s.close()
}
