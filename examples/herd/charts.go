package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// plot is a chart of curves over a common axis, with their names at their right ends.
type plot struct {
	title, unit, axis string
	ticks             []float64 // of the horizontal axis, in order
	low, high         float64   // of the horizontal axis
	curves            []curve
	shaded            [2]float64 // a stretch of the horizontal axis, with a label if there is one
	shadedLabel       string
}

type curve struct {
	label, colour string
	points        [][2]float64 // from left to right
}

func (p plot) draw() string {
	const height, left, top, bottom = 340, 50, 70, 290
	right, most := 380.0, 0.0
	for _, c := range p.curves {
		right = min(right, width-12-8.5*float64(len(c.label))) // leaves space for a wide font
		for _, point := range c.points {
			most = max(most, point[1])
		}
	}
	x := scale{p.low, p.high, left, right}
	y, ticks := fromZero(most, bottom, top)

	s := newSVG(height)
	s.text(8, 20, "start", "title", "", p.title)
	s.text(8, 44, "start", "", "", p.unit)
	if p.shadedLabel != "" {
		s.shade(x.at(p.shaded[0]), top, x.at(p.shaded[1]), bottom)
		s.text(x.at(p.shaded[0]), top-6, "start", "", "", p.shadedLabel)
	}
	for _, v := range ticks {
		s.line("grid", left, y.at(v), right, y.at(v))
		s.text(left-6, y.at(v)+5, "end", "", "", short(v))
	}
	s.line("axis", left, bottom, right, bottom)
	free := 0.0 // where the next tick may be
	for _, v := range p.ticks {
		if x.at(v) >= free {
			s.text(x.at(v), bottom+18, "middle", "", "", short(v))
			free = x.at(v) + 32
		}
	}
	s.text((left+right)/2, bottom+40, "middle", "", "", p.axis)

	ends := make([]float64, len(p.curves))
	for i, c := range p.curves {
		var places [][2]float64
		for _, point := range c.points {
			places = append(places, [2]float64{x.at(point[0]), y.at(point[1])})
		}
		s.curve(c.colour, places)
		ends[i] = places[len(places)-1][1]
	}
	for i, place := range spread(ends, 18, top, bottom) {
		s.text(right+8, place+5, "start", "label", p.curves[i].colour, p.curves[i].label)
	}
	return s.close()
}

// spread moves places from top to bottom that are nearer to each other than gap apart, and keeps
// their order.
func spread(places []float64, gap, top, bottom float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	moved := slices.Clone(places)
	for range 200 { // more than enough for the few labels of a chart to settle
		for k := 1; k < len(order); k++ {
			above, below := &moved[order[k-1]], &moved[order[k]]
			if excess := gap - (*below - *above); excess > 0 {
				*above = max(top, *above-excess/2)
				*below = min(bottom, *below+excess/2)
			}
		}
	}
	return moved
}

// drawContention returns a chart of the calls, or of the time, by the number of clients.
func drawContention(rows []contention, what string) string {
	p := plot{title: "Writes until all clients have updated one row", unit: "writes", axis: "clients"}
	value := func(r contention) float64 { return r.calls }
	if what == "time" {
		p.title, p.unit = "Time until all clients have updated one row", "seconds"
		value = func(r contention) float64 { return r.time / 1000 }
	}
	for _, r := range rows {
		p.ticks = append(p.ticks, float64(r.clients))
	}
	slices.Sort(p.ticks)
	p.ticks = slices.Compact(p.ticks)
	p.low, p.high = p.ticks[0], max(p.ticks[len(p.ticks)-1], p.ticks[0]+1)
	for _, c := range competitors() {
		if c.colour == "" {
			continue
		}
		line := curve{label: c.label, colour: c.colour}
		for _, r := range rows {
			if r.name == c.name {
				line.points = append(line.points, [2]float64{float64(r.clients), value(r)})
			}
		}
		line.sort()
		p.curves = append(p.curves, line)
	}
	return p.draw()
}

