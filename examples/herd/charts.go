package main

import (
	"cmp"
	"fmt"
	"slices"
)

// drawContention returns a chart of the calls, or of the time, by the number of clients.
func drawContention(rows []contention, chart string) string {
	p := plot{title: "Calls until all clients have updated one row", unit: "calls", axis: "clients"}
	value := func(r contention) float64 { return r.calls }
	if chart == "time" {
		p = plot{title: "Time until all clients have updated one row", unit: "time (s), on a logarithmic scale", axis: "clients", logarithmic: true}
		value = func(r contention) float64 { return r.time / 1000 }
	}
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

// drawAmplification returns a chart of the requests for each operation, or of the operations that
// fail, by the failure rate.
func drawAmplification(rows []amplification, chart string) string {
	p := plot{
		title: "What retries add to the load of a failing service",
		unit:  "requests for each operation",
		axis:  "failure rate",
		ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
	}
	value := func(r amplification) float64 { return r.requests }
	if chart == "failed" {
		p.title, p.unit = "Operations that fail in spite of their retries", "operations that fail (%)"
		value = func(r amplification) float64 { return r.failed * 100 }
	}
	for _, s := range amplificationStrategies(1) {
		line := curve{label: s.label(), colour: colours[s.name]}
		for _, r := range rows {
			if r.name == s.name {
				line.points = append(line.points, [2]float64{r.rate, value(r)})
			}
		}
		line.sort()
		p.curves = append(p.curves, line)
	}
	return p.draw()
}

// drawFleet returns a chart of the recovery by what the buckets hold: a line for the law and a dot
// for each simulation that recovers, under each load.
func drawFleet(all fleets) string {
	p := plot{
		title: "Ten bad seconds, with a budget in each process",
		unit:  "recovered after (s): dots simulated, lines as by the law",
		axis:  "what full buckets hold (s of capacity)",
	}
	most := 1.0
	for i, without := range all.without {
		line := curve{label: fmt.Sprintf("%.0f %% load", without.load*100), colour: colours[fullBudget]}
		for _, fleets := range all.rows {
			f := fleets[i]
			if after, ok := f.recovery(); ok {
				line.dots = append(line.dots, [2]float64{f.held(), float64(after)})
				most = max(most, f.held())
			}
		}
		p.curves = append(p.curves, line)
	}
	_, p.ticks = fromZero(most, 0, 0)
	for i, without := range all.without {
		from := without.law(0)
		end := min(p.ticks[len(p.ticks)-1], ((blipClose-blipEnd).Seconds()-from)*(1-without.load))
		p.curves[i].points = [][2]float64{{0, from}, {end, without.law(end)}}
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

// drawBlip returns a panel with the goodput for each strategy, under one load. Those left out look
// like the ones that never recover.
func drawBlip(results []*blip, load float64) string {
	p := panels{
		title: "Ten seconds without capacity, three retries",
		unit:  fmt.Sprintf("goodput (%%) at %.0f %% load; grey: down", load*100),
		axis:  "seconds since the service is back",
		from:  -20, to: 120, tick: 30,
		down: [2]float64{-10, 0},
		most: 100,
	}
	back := int(blipEnd.Seconds())
	for _, b := range results {
		if b.load != load || !slices.Contains([]string{noRetries, proportional, fullJitter, fullBudget}, b.name) {
			continue
		}
		one := panel{strategy: b.strategy, verdict: recovers(b.recovery())}
		for second := p.from; second <= p.to; second++ {
			at := back + second
			one.points = append(one.points, [2]float64{float64(second), min(100, b.goodput(at-1, at+2)*100)})
		}
		p.panels = append(p.panels, one)
	}
	return p.draw()
}

// drawOutage returns a panel with the requests per second for each strategy, save those whose load
// is like that of the default.
func drawOutage(results []*outage) string {
	p := panels{
		title: "Service down for 60 s, clients give up after 2 min",
		unit:  "requests/s of " + short(float64(results[0].clients)) + " clients; grey: down",
		axis:  "seconds since the service went down",
		from:  -10, to: 170, tick: 30,
		down: [2]float64{0, (back - down).Seconds()},
	}
	var peaks []int
	for _, o := range results {
		if o.note != "" || !slices.Contains([]string{noRetries, zeroBackOff, noJitter, proportional, fullJitter, fullBudget}, o.name) {
			continue
		}
		peaks = append(peaks, o.peak())
		one := panel{strategy: o.strategy, lost: fmt.Sprintf("%.1f %% lost", o.lostShare()), verdict: recovers(o.recovery())}
		for second := p.from; second <= p.to; second++ {
			one.points = append(one.points, [2]float64{float64(second), float64(o.requests.at(downSecond + second))})
		}
		p.panels = append(p.panels, one)
	}
	slices.Sort(peaks)
	p.most = float64(peaks[len(peaks)-2])
	return p.draw()
}
