package main

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// In trouble slots that size themselves lose at most so many seconds of traffic, whatever the programs are like, and
// hardly more than callers without retries do. On a healthy day they lose none.
func TestSlots(t *testing.T) {
	manyCalls(t)
	bars := map[string]float64{
		"healthy":                 0.1,
		"down for 10 s, load 0.6": 15,
		"down for 60 s":           85,
		"half capacity for 60 s":  60,
	}
	p := usual(t)
	for _, program := range []change{
		processes(5),
		func(p *plan) { p.answer = 0.35 },
		func(p *plan) { p.skew = 10 },
		limits(1, 1),
		limits(3, 15),
	} {
		for _, row := range []plan{
			p.row("healthy", program, load(0.6)),
			p.row("down for 10 s, load 0.6", program, load(0.6), down(10)),
			p.row("down for 60 s", program, down(60)),
			p.row("half capacity for 60 s", program, left(0.5, 60)),
		} {
			without, with := lostOf(t, "none", row), lostOf(t, "slots", row)
			require.Less(t, with, bars[row.name], row)
			require.LessOrEqual(t, with, without+0.1, row)
		}
	}
	for _, share := range []float64{0.3, 0.8} {
		row := p.row("", load(share), happens(refusing, 1, 30))
		require.Less(t, lostOf(t, "slots", row), lostOf(t, "none", row)+5)
	}
}

// lostOf returns the seconds of traffic that a way loses in a plan.
func lostOf(t *testing.T, way string, p plan) float64 {
	t.Helper()
	return cell{plan: p, histories: []history{played(t, way, p)}}.lost(0)[0]
}

// On a healthy day slots lose no call, and let none wait, not even of a burst after a pause.
func TestHealthyDay(t *testing.T) {
	roomy := usual(t).row("", capacity(2000, 200), processes(1), func(p *plan) { p.after = 60 })
	rows := []plan{
		usual(t).row("half fail", load(0.3), happens(failing, 0.5, 0)),
		usual(t).row("half are refused", load(0.3), happens(refusing, 0.5, 0)),
	}
	for _, pause := range []float64{20, 600} {
		for _, size := range []int{20, 500} {
			rows = append(rows, roomy.row("bursts", happens(refusing, 0.05, 0), func(p *plan) {
				p.streams = []stream{{burst: 5, begin: 1, timeout: 1, deadline: 5}, {burst: size, begin: 1 + pause, timeout: 1, deadline: 5}}
				p.after = pause + 30
			}))
		}
	}
	for _, row := range rows {
		without, with := played(t, "retries", row), played(t, "slots", row)
		for i := range with.tallies {
			require.InDelta(t, without.tallies[i].share(), with.tallies[i].share(), 0.5, row.name)
			require.InDelta(t, without.tallies[i].half(), with.tallies[i].half(), 0.01, row.name)
			require.InDelta(t, slices.Max(without.tallies[i].took), slices.Max(with.tallies[i].took), 0.1, row.name)
		}
	}
}

// A fleet that is restarted while a service hangs, and knows nothing of it, is back soon. Where an answer takes most of
// the timeout, that takes some minutes.
func TestNoTrap(t *testing.T) {
	manyCalls(t)
	for answer, back := range map[float64]float64{0.3: 60, 0.6: 180, 0.85: 300} {
		p := usual(t).row("", capacity(6000, 6), load(0.01), down(5), func(p *plan) {
			p.answer, p.after, p.restart = answer, 600, true
		})
		var mu sync.Mutex
		var made []*backoff.Slots
		seen := retrier(settings{attempts: 4, slots: func(*process) *backoff.Slots {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, new(backoff.Slots))
			return made[len(made)-1]
		}})
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(way{set: seen}, p)
			time.AfterFunc(seconds(p.back()+back), func() {
				for _, one := range made {
					require.Equal(t, math.MaxInt, one.Limit(), answer)
				}
			})
			w.run()
			require.Len(t, made, 2*p.processes)
			require.Less(t, w.history.tallies[0].share(), 4.0, answer)
		})
	}
}
