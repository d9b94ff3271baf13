package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// attackRows are troubles and programs that were thought out against slots that size themselves, by somebody who had not
// seen the other scenarios.
func attackRows(p plan) []plan {
	return slices.Concat(pauseRows(p), growthRows(p), refusalRows(p), timeoutRows(p), partRows(p), burstRows(p), farRows(p), mixedRows(p), coldRows(p))
}

// lasts sets when the trouble begins and ends, and when the last calls begin.
func lasts(begin, end, all float64) change {
	return func(p *plan) { p.from, p.duration, p.after = begin, end-begin, all-end }
}

// unlimited is a service whose answers need no work, and its calls.
func unlimited(processes int, streams ...stream) change {
	return func(p *plan) {
		p.rate, p.answer, p.processes = 0, 0, processes
		p.streams = streams
	}
}

// queue is a service that works on so many requests at once, each for so long on average, and its calls.
func queue(servers int, work, answer, rate, timeout, deadline float64) change {
	return func(p *plan) {
		p.servers, p.rate, p.answer = servers, float64(servers)/work, answer
		p.streams = []stream{{rate: steady(rate), timeout: timeout, deadline: deadline}}
	}
}

// varies has the calls begin at a rate that changes.
func varies(rate func(t float64) float64) change { return func(p *plan) { p.streams[0].rate = rate } }

// stops leaves a share of the capacity for so long, each so often, after a while.
func stops(after, long, every, share float64) change {
	return func(p *plan) {
		for at := after; at < p.closing(); at += every {
			p.dips = append(p.dips, dip{begin: at, end: at + long, left: share, backend: allBackends})
		}
	}
}

// day is a rate that rises and falls once.
func day(base, more, length float64) func(float64) float64 {
	return func(t float64) float64 { return base + more*math.Sin(math.Pi*t/length) }
}

// Pauses of the garbage collector, a neighbour that takes half, services that flap.
func pauseRows(p plan) (rows []plan) {
	rows = append(rows, p.row("down for 10 s, load 0.8", lasts(30, 40, 200), queue(8, 0.1, 0.05, 64, 1, 5), stops(30, 10, forever, 0)))
	for _, share := range []float64{0.5, 0.8} {
		rows = append(rows,
			p.row(fmt.Sprintf("pauses of 0.3 s each 5 s, timeout 0.25 s, load %g", share),
				lasts(0, 0, 120), queue(8, 0.02, 0.005, 400*share, 0.25, 1), stops(0, 0.3, 5, 0)),
			p.row(fmt.Sprintf("pauses of 1 s each 10 s, timeout 0.5 s, load %g", share),
				lasts(0, 0, 120), queue(8, 0.02, 0.005, 400*share, 0.5, 2), stops(0, 1, 10, 0)),
			p.row(fmt.Sprintf("pauses of 2 s each 20 s, load %g", share),
				lasts(0, 0, 120), queue(8, 0.05, 0.005, 160*share, 1, 5), stops(0, 2, 20, 0)))
	}
	for _, period := range []float64{1, 10, 60, 600} {
		rows = append(rows, p.row(fmt.Sprintf("half of the capacity in half of each %g s, load 0.65", period),
			lasts(0, 0, max(180, 2*period)), queue(8, 0.13, 0.02, 39, 1, 5), stops(period/2, period/2, period, 0.5)))
	}
	for _, share := range []float64{0.3, 0.6} {
		rows = append(rows,
			p.row(fmt.Sprintf("down for 8 of each 40 s, load %g", share), lasts(0, 0, 280), queue(8, 0.1, 0.02, 80*share, 1, 5), stops(0, 8, 40, 0)),
			p.row(fmt.Sprintf("down for 3 of each 15 s, load %g", share), lasts(0, 0, 180), queue(8, 0.1, 0.02, 80*share, 1, 5), stops(0, 3, 15, 0)))
	}
	return rows
}

