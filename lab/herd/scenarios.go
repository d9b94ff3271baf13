package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// scenario is a table: its rows, and the ways to call in its columns.
type scenario struct {
	about string
	ways  string
	rows  func(base plan) []plan

	mean    bool // a last row has the mean of all
	summary bool // last rows sum up what is lost more than by the better of no retries and three
	real    bool // with real servers
	means   bool // figures are means, not ranges
}

const (
	usualWays  = "none,retries,budget,slots,slots-budget"
	shortWays  = "none,slots,gobreaker,failsafe,gradient2,aws"
	attackWays = "none,retries,slots,slots-budget"
)

var scenarios = map[string]scenario{
	"service":   {about: "what the flags describe, in the usual troubles", ways: usualWays, rows: serviceRows},
	"outages":   {about: "healthy days, blips, outages, overload, failures", ways: usualWays, rows: outageRows},
	"limits":    {about: "where slots or a budget do not help", ways: usualWays, rows: limitRows},
	"servers":   {about: "real servers, in real time", ways: "none,retries,budget,slots,slots-budget", rows: serverRows, real: true},
	"peers":     {about: "other libraries, in the scenes that matter most", ways: shortWays, rows: shortScenes, mean: true, means: true},
	"scenes":    {about: "other libraries, in all scenes", ways: shortWays + ",slots-budget,gradient2-default,failsafe-example", rows: sceneRows, mean: true, means: true},
	"consumers": {about: "calls without a deadline", ways: "none,retries,slots,slots-budget,slots-10", rows: consumerRows},
	"batch":     {about: "2,000 calls at once", ways: "none,slots,half,half-20", rows: batchRows},
	"tools":     {about: "programs of one call", ways: "none,two-late", rows: toolRows},
	"devices":   {about: "2,000 devices that lose their connections", ways: "endless,endless-late", rows: deviceRows},
	"others":    {about: "other services and programs", ways: attackWays, rows: otherRows, summary: true},
	"attack":    {about: "what was thought out against slots", ways: attackWays, rows: attackRows, summary: true, means: true},
}

// contents lists all scenarios, for a message.
func contents() string {
	var text strings.Builder
	text.WriteString(contention + ": clients that compete to write one row of a database\n")
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		text.WriteString(name + ": " + scenarios[name].about + "\n")
	}
	return text.String()
}

// change changes something of a plan.
type change func(*plan)

// row returns a plan with some changes.
func (p plan) row(name string, changes ...change) plan {
	p.name = name
	for _, c := range changes {
		c(&p)
	}
	return p
}

func load(share float64) change   { return func(p *plan) { p.load = share } }
func processes(n int) change      { return func(p *plan) { p.processes = n } }
func inOrder(order string) change { return func(p *plan) { p.order = order } }
func heeds(p *plan)               { p.heeds = true }

// limits are the timeout of an attempt and the deadline of a call.
func limits(timeout, deadline float64) change {
	return func(p *plan) { p.timeout, p.deadline = timeout, deadline }
}

// capacity is the requests that the service can do in a second, and at once.
func capacity(rate float64, servers int) change {
	return func(p *plan) { p.rate, p.servers = rate, servers }
}

// left leaves a share of the capacity for so long, down nothing.
func left(share, long float64) change {
	return func(p *plan) {
		p.duration = long
		p.dips = []dip{{begin: p.from, end: p.from + long, left: share, backend: allBackends}}
	}
}

func down(long float64) change { return left(0, long) }

// loses has the service lose what it has when it is back.
func loses(p *plan) {
	for i := range p.dips {
		p.dips[i].loses = true
	}
}

// backends has the first of several do nothing for so long.
func backends(hanging, of int, long float64) change {
	return func(p *plan) {
		p.service.backends = of
		p.duration = long
		p.dips = nil
		for i := range hanging {
			p.dips = append(p.dips, dip{begin: p.from, end: p.from + long, backend: i})
		}
	}
}

// happens has something happen for so long, or to the end for zero.
func happens(kind string, amount, long float64) change {
	return func(p *plan) {
		p.duration = long
		p.effects = []effect{{kind, amount, long == 0}}
	}
}

// traffic has more calls begin for so long.
func traffic(factor, long float64) change {
	return func(p *plan) {
		p.duration = long
		all := p.calls(1)
		all.rate = between(p.from, p.from+long, factor*all.usual, all.usual)
		p.streams = []stream{all}
	}
}

