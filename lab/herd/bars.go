package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// bars is a chart with a group for each trouble, and a bar for each strategy in it.
type bars struct {
	title, unit string
	high        float64
	ticks       map[float64]string
	scale       func(float64) float64
	groups      []group
}

type group struct {
	name string
	bars []bar
}

type bar struct {
	name, says string
	value      float64
	open       bool // it would go on beyond the axis
}

const (
	barHeight, barGap = 12, 22
	groupGap          = 34
	barsLeft          = 168
	barsRight         = chartWidth - 76 // the text of the longest bar stands beyond
	barsTop           = 90
)

// x returns where a value is.
func (c *bars) x(v float64) float64 {
	return barsLeft + (barsRight-barsLeft)*c.scale(min(v, c.high))/c.scale(c.high)
}

// draw returns the chart as SVG.
func (c *bars) draw() string {
	height := barsTop
	description := "Horizontal: " + c.unit + "."
	for _, g := range c.groups {
		height += groupGap + len(g.bars)*barGap
		description += " " + g.name + ":"
		for _, b := range g.bars {
			description += " " + b.name + " " + b.says + ";"
		}
		description = description[:len(description)-1] + "."
	}
	s := newSVG(height+8, c.title, description)
	s.text(8, 44, "start", "", c.unit)
	for _, tick := range slices.Sorted(maps.Keys(c.ticks)) {
		s.text(c.x(tick), barsTop-14, "middle", "", c.ticks[tick])
		s.line(c.x(tick), barsTop-8, c.x(tick), float64(height))
	}
	y := float64(barsTop)
	for _, g := range c.groups {
		y = c.drawGroup(s, g, y)
	}
	return s.end()
}

// drawGroup draws a group below a place, and returns where the next one begins.
func (c *bars) drawGroup(s *svg, g group, y float64) float64 {
	s.text(8, y+14, "start", `class="title"`, g.name)
	y += groupGap - 8
	for _, b := range g.bars {
		width := max(2, c.x(b.value)-barsLeft)
		class := "bar"
		if b.open {
			class = "open bar"
		}
		s.name(8, y+barHeight-1, b.name)
		fmt.Fprintf(s, `<rect class="%s %s" x="%d" y="%.1f" width="%.1f" height="%d"/>`+"\n",
			class, colours[b.name], barsLeft, y, width, barHeight)
		s.text(barsLeft+width+6, y+barHeight-1, "start", "", b.says)
		y += barGap
	}
	return y + 8
}

// draw returns a chart over time for one trouble, or one of bars for several.
func (all programs) draw() string {
	switch {
	case all.neighbours:
		return all.drawNeighbours()
	case len(all.trials) > all.strategies:
		return all.drawSlowest()
	}
	return all.drawLoad()
}

// drawSlowest returns a chart of how long the slowest operation takes, or how many are lost.
func (all programs) drawSlowest() string {
	c := &bars{
		title: "Until all is done",
		unit:  "the slowest operation, or the share that is lost (pale)",
		high:  600,
		ticks: map[float64]string{1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min"},
		scale: func(v float64) float64 { return math.Log(max(1, v)) },
	}
	for _, t := range all.trials {
		for _, o := range t.outcomes {
			if o.lost() == 0 {
				c.high = max(c.high, o.longest())
			}
		}
	}
	c.groups = all.groups(func(t trial) bar {
		o := t.outcomes[0]
		b := bar{says: t.harm(), value: o.longest()}
		if o.lost() > 0 {
			b.says += " lost"
			b.value = c.high
			b.open = true
		}
		return b
	})
	return c.draw()
}

// drawNeighbours returns a chart of what others lose after the trouble.
func (all programs) drawNeighbours() string {
	c := &bars{
		title: "What neighbours lose after the trouble is over",
		unit:  "% of the requests of others, who do not retry",
		high:  100,
		ticks: map[float64]string{0: "0", 25: "25", 50: "50", 75: "75", 100: "100"},
		scale: func(v float64) float64 { return v },
	}
	c.groups = all.groups(func(t trial) bar {
		return bar{
			value: t.outcomes[0].othersAfter(),
			says:  t.span((*outcome).othersAfter, decimals(0), " %"),
		}
	})
	return c.draw()
}

// groups returns a group for each trouble, with the strategies that have a colour.
func (all programs) groups(show func(trial) bar) []group {
	var groups []group
	for some := range slices.Chunk(all.trials, all.strategies) {
		g := group{name: some[0].trouble.described()}
		for _, t := range some {
			if slices.Contains(inBars, t.name) {
				b := show(t)
				b.name = t.name
				g.bars = append(g.bars, b)
			}
		}
		groups = append(groups, g)
	}
	return groups
}