// Traffic that stops, and traffic beyond the capacity.
func growthRows(p plan) (rows []plan) {
	for _, gap := range []float64{2, 5} {
		rows = append(rows, p.row(fmt.Sprintf("no calls for %g of each 20 s", gap), lasts(0, 0, 120), queue(8, 0.1, 0.02, 64, 1, 5),
			varies(func(t float64) float64 {
				if math.Mod(t, 20) < gap {
					return 0.0001
				}
				return 64
			})))
	}
	for _, peak := range []float64{0.35, 0.45} {
		rows = append(rows, p.row(fmt.Sprintf("a day with a peak of %g of the capacity", 0.6+peak),
			lasts(200, 400, 600), queue(8, 0.1, 0.02, 64, 1, 5), varies(day(80*0.6, 80*peak, 600))))
	}
	rows = append(rows, p.row("twice the traffic, more capacity after 2 min", lasts(60, 180, 300), queue(16, 0.1, 0.02, 55, 1, 5),
		varies(between(60, forever, 110, 55)), stops(0, 180, forever, 0.5), stops(180, 120, forever, 1.2)))
	for _, factor := range []float64{3, 6, 10} {
		for _, timeout := range []float64{1, 5} {
			rows = append(rows, p.row(fmt.Sprintf("%g times the traffic, the capacity after 2 min, timeout %g s", factor, timeout),
				processes(3), lasts(60, 180, 180+300*timeout), queue(3, 0.15*timeout, 0.01, 12/timeout, timeout, 5*timeout),
				varies(between(60, forever, 12/timeout*factor, 12/timeout)), func(p *plan) { p.grown = growth{180, 0.9 * factor} }))
		}
	}
	for _, answer := range []float64{0.1, 0.2, 0.33} {
		for _, factor := range []float64{2, 5, 10} {
			rows = append(rows, p.row(fmt.Sprintf("failover after 20 s, %g times the traffic, answers of %g s", factor, answer), lasts(40, 60, 400),
				unlimited(3, stream{rate: between(40, forever, 12*factor, 12), timeout: 1, deadline: 5, stuck: true, answer: around(answer)})))
		}
	}
	return rows
}

// Services that refuse: by the length of the queue, by its age, by a proxy.
func refusalRows(p plan) (rows []plan) {
	all := queue(8, 0.1, 0.02, 64, 1, 5)
	for _, asks := range []float64{0, 1, 5} {
		asking := func(line int, oldest float64) change {
			return func(p *plan) { p.line, p.oldest, p.asks = line, oldest, asks }
		}
		rows = append(rows,
			p.row(fmt.Sprintf("a queue of 20, asks for %g s, half capacity for 60 s", asks), lasts(30, 90, 200), all, stops(30, 60, forever, 0.5), asking(20, 0)),
			p.row(fmt.Sprintf("a queue of 20, asks for %g s, down for 10 s", asks), lasts(30, 40, 200), all, stops(30, 10, forever, 0), asking(20, 0)),
			p.row(fmt.Sprintf("a queue of 0.7 s, asks for %g s, down for 10 s", asks), lasts(30, 40, 200), all, stops(30, 10, forever, 0), asking(0, 0.7)))
	}
	return append(rows, p.row("a proxy answers 504 after 0.9 timeouts, down for 10 s", lasts(30, 40, 200), all, stops(30, 10, forever, 0),
		func(p *plan) { p.proxy = 0.9 }))
}

// Timeouts that are near to what a call takes, or far from it.
func timeoutRows(p plan) (rows []plan) {
	for _, factor := range []float64{1.2, 2, 3, 10, 100} {
		timeout := 0.12 * factor
		all := queue(8, 0.1, 0.02, 48, timeout, 5*timeout)
		rows = append(rows,
			p.row(fmt.Sprintf("timeout of %g answers, healthy", factor), lasts(0, 0, 120), all),
			p.row(fmt.Sprintf("timeout of %g answers, down for 10 s", factor), lasts(30, 40, max(150, 15*timeout)), all, stops(30, 10, forever, 0)))
	}
	for _, factor := range []float64{1.2, 1.5, 2, 3} {
		rows = append(rows, p.row(fmt.Sprintf("timeout of %g answers that are all alike, down for 10 s", factor), lasts(30, 40, 150),
			queue(100, 0.2, 0, 50, 0.2*factor, factor), func(p *plan) { p.spread = constant }, stops(30, 10, forever, 0)))
	}
	return rows
}

// around are answers of a time, a fifth more or less.
func around(mean float64) func(*rand.Rand, float64) float64 {
	return func(r *rand.Rand, _ float64) float64 { return mean * (0.8 + 0.4*r.Float64()) }
}

func exponential(mean float64) func(*rand.Rand, float64) float64 {
	return func(r *rand.Rand, _ float64) float64 { return mean * r.ExpFloat64() }
}

func alike(answer float64) func(*rand.Rand, float64) float64 {
	return func(*rand.Rand, float64) float64 { return answer }
}

