package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// byName plays the strategies in a plan.
func byName(strategies []strategy, p plan) map[string]*outcome {
	return named((config{seeds: 1}).try(strategies, p))
}

// named returns the outcomes with the first seed by the names of the strategies.
func named(trials []trial) map[string]*outcome {
	outcomes := map[string]*outcome{}
	for _, t := range trials {
		outcomes[t.name] = t.outcomes[0]
	}
	return outcomes
}

// simple is a plan of a service that refuses beyond a rate.
func simple(rate float64) plan {
	return plan{processes: 1, rate: rate, queue: noQueue, servers: 1, times: "constant", timeout: time.Second}
}

// An operation whose attempt has not ended by the end is lost, whatever would have come of it.
func TestUnended(t *testing.T) {
	c := newCrowd(strategy{policy: noRetry}, simple(1))
	c.serve = func(time.Duration) (time.Duration, error) { return 2 * time.Hour, nil }
	c.begin(0, nil)
	c.runUntil(time.Hour)
	require.Equal(t, 1, c.lost())
}

func TestRecovery(t *testing.T) {
	h := &history{}
	for second := range 340 {
		h.begun.add(second, 10)
		if second < 30 || second >= 47 {
			h.good.add(second, 10)
		}
	}
	require.Equal(t, 7.0, h.recovery(40*time.Second, 340*time.Second, 5))
	h.good[339] = 0
	require.True(t, math.IsInf(h.recovery(40*time.Second, 340*time.Second, 5), 1))
}

func TestBlip(t *testing.T) {
	manyOperations(t)
	p := settings(t, "-scenario blip -seed 2 -after 70s").blip(0.8)
	back, closing := int(p.back()/time.Second), int(p.closing()/time.Second)
	for name, o := range byName(blipStrategies(3, 0), p) {
		require.Greater(t, o.goodput(5, 30), 0.95, "%s before", name)
		require.Zero(t, o.good.sum(back-9, back), "%s during", name)
		switch name {
		case noRetries, fixed500, withBudget:
			require.Less(t, o.recovered(), 60.0, name)
			require.Greater(t, o.goodput(closing-10, closing), 0.98, name)
		case proportional, fullJitter:
			require.True(t, math.IsInf(o.recovered(), 1), name)
			require.Less(t, o.lastMinute(), 0.01, name)
			require.InEpsilon(t, 4*p.demand()*60, o.requests.sum(closing-60, closing), 0.05, name)
		}
	}
}

// What makes retries harmless: few of them at a low load, or a service that refuses what would wait for
// long, at a low cost.
func TestBlipHarmless(t *testing.T) {
	manyOperations(t)
	recovered := func(load float64, args string) bool {
		c := settings(t, "-scenario blip -after 1m "+args)
		return !math.IsInf(play(strategy{policy: jittered(c.retries, backoff.ProportionalJitter)}, c.blip(load)).recovered(), 1)
	}
	require.True(t, recovered(0.2, ""))
	require.True(t, recovered(0.4, "-retries 1"))
	require.True(t, recovered(0.8, "-queue 200ms"))
	require.True(t, recovered(0.8, "-queue none"))
	require.False(t, recovered(0.8, "-queue 200ms -refusal 0.6"))
}

// The successes of another service keep the budget full.
func TestBeside(t *testing.T) {
	manyOperations(t)
	budgeted := func(beside string) float64 {
		c := settings(t, "-scenario blip -after 1m -beside "+beside)
		return play(blipStrategies(3, 0)[4], c.blip(0.8)).recovered()
	}
	require.Less(t, budgeted("0"), 50.0)
	require.True(t, math.IsInf(budgeted("100"), 1))
}

// A fleet whose buckets size themselves recovers at most 12 s after one without retries, or, if that is
// longer, as late as spending its floors takes (plus two seconds). With a Capacity of 200 only the small
// fleets come back.
func TestFleet(t *testing.T) {
	manyOperations(t)
	c := settings(t, "-scenario fleet -processes 30,700 -capacity 0,200 -load 0.8")
	c.after = 2 * time.Minute
	all := runFleet(c)
	alone := all.without[0].outcomes[0].recovered()
	for _, f := range all.rows {
		after := f.outcomes[0].recovered()
		if f.name == "0" {
			require.LessOrEqual(t, after-alone, max(12, 2+float64(f.processes)*5/300/0.2), "%d processes", f.processes)
		} else {
			require.Equal(t, f.processes == 700, math.IsInf(after, 1), "%d processes", f.processes)
		}
	}
}

// A service without a queue spends its capacity on answers and refusals.
func TestRefusal(t *testing.T) {
	served := func(rate int, refusal float64) int {
		p := simple(100)
		p.refusal = refusal
		c := newCrowd(strategy{policy: noRetry}, p)
		for i := range 20 * rate {
			c.schedule(time.Duration(i)*time.Second/time.Duration(rate), func() { c.begin(0, nil) })
		}
		c.runUntil(time.Hour)
		return c.good.sum(10, 20) / 10
	}
	require.InDelta(t, 100, served(100, 0.1), 1)
	require.InDelta(t, 100, served(600, 0), 2)
	require.InDelta(t, 44, served(600, 0.1), 2, "a refusal is a tenth of an answer: 44 + 556/10 = 100")
	require.InDelta(t, 0, served(1000, 0.1), 2)
}