// part has a share of the calls hang for so long. The others are shown.
func part(share, long float64) change {
	return func(p *plan) {
		p.duration = long
		others, part := p.calls(1-share), p.calls(share)
		others.name = "the others"
		part.stuck, part.silent = true, true
		p.streams = []stream{others, part}
	}
}

// quiet is a service whose answers are quick, and its clients.
func quiet(p *plan) {
	p.rate, p.servers, p.load, p.answer, p.timeout, p.deadline, p.after = 400, 12, 0.05, 0.03, 2, 10, 60
}

func serviceRows(p plan) []plan {
	return []plan{
		p.row("healthy"),
		p.row("down for 2 s", down(2)),
		p.row("down for 10 s", down(10)),
		p.row("down for 60 s", down(60)),
		p.row("half capacity for 60 s", left(0.5, 60)),
		p.row("all refused for 2 s", happens(refusing, 1, 2)),
		p.row("30 % of the attempts fail for 60 s", happens(failing, 0.3, 60)),
		p.row("30 % of the attempts hang for 60 s", happens(hanging, 0.3, 60)),
		p.row("a part hangs for 60 s, 30 % of the calls", part(0.3, 60)),
	}
}

func outageRows(p plan) (rows []plan) {
	for _, share := range []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95} {
		rows = append(rows, p.row(fmt.Sprintf("healthy, load %g", share), load(share)))
	}
	for _, share := range []float64{0.3, 0.8} {
		for _, long := range []float64{1.5, 2, 3} {
			blip := fmt.Sprintf("for %g s, load %g, 100 a second", long, share)
			rows = append(rows,
				p.row("down "+blip, load(share), capacity(100/share, 12), down(long)),
				p.row("all refused "+blip, load(share), capacity(100/share, 12), happens(refusing, 1, long)))
		}
	}
	for _, share := range []float64{0.3, 0.6, 0.8, 0.9} {
		rows = append(rows, p.row(fmt.Sprintf("down for 10 s, load %g", share), load(share), down(10)))
	}
	return append(rows,
		p.row("down for 60 s, load 0.8", load(0.8), down(60)),
		p.row("half capacity for 60 s, load 0.8", load(0.8), left(0.5, 60)),
		p.row("half capacity for 10 min, load 0.6", load(0.6), left(0.5, 600)),
		p.row("30 % of the attempts fail for 3 min, load 0.6", load(0.6), happens(failing, 0.3, 0)),
		p.row("half of the attempts fail for 3 min, load 0.6", load(0.6), happens(failing, 0.5, 0)),
		p.row("one of three servers hangs for 60 s, load 0.05", quiet, backends(1, 3, 60)),
		p.row("half of the attempts hang for 60 s, load 0.05", quiet, happens(hanging, 0.5, 60)),
		p.row("hangs ten times for 20 s, each 26 s", lasts(60, 314, 934), unlimited(1, stream{
			rate: steady(40), timeout: 1, deadline: 10, answer: func(r *rand.Rand, t float64) float64 {
				if t >= 60 && t < 314 && math.Mod(t-60, 26) < 20 {
					return forever
				}
				return exponential(0.22)(r, t)
			}})),
	)
}