// hangs is two processes, a share of whose calls hangs in the trouble, whatever the load.
func hangs(share float64, rate func(float64) float64, answer func(*rand.Rand, float64) float64) change {
	of := func(part float64) func(float64) float64 { return func(t float64) float64 { return part * rate(t) } }
	return unlimited(2,
		stream{name: "the others", rate: of(1 - share), timeout: 1, deadline: 5, answer: answer},
		stream{name: "that part", rate: of(share), timeout: 1, deadline: 5, answer: answer, stuck: true})
}

// A part that hangs.
func partRows(p plan) (rows []plan) {
	for _, share := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8} {
		for _, quick := range []struct {
			name   string
			answer func(*rand.Rand, float64) float64
		}{
			{"answers of 0.05 timeouts", exponential(0.05)},
			{"answers of a third of the timeout", exponential(1. / 3)},
			{"answers always of 0.4 timeouts", alike(0.4)},
			{"answers of a fifth of the timeout", exponential(0.2)},
		} {
			rows = append(rows, p.row(fmt.Sprintf("%g %% hang, %s", 100*share, quick.name), lasts(40, 130, 180), hangs(share, steady(40), quick.answer)))
		}
	}
	for _, share := range []float64{0.15, 0.3} {
		rising := ramp(60, 120, 6, 60)
		rows = append(rows,
			p.row(fmt.Sprintf("%g %% hang, ten times the traffic, answers always of 0.4 timeouts", 100*share), lasts(40, 250, 300), hangs(share, rising, alike(0.4))),
			p.row(fmt.Sprintf("%g %% hang, ten times the traffic, quick answers", 100*share), lasts(40, 250, 300), hangs(share, rising, exponential(0.05))))
	}
	for _, median := range []float64{0.1, 0.2, 0.25, 0.3} {
		for _, share := range []float64{0.1, 0.2} {
			rows = append(rows, p.row(fmt.Sprintf("%g %% hang, five times the traffic, answers of %g s", 100*share, median), lasts(40, 200, 300),
				hangs(share, ramp(60, 120, 8, 40), lognormal(median, 0.5))))
		}
	}
	return append(rows, p.row("15 % hang at night, twenty times the traffic in the morning", lasts(60, 300, 900), unlimited(1,
		stream{name: "the others", rate: ramp(120, 420, 0.85*4, 0.85*80), timeout: 1, deadline: 5, answer: lognormal(0.25, 0.5)},
		stream{name: "that part", rate: ramp(120, 420, 0.15*4, 0.15*80), timeout: 1, deadline: 5, answer: lognormal(0.25, 0.5), stuck: true})))
}

// Bursts beside a part that hangs.
func burstRows(p plan) (rows []plan) {
	burst := func(name string, n int, every, deadline float64, stuck bool, answer func(*rand.Rand, float64) float64) stream {
		return stream{name: name, burst: n, every: every, begin: 1, timeout: 1, deadline: deadline, stuck: stuck, answer: answer}
	}
	for _, n := range []int{2, 4} {
		streams := []stream{burst("the others", 20-n, 5, 5, false, exponential(0.1)), burst("that part", n, 5, 5, true, exponential(0.1))}
		trickle := stream{name: "a trickle", rate: steady(1), timeout: 1, deadline: 5, answer: exponential(0.1)}
		rows = append(rows,
			p.row(fmt.Sprintf("20 calls each 5 s, %d of them hang", n), lasts(40, 200, 240), unlimited(1, streams...)),
			p.row(fmt.Sprintf("20 calls each 5 s, %d of them hang, and others", n), lasts(40, 200, 240), unlimited(1, append(streams, trickle)...)))
	}
	page := func(r *rand.Rand, _ float64) float64 { return 0.15 + 0.1*r.ExpFloat64() }
	return append(rows, p.row("five calls for each page, one of them hangs", lasts(40, 130, 180),
		unlimited(1, burst("the others", 4, 1, 3, false, page), burst("that part", 1, 1, 3, true, page))))
}

