package main

import (
	"fmt"
	"slices"
)

// draw returns a chart of the time by the number of clients.
func (all contentions) draw() string {
	p := plot{title: "Time until all clients have updated one row", unit: "time (s), on a logarithmic scale", axis: "clients", logarithmic: true}
	for _, r := range all.rows {
		if _, ok := published[r.name]; ok {
			p.add(r.name, r.label(), float64(r.clients), r.time/1000)
		}
	}
	return p.draw()
}

// draw returns a chart of the operations that fail by the failure rate.
func (all amplifications) draw() string {
	p := plot{
		title: "Operations that fail in spite of their retries",
		unit:  "operations that fail (%)",
		axis:  "failure rate of attempts",
		ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
	}
	for _, r := range all.rows {
		p.add(r.name, r.label(), r.rate, r.failed*100)
	}
	return p.draw()
}

// draw returns a chart of the recovery by the number of processes, with a line for each Capacity, under
// the middle load. A cross marks what does not recover in the time that is simulated.
func (all fleets) draw() string {
	limit := blipAfter.Seconds()
	without := all.without[len(all.without)/2]
	p := plot{
		title:           "Ten bad seconds, and a budget in each process",
		unit:            fmt.Sprintf("recovered after (s) at %.4g %% load; ×: not in %g s", without.load*100, limit),
		axis:            "processes, on a logarithmic scale",
		logarithmicAxis: true,
		most:            limit,
	}
	alone, _ := without.recovered()
	for _, f := range all.rows {
		if f.load != without.load {
			continue
		}
		name, label := fixed500, fmt.Sprintf("Capacity %d", f.capacity)
		if f.capacity == 0 {
			name, label = withBudget, "sizes itself (default)"
		}
		n := float64(f.processes)
		after, ok := f.recovered()
		if ok {
			p.add(name, label, n, float64(after))
		} else {
			line := p.add(name, label, n, limit)
			line.crosses = append(line.crosses, [2]float64{n, limit})
		}
	}
	for _, point := range p.curves[0].points {
		p.add(noRetries, noRetries, point[0], float64(alone))
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

// draw returns a panel with the goodput for each strategy, under the middle load. The other jitters look
// like the default.
func (all blips) draw() string {
	first := all[0]
	load := all[len(all)/2].load
	p := panels{
		title: fmt.Sprintf("%g s without capacity at %.4g %% load", first.duration.Seconds(), load*100),
		unit:  fmt.Sprintf("goodput (%%), with %d retries", first.retries),
		from:  -int(first.duration.Seconds()) - 10, to: 60, tick: 10,
		down: first.duration.Seconds(),
		most: 100,
	}
	back := int(first.back().Seconds())
	for _, b := range all {
		if b.load == load && slices.Contains([]string{noRetries, proportional, fixed500, withBudget, withWait}, b.name) {
			p.add(b.name, recovers(b.recovered()), func(second int) float64 {
				return min(100, b.goodput(back+second-1, back+second+2)*100)
			})
		}
	}
	return p.draw()
}

// draw returns a panel with the load for each strategy.
func (all outages) draw() string {
	first := all[0]
	seconds, back := int(first.duration.Seconds()), int(first.back().Seconds())
	p := panels{
		title: fmt.Sprintf("Service down for %d s at %.4g %% load", seconds, first.load*100),
		unit:  "requests, in multiples of the usual number",
		from:  max(-seconds*3/2, 2-back), to: 3 * seconds, tick: max(1, seconds/2),
		down: float64(seconds),
	}
	for _, o := range all {
		p.add(o.name, fmt.Sprintf("%.1f %% lost, %s", o.lostShare(), recovers(o.recovered())), func(second int) float64 {
			return float64(o.requests.sum(back+second-1, back+second+2)) / 3 / o.rate()
		})
	}
	return p.draw()
}
