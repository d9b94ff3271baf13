package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

const width = 800

// drawContention returns a chart of the calls, or of the time, by the number of clients. The times
// are tens of times apart, hence their logarithmic scale.
func drawContention(rows []contention, what string) string {
	const height, left, right, top, bottom = 440, 76, 680, 48, 384
	title, unit := "Writes until all clients have updated one row", "calls"
	value := func(r contention) float64 { return r.calls }
	if what == "time" {
		title, unit = "Time until all clients have updated one row", "seconds (logarithmic)"
		value = func(r contention) float64 { return r.time / 1000 }
	}
	first, last := rows[0].clients, rows[0].clients
	lowest, highest := value(rows[0]), value(rows[0])
	for _, r := range rows {
		first, last = min(first, r.clients), max(last, r.clients)
		lowest, highest = min(lowest, value(r)), max(highest, value(r))
	}
	x := scale{low: float64(first), high: float64(max(last, first+1)), start: left + 12, end: right}
	y, ticks := linear(highest, bottom, top)
	if what == "time" {
		y, ticks = logarithmic(lowest/1.3, highest*1.3, bottom, top, 1, 2, 5)
	}

	s := newSVG(width, height)
	s.text(left, 24, "start", ` class="title"`, title)
	for _, v := range ticks {
		s.line("grid", left, y.at(v), right, y.at(v))
		s.text(left-8, y.at(v)+4, "end", "", short(v))
	}
	s.text(18, (top+bottom)/2, "middle", fmt.Sprintf(` transform="rotate(-90 18 %d)"`, (top+bottom)/2), unit)
	s.line("axis", left, bottom, right, bottom)
	s.text((left+right)/2, height-14, "middle", "", "clients")
	drawCurves(s, rows, x, y, value, bottom)
	return s.close()
}

// drawCurves draws the points of each strategy, its name beside the last, and the numbers of clients.
func drawCurves(s *svg, rows []contention, x, y scale, value func(contention) float64, bottom float64) {
	strategies := len(contenders())
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b contention) int { return a.clients - b.clients })
	labels := make([]float64, strategies)
	for i := range strategies {
		var points [][2]float64
		for _, r := range every(rows, i, strategies) {
			points = append(points, [2]float64{x.at(float64(r.clients)), y.at(value(r))})
		}
		s.curve(rows[i].colour, points)
		for _, p := range points {
			s.dot(rows[i].colour, p[0], p[1])
		}
		labels[i] = points[len(points)-1][1]
	}
	for i, place := range spread(labels, 17, bottom) {
		s.text(x.end+12, place+4, "start", fmt.Sprintf(` class="label" style="fill:%s"`, rows[i].colour), rows[i].label)
	}
	free := 0.0 // where the next number may begin
	for _, r := range every(rows, 0, strategies) {
		if at := x.at(float64(r.clients)); at >= free {
			s.text(at, bottom+20, "middle", "", strconv.Itoa(r.clients))
			free = at + 36
		}
	}
}

// every returns each n-th row, from the one at first.
func every(rows []contention, first, n int) (picked []contention) {
	for i := first; i < len(rows); i += n {
		picked = append(picked, rows[i])
	}
	return picked
}

// spread moves places that are nearer to each other than gap apart, evenly up and down, but not
// beyond most, and keeps their order.
func spread(places []float64, gap, most float64) []float64 {
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
				*above -= excess / 2
				*below = min(most, *below+excess/2)
			}
		}
	}
	return moved
}

// short writes v with k or M for thousands and millions.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// drawOutage returns a panel for each strategy, one above the other, with the requests per second.
func drawOutage(results []outage) string {
	const left, right, top, panel, gap = 76, 780, 66, 84, 36
	const from, to = -10, 150 // seconds since the service went down
	bottom := float64(top + len(results)*(panel+gap) - gap)
	x := scale{low: from, high: to, start: left, end: right}
	load, highest := results[0].load(), 1
	for _, o := range results {
		highest = max(highest, slices.Max(o.rate))
	}

	s := newSVG(width, int(bottom)+56)
	s.text(left, 24, "start", ` class="title"`,
		fmt.Sprintf("Requests per second at a service that is down for 60 s (%s clients)", short(float64(results[0].clients))))
	for i, o := range results {
		above := float64(top + i*(panel+gap))
		y, ticks := logarithmic(load/2, float64(highest)*1.5, above+panel, above, 1)
		s.rect("shade", x.at(0), above, x.at(60)-x.at(0), panel)
		for _, v := range ticks {
			s.line("grid", left, y.at(v), right, y.at(v))
			s.text(left-8, y.at(v)+4, "end", "", short(v))
		}
		s.text(left, above-9, "start", fmt.Sprintf(` class="label" style="fill:%s"`, o.colour), o.label)
		s.text(right, above-9, "end", "", fmt.Sprintf("recovered %d s after its return, lost %.1f %% of operations", o.recovery(), o.lostShare()))
		var points [][2]float64
		for second := from; second <= to; second++ {
			if at := downSecond + second; at < len(o.rate) {
				points = append(points, [2]float64{x.at(float64(second)), y.at(float64(o.rate[at]))})
			}
		}
		s.curve(o.colour, points)
	}
	for v := 0; v <= to; v += 30 {
		s.text(x.at(float64(v)), bottom+20, "middle", "", strconv.Itoa(v))
	}
	s.text(18, (top+bottom)/2, "middle", fmt.Sprintf(` transform="rotate(-90 18 %s)"`, number((top+bottom)/2)),
		"requests per second (logarithmic)")
	s.text((left+right)/2, bottom+44, "middle", "", "seconds since the service went down")
	return s.close()
}