func (c curve) sort() {
	slices.SortStableFunc(c.points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
}

// drawAmplification returns a chart of the requests for each operation by the failure rate.
func drawAmplification(rows []amplification) string {
	p := plot{
		title: "What retries add to the load of a failing service",
		unit:  "requests for each operation",
		axis:  "failure rate of an attempt",
		ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
		high:  1,
	}
	labels := []string{"no retries", "three retries", "with a budget"}
	for i, s := range amplificationStrategies() {
		line := curve{label: labels[i], colour: s.colour}
		for _, r := range rows {
			if r.label == s.label {
				line.points = append(line.points, [2]float64{r.rate, r.requests})
			}
		}
		line.sort()
		p.curves = append(p.curves, line)
	}
	return p.draw()
}

// drawBlip returns a chart of the goodput over time, under one load.
func drawBlip(results []*blip, load float64) string {
	const from, to, window = -15, 120, 3 // seconds
	p := plot{
		title:       "Ten seconds without capacity, three retries",
		unit:        fmt.Sprintf("successes per second, at %.0f %% of the service's capacity", load*100),
		axis:        "seconds since the service is back",
		ticks:       []float64{0, 30, 60, 90, 120},
		low:         from,
		high:        to,
		shaded:      [2]float64{-10, 0},
		shadedLabel: "down",
	}
	back := int(blipEnd.Seconds())
	for _, b := range results {
		if b.load != load || b.colour == "" {
			continue
		}
		line := curve{label: b.label, colour: b.colour}
		for second := from; second < to; second += window {
			mean := float64(b.good.sum(back+second, back+second+window)) / window
			line.points = append(line.points, [2]float64{float64(second) + window/2.0, mean})
		}
		p.curves = append(p.curves, line)
	}
	return p.draw()
}

// drawOutage returns a panel for each strategy, one above the other, with the requests per second.
// What exceeds the panels is cut off, and its peak is written beside it.
func drawOutage(results []*outage) string {
	const left, right, top, panel, gap = 50, 444, 90, 72, 44
	const from, to = -10, 170 // seconds since the service went down
	results = slices.DeleteFunc(slices.Clone(results), func(o *outage) bool { return o.colour == "" })
	bottom := float64(top + len(results)*(panel+gap) - gap)
	x := scale{from, to, left, right}
	var peaks []int
	for _, o := range results {
		peaks = append(peaks, o.peak())
	}
	slices.Sort(peaks)
	most := float64(peaks[len(peaks)-2])

	s := newSVG(int(bottom) + 52)
	s.text(8, 20, "start", "title", "", "Requests per second, service down for 60 s")
	s.text(8, 44, "start", "", "", short(float64(results[0].clients))+" clients")
	for i, o := range results {
		above := float64(top + i*(panel+gap))
		y, ticks := fromZero(most, above+panel, above)
		s.shade(x.at(0), above, x.at(60), above+panel)
		s.text(x.at(38), above+15, "middle", "", "", "down")
		for _, v := range ticks {
			s.line("grid", left, y.at(v), right, y.at(v))
		}
		s.text(left-6, above+5, "end", "", "", short(y.high))
		s.text(left-6, above+panel+5, "end", "", "", "0")
		s.text(left, above-9, "start", "label", o.colour, o.label)
		s.text(right, above-9, "end", "", "", fmt.Sprintf("%.1f %% lost", o.lostShare()))
		at := x.at(float64(60 + o.recovery()))
		s.line("mark", at, above, at, above+panel)
		if verdict := fmt.Sprintf("recovered after %d s", o.recovery()); at < (left+right)/2 {
			s.text(at+4, above+15, "start", "", "", verdict)
		} else {
			s.text(at-4, above+15, "end", "", "", verdict)
		}
		var points [][2]float64
		for second := from; second <= to; second++ {
			v := float64(o.requests.at(downSecond + second))
			if v > y.high {
				s.text(x.at(float64(second))+8, above+15, "start", "", "", short(v))
			}
			points = append(points, [2]float64{x.at(float64(second)), y.at(min(v, y.high))})
		}
		s.curve(o.colour, points)
	}
	for v := 0; v <= to; v += 30 {
		s.text(x.at(float64(v)), bottom+18, "middle", "", "", strconv.Itoa(v))
	}
	s.text((left+right)/2, bottom+40, "middle", "", "", "seconds since the service went down")
	return s.close()
}