func limitRows(p plan) []plan {
	rows := []plan{
		p.row("refuses for 30 s, load 0.8", load(0.8), happens(refusing, 1, 30)),
		p.row("no queue, ignores cancellation, healthy, load 0.9", load(0.9), inOrder(shared)),
		p.row("no queue, heeds cancellation, healthy, load 0.9", load(0.9), inOrder(shared), heeds),
		p.row("20 processes, down for 10 s, load 0.6", load(0.6), processes(20), down(10)),
		p.row("50 processes, down for 10 s, load 0.6", load(0.6), processes(50), down(10)),
		p.row("400 processes, down for 10 s, load 0.6", load(0.6), processes(400), down(10)),
		p.row("30 % of the requests need no work, down for 10 s, load 0.8", load(0.8), func(p *plan) { p.cached = 0.3 }, down(10)),
		p.row("answers take 1.4 timeouts for 60 s, load 0.05", func(p *plan) {
			p.rate, p.servers, p.load, p.answer, p.timeout, p.deadline = 400, 4, 0.05, 0.04, 2, 10
			p.processes, p.from, p.after = 1, 17, 5
		}, happens(slow, 1.4, 60)),
		p.row("timeout of 1.5 usual answers, load 0.6", load(0.6), limits(0.3, 5)),
		p.row("300 calls at once each minute, beside one in 2 s that hangs for 500 s", lasts(100, 600, 900), unlimited(1,
			stream{name: "the others", burst: 300, every: 60, begin: 30, timeout: 1, deadline: 5, answer: exponential(0.2)},
			stream{name: "that part", rate: steady(0.5), timeout: 1, deadline: 5, stuck: true, silent: true})),
	}
	for _, share := range []float64{0.3, 0.4, 0.5, 0.6, 0.8} {
		rows = append(rows, p.row(fmt.Sprintf("a part hangs for 60 s, %g %% of the calls", 100*share), quiet, part(share, 60)))
	}
	for _, share := range []float64{0.5, 0.6, 0.8} {
		rows = append(rows, p.row(fmt.Sprintf("%g %% of the attempts hang for 60 s, load 0.05", 100*share), quiet, happens(hanging, share, 60)))
	}
	for _, share := range []float64{0.5, 0.6, 0.8} {
		rows = append(rows, p.row(fmt.Sprintf("a part hangs for 60 s, %g %%, answers of a third of the timeout", 100*share),
			quiet, func(p *plan) { p.answer = 0.67 }, part(share, 60)))
	}
	return append(rows, p.row("a tenth of the calls have another timeout, and hang for 60 s", capacity(2000, 20), load(0.03), limits(0.25, 1.25),
		func(p *plan) { p.answer = 0.01 }, part(0.1, 60), func(p *plan) { p.streams[1].timeout, p.streams[1].deadline = 10, 50 }))
}

// serverRows are troubles of a service that works on eight requests at once, for 0.1 s on average.
func serverRows(p plan) []plan {
	p.rate, p.servers, p.load, p.answer, p.after = 80, 8, 0.8, 0, 50
	return []plan{
		p.row("down for 10 s", down(10)),
		p.row("down for 60 s", down(60)),
		p.row("half capacity for 60 s", left(0.5, 60)),
		p.row("half capacity for 180 s", left(0.5, 180)),
		p.row("down for 10 s, all clients restart", down(10), func(p *plan) { p.restart = true }),
		p.row("down for 10 s, four times the clients", down(10), func(p *plan) { p.grow = 4 }),
		p.row("30 % of the requests fail, load 0.6", load(0.6), happens(failing, 0.3, 0)),
		p.row("one of three is down for 60 s, load 0.6", capacity(90, 9), load(0.6), backends(1, 3, 60)),
		p.row("healthy, load 0.9", load(0.9)),
	}
}

// scene is the service of all scenes: it does 100 requests a second, two at once.
func scene(p plan) plan {
	p.rate, p.servers, p.load, p.answer, p.from, p.after = 100, 2, 0.8, 0, 60, 60
	return p
}

// jumps has fifty calls begin at once, every 20 s.
func jumps(p *plan) {
	all, more := p.calls(1), p.calls(0)
	more.burst, more.every, more.begin, more.silent = 50, 20, 10, true
	more.rate = nil
	p.duration = 60
	p.streams = []stream{all, more}
}

func shortScenes(p plan) []plan {
	p = scene(p)
	return []plan{
		p.row("down for 10 s", down(10)),
		p.row("down for 60 s", down(60)),
		p.row("down for 10 s, queue lost", down(10), loses),
		p.row("half capacity for 60 s", left(0.5, 60)),
		p.row("half capacity for 180 s", left(0.5, 180)),
		p.row("30 % refused for 60 s", happens(refusing, 0.3, 60)),
		p.row("30 % hang for 60 s", happens(hanging, 0.3, 60)),
		p.row("one of five servers hangs for 60 s", capacity(100, 5), backends(1, 5, 60), loses),
		p.row("four times the traffic for 10 s", traffic(4, 10)),
		p.row("a healthy day, load 0.8", jumps),
	}
}

func sceneRows(p plan) []plan {
	short := shortScenes(p)
	p = scene(p)
	return append(short,
		p.row("all refused for 10 s", happens(refusing, 1, 10)),
		p.row("all refused for 60 s", happens(refusing, 1, 60)),
		p.row("85 % refused for 60 s", happens(refusing, 0.85, 60)),
		p.row("5 % hang for 60 s", happens(hanging, 0.05, 60)),
		p.row("50 % hang for 60 s", happens(hanging, 0.5, 60)),
		p.row("70 % hang for 60 s", happens(hanging, 0.7, 60)),
		p.row("two of five servers hang for 60 s", capacity(100, 5), backends(2, 5, 60), loses),
		p.row("answers take three times as long for 60 s", happens(slow, 0.04, 60)),
		p.row("down for 10 s, four times the processes", down(10), func(p *plan) { p.grow = 4 }),
		p.row("twice the traffic for 60 s, to load 0.8", load(0.4), traffic(2, 60)),
		p.row("a healthy day, load 0.5", load(0.5), jumps),
		p.row("a healthy day, load 0.9", load(0.9), jumps),
		p.row("one call a second, idle, down for 10 s", processes(1), capacity(500, 10), load(0.002), down(10)),
		p.row("40 processes with one call a second, down for 10 s", processes(40), capacity(50, 1), down(10)),
	)
}

