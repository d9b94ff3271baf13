package main

import (
	"cmp"
	"fmt"
	"slices"
)

// drawContention returns a chart of the time by the number of clients.
func drawContention(rows []contention) string {
	p := plot{title: "Time until all clients have updated one row", unit: "time (s), on a logarithmic scale", axis: "clients", logarithmic: true}
	for _, r := range rows {
		p.ticks = append(p.ticks, float64(r.clients))
	}
	slices.Sort(p.ticks)
	p.ticks = slices.Compact(p.ticks)
	if len(p.ticks) == 1 {
		p.ticks = append(p.ticks, p.ticks[0]+1)
	}
	for _, c := range competitors() {
		if c.published == "" {
			continue
		}
		line := curve{label: c.label(), colour: colours[c.name]}
		for _, r := range rows {
			if r.name == c.name {
				line.points = append(line.points, [2]float64{float64(r.clients), r.time / 1000})
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

// drawAmplification returns a chart of the operations that fail by the failure rate.
func drawAmplification(rows []amplification) string {
	p := plot{
		title: "Operations that fail in spite of their retries",
		unit:  "operations that fail (%)",
		axis:  "failure rate of attempts",
		ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
	}
	for _, s := range amplificationStrategies(config{}) {
		line := curve{label: s.label(), colour: colours[s.name]}
		for _, r := range rows {
			if r.name == s.name {
				line.points = append(line.points, [2]float64{r.rate, r.failed * 100})
			}
		}
		line.sort()
		p.curves = append(p.curves, line)
	}
	return p.draw()
}

// drawFleet returns a chart of the recovery by the number of processes, with a line for each Capacity,
// under one load. A cross marks what does not recover in the time that is simulated.
func drawFleet(all fleets, loads []float64) string {
	load, limit := len(loads)/2, blipAfter.Seconds()
	p := plot{
		title:           "Ten bad seconds, and a budget in each process",
		unit:            fmt.Sprintf("recovered after (s) at %.4g %% load; ×: not in %g s", loads[load]*100, limit),
		axis:            "processes, on a logarithmic scale",
		logarithmicAxis: true,
		most:            limit,
	}
	alone, _ := all.without[load].recovered()
	without := curve{label: noRetries, colour: colours[noRetries]}
	lines := map[int]curve{}
	var capacities []int
	for _, f := range all.rows {
		line, ok := lines[f.capacity]
		if !ok {
			capacities = append(capacities, f.capacity)
			line = curve{label: fmt.Sprintf("Capacity %d", f.capacity), colour: colours[fixed500]}
			if f.capacity == 0 {
				line = curve{label: "sizes itself (default)", colour: colours[withBudget]}
			}
		}
		point := [2]float64{float64(f.processes), limit}
		if after, ok := f.blips[load].recovered(); ok {
			point[1] = float64(after)
		} else {
			line.crosses = append(line.crosses, point)
		}
		line.points = append(line.points, point)
		lines[f.capacity] = line
		if !slices.Contains(p.ticks, point[0]) {
			p.ticks = append(p.ticks, point[0])
			without.points = append(without.points, [2]float64{point[0], float64(alone)})
		}
	}
	slices.Sort(p.ticks)
	for _, capacity := range capacities {
		p.curves = append(p.curves, lines[capacity])
	}
	p.curves = append(p.curves, without)
	for _, line := range p.curves {
		line.sort()
	}
	return p.draw()
}

// recovers is a verdict as a sentence.
func recovers(after int, ok bool) string {
	if !ok {
		return "never recovers"
	}
	return fmt.Sprintf("recovers after %d s", after)
}

// drawBlip returns a panel with the goodput for each strategy, under one load. The other jitters look
// like the default.
func drawBlip(results []*blip, load float64) string {
	first := results[0]
	p := panels{
		title: fmt.Sprintf("%g s without capacity at %.4g %% load", first.stall.Seconds(), load*100),
		unit:  fmt.Sprintf("goodput (%%), with %d retries", first.retries),
		axis:  "seconds since the service is back",
		from:  -int(first.stall.Seconds()) - 10, to: 60, tick: 10,
		down: [2]float64{-first.stall.Seconds(), 0},
		most: 100,
	}
	back := int(first.back().Seconds())
	for _, b := range results {
		if b.load != load || !slices.Contains([]string{noRetries, proportional, fixed500, withBudget, withWait}, b.name) {
			continue
		}
		one := panel{name: b.name, verdict: recovers(b.recovered())}
		for second := p.from; second <= p.to; second++ {
			at := back + second
			one.points = append(one.points, [2]float64{float64(second), min(100, b.goodput(at-1, at+2)*100)})
		}
		p.panels = append(p.panels, one)
	}
	return p.draw()
}

// drawOutage returns a panel with the load for each strategy.
func drawOutage(results []*outage) string {
	first := results[0]
	seconds := int(first.duration.Seconds())
	back := int(first.back().Seconds())
	p := panels{
		title: fmt.Sprintf("Service down for %d s at %.4g %% load", seconds, first.load*100),
		unit:  "requests, in multiples of the usual number",
		axis:  "seconds since the service is back",
		from:  max(-seconds*3/2, 2-back), to: 3 * seconds, tick: max(1, seconds/2),
		down: [2]float64{-float64(seconds), 0},
	}
	for _, o := range results {
		one := panel{name: o.name, verdict: fmt.Sprintf("%.1f %% lost, %s", o.lostShare(), recovers(o.recovered()))}
		for second := p.from; second <= p.to; second++ {
			load := float64(o.requests.sum(back+second-1, back+second+2)) / 3 / o.rate()
			p.most = max(p.most, load)
			one.points = append(one.points, [2]float64{float64(second), load})
		}
		p.panels = append(p.panels, one)
	}
	return p.draw()
}