// Answers that come from far away after an outage, language models, workers.
func farRows(p plan) (rows []plan) {
	for _, far := range []float64{0.4, 0.5, 0.6, 0.7, 0.8} {
		rows = append(rows, p.row(fmt.Sprintf("failover after 20 s, to answers of %g timeouts", far), lasts(40, 60, 250), unlimited(2,
			stream{rate: steady(60), timeout: 1, deadline: 5, stuck: true, answer: func(r *rand.Rand, t float64) float64 {
				if t < 40 {
					return 0.2
				}
				return far * (0.9 + 0.2*r.Float64())
			}})))
	}
	for _, long := range []float64{60, 300, 900} {
		for _, median := range []float64{6, 15} {
			rows = append(rows, p.row(fmt.Sprintf("a language model, answers of %g s, hangs for %g s", median, long), lasts(600, 600+long, 4200+long),
				unlimited(1, stream{rate: steady(2), timeout: 60, deadline: 180, stuck: true, answer: lognormal(median, 0.5)})))
		}
	}
	for _, long := range []float64{60, 300, 1200} {
		for _, n := range []int{10, 50} {
			rows = append(rows, p.row(fmt.Sprintf("%d workers, timeout 30 s, hang for %g s", n, long), lasts(900, 900+long, 2700+long),
				unlimited(2, stream{workers: 2 * n, pause: 1, timeout: 30, stuck: true, answer: exponential(2)})))
		}
	}
	for _, timeout := range []float64{10, 30} {
		answer := func(r *rand.Rand, _ float64) float64 { return 1 + r.ExpFloat64() }
		rows = append(rows, p.row(fmt.Sprintf("a backlog begins with an outage, timeout %g s", timeout), lasts(600, 600+4*timeout, 1800), unlimited(1,
			stream{name: "a trickle", rate: steady(0.2), timeout: timeout, stuck: true, answer: answer},
			stream{name: "workers", workers: 50, begin: 600, timeout: timeout, stuck: true, answer: answer})))
	}
	return rows
}

// Calls with near and far deadlines.
func mixedRows(p plan) (rows []plan) {
	for _, deadline := range []float64{30, 0} {
		all := queue(8, 0.02, 0.005, 0, 0, 0)
		streams := func(p *plan) {
			p.processes = 3
			p.streams = []stream{
				{name: "interactive", rate: steady(140), timeout: 10, deadline: 0.2},
				{name: "background", rate: steady(60), timeout: 10, deadline: deadline},
			}
		}
		rows = append(rows,
			p.row(fmt.Sprintf("deadlines of 0.2 s and %g s, down for 10 s", deadline), lasts(40, 50, 150), all, stops(40, 10, forever, 0), streams),
			p.row(fmt.Sprintf("deadlines of 0.2 s and %g s, 0.4 of the capacity for 30 s", deadline), lasts(40, 70, 150), all, stops(40, 30, forever, 0.4), streams),
			p.row(fmt.Sprintf("deadlines of 0.2 s and %g s, down for 60 s", deadline), lasts(40, 100, 200), all, stops(40, 60, forever, 0), streams))
	}
	for _, long := range []float64{20, 60} {
		rows = append(rows, p.row(fmt.Sprintf("handlers and consumers, down for %g s", long), lasts(40, 40+long, 140+long),
			queue(8, 0.1, 0.02, 0, 0, 0), stops(40, long, forever, 0), func(p *plan) {
				p.processes = 3
				p.streams = []stream{
					{name: "handlers", rate: steady(24), timeout: 1, deadline: 2},
					{name: "consumers", rate: steady(24), timeout: 1},
				}
			}))
	}
	return rows
}

// Processes that begin cold.
func coldRows(p plan) (rows []plan) {
	for _, timeout := range []float64{1, 5, 30} {
		for _, answer := range []float64{0.1, 0.3} {
			unit := min(timeout, 5)
			rows = append(rows, p.row(fmt.Sprintf("a cold start, timeout %g s, answers of %g s", timeout, timeout*answer), lasts(0, 0, 300+60*timeout),
				unlimited(1, stream{rate: ramp(0, 30*max(1, timeout/5), 2/unit, 40/unit), timeout: timeout, deadline: 5 * timeout,
					answer: func(r *rand.Rand, t float64) float64 {
						usual := timeout * answer * (0.8 + 0.4*r.Float64())
						if t >= 4*timeout {
							return usual
						}
						return usual + 1.8*timeout*math.Exp(-t/(2*timeout))
					}})))
		}
	}
	for _, long := range []float64{0.001, 10, 30, 60} {
		for _, fades := range []float64{1, 2, 5} {
			for _, answer := range []float64{0.2, 0.3} {
				warm := lognormal(answer, 0.3)
				rows = append(rows, p.row(fmt.Sprintf("a cold start that fades in %g s, a ramp of %g s, answers of %g s", fades, long, answer), lasts(0, 0, 240),
					unlimited(1, stream{rate: ramp(0, long, 1, 30), timeout: 1, deadline: 5,
						answer: func(r *rand.Rand, t float64) float64 { return warm(r, t) + 2*math.Exp(-t/fades) }})))
			}
		}
	}
	return rows
}