func consumerRows(p plan) []plan {
	p.deadline, p.load = 0, 0.6
	return []plan{
		p.row("down for 10 s", down(10)),
		p.row("down for 60 s", down(60)),
		p.row("half capacity for 60 s", left(0.5, 60)),
	}
}

// atOnce has calls that begin with the trouble, in place of others.
func atOnce(n int) change {
	return func(p *plan) {
		p.streams = []stream{{burst: n, begin: p.from, timeout: p.timeout}}
	}
}

func batchRows(p plan) []plan {
	return []plan{
		p.row("healthy", atOnce(2000)),
		p.row("down for 60 s", atOnce(2000), down(60)),
	}
}

func toolRows(p plan) []plan {
	p.deadline, p.fresh = 0, true
	return []plan{
		p.row("down for 10 s, load 0.1", load(0.1), down(10)),
		p.row("down for 60 s, load 0.2", load(0.2), down(60)),
	}
}

func deviceRows(p plan) []plan {
	return []plan{p.row("down for 10 s", capacity(80, 8), load(0.5), processes(2000), down(10), func(p *plan) {
		p.after = 600
		others := p.calls(1)
		others.name, others.bare = "other programs", true
		p.streams = []stream{{name: "devices", burst: 2000, begin: p.from, timeout: p.timeout}, others}
	})}
}

// otherRows are services and programs that differ in one thing from the usual ones, in some troubles.
func otherRows(p plan) (rows []plan) {
	for _, other := range []struct {
		name   string
		change change
	}{
		{"answers of 0.35 of the timeout", func(p *plan) { p.answer = 0.35 }},
		{"answers of 0.35 of the timeout, 20 processes", func(p *plan) { p.answer, p.processes = 0.35, 20 }},
		{"timeout 3 s, deadline 15 s", limits(3, 15)},
		{"timeout 0.1 s, ten times as fast", func(p *plan) {
			p.timeout, p.deadline, p.answer, p.rate, p.servers = 0.1, 0.5, 0.01, 200, 2
		}},
		{"timeout 10 s, a tenth as fast", func(p *plan) { p.timeout, p.deadline, p.answer, p.servers = 10, 50, 1, 60 }},
		{"deadline 1 s", limits(1, 1)},
		{"no deadline", limits(1, 0)},
		{"1 process", processes(1)},
		{"the busiest process has 10 times the calls", func(p *plan) { p.skew = 10 }},
		{"the same work in all requests", func(p *plan) { p.spread = constant }},
		{"work with a heavy tail", func(p *plan) { p.spread = heavy }},
		{"heeds cancellation", heeds},
		{"newest request first", inOrder(newestFirst)},
		{"refuses while 30 requests wait", func(p *plan) { p.line = 30 }},
		{"works on all requests at once", inOrder(shared)},
		{"works on all requests at once, heeds cancellation", func(p *plan) { p.order, p.heeds = shared, true }},
		{"half of the answers are final errors", func(p *plan) { p.final = 0.5 }},
		{"all processes restart in the trouble", func(p *plan) { p.restart = true }},
		{"four times the processes from the trouble on", func(p *plan) { p.grow = 4 }},
	} {
		for _, trouble := range []struct {
			name   string
			change change
		}{
			{"healthy", load(0.6)},
			{"down for 10 s, load 0.6", func(p *plan) { load(0.6)(p); down(10)(p) }},
			{"down for 60 s", down(60)},
			{"half capacity for 60 s", left(0.5, 60)},
		} {
			rows = append(rows, p.row(other.name+"; "+trouble.name, other.change, trouble.change))
		}
	}
	return rows
}

var forever = math.Inf(1)

// lognormal answers have a median, and a spread of their logarithms.
func lognormal(median, sigma float64) func(*rand.Rand, float64) float64 {
	return func(r *rand.Rand, _ float64) float64 { return median * math.Exp(sigma*r.NormFloat64()) }
}
