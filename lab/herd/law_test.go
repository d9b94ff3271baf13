package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is in progress stays below what a service can do within the timeout of an attempt: then nothing that can wait
// is lost, and no budget is needed.
func TestLaw(t *testing.T) {
	manyCalls(t)
	for _, timeout := range lawTimeouts {
		var ways []way
		for _, share := range []float64{0.25, 0.5, 0.75} {
			name := fmt.Sprintf("%g of capacity × timeout", share)
			ways = append(ways, way{name: name, process: retrier(share, forever, false)})
		}
		for _, one := range (config{seeds: 1}).try(ways, lawPlans(60, timeout, 3*time.Minute)...) {
			require.Zero(t, one.outcomes[0].lost(), lawCell(one))
		}
	}
}

// With places for as many attempts as that, each taken before the timeout begins, the service does not come back.
func TestLawCollapse(t *testing.T) {
	manyCalls(t)
	for _, timeout := range lawTimeouts {
		all := way{name: "all", process: func(p plan) caller {
			p.guess = 2 // half of twice as much
			return placed(forever, false)(p)
		}}
		for _, one := range (config{seeds: 1}).try([]way{all}, lawPlans(30, timeout, 90*time.Second)...) {
			require.True(t, math.IsInf(one.outcomes[0].recovered(), 1), lawCell(one))
		}
	}
}

var lawTimeouts = []time.Duration{time.Second, 2 * time.Second}

func lawPlans(rate float64, timeout, after time.Duration) []plan {
	var plans []plan
	for _, load := range []float64{0.65, 0.8, 0.9} {
		for _, name := range []string{"60s", "half", "flapping"} {
			trouble, _ := parseTrouble(name)
			plans = append(plans, plan{
				seed: 1, processes: 1, guess: 1, rate: rate, load: load, queue: fifo, servers: 1,
				times: "exponential", answer: 100 * time.Millisecond, trouble: trouble, from: troubleAt,
				after: after, timeout: timeout, window: 20,
			})
		}
	}
	return plans
}

func lawCell(t trial) string {
	return fmt.Sprintf("%s: %g/s, timeout %v, load %g, %s", t.way.name, t.rate, t.timeout, t.load, t.trouble.name)
}

// A Retrier with half of capacity × timeout as slots loses less than every arrangement by hand of calls that have a
// deadline, with a budget too, before a service that works for abandoned requests.
func TestRetrierMargins(t *testing.T) {
	manyCalls(t)
	only := noRetries + ",budget,place for,semaphore," + half
	for _, args := range []string{
		"",
		"-deadline 2s",
		"-deadline 1200ms",
		"-timeout 2s",
		"-processes 1 -servers 1",
		"-slow 0.2 -slowly 800ms",
	} {
		c := settings(t, "-trouble 10s@0.6,10s@0.9,half@0.8 -after 1m "+args)
		c.only = only
		all := runPrograms(c)
		for i := 0; i < len(all.trials); i += all.ways {
			least, with := best(all.trials[i : i+all.ways])
			require.Less(t, with[half], least, "%s: %s", args, all.trials[i].trouble.name)
			require.Less(t, with[halfBudget], least, "%s: %s", args, all.trials[i].trouble.name)
		}
	}
}

// Calls of a healthy service do not wait for a slot, but for a few where it is 80 % busy.
func TestRetrierHealthy(t *testing.T) {
	for load, most := range map[string]float64{"0.6": 0, "0.8": 0.15} {
		o := outcomes(t, "-trouble none -load "+load)[halfBudget]
		require.Zero(t, o.lost(), load)
		require.LessOrEqual(t, o.waited(), most, load)
	}
}

// With a budget, calls that hang for ever leave the slots to the others.
func TestRetrierHang(t *testing.T) {
	manyCalls(t)
	all := outcomes(t, "-trouble hang:40% -after 1m")
	require.Zero(t, all[halfBudget].lost())
	require.Greater(t, all[half].lostShare(), 1.0)
	require.Greater(t, all[third].lostShare(), all[half].lostShare())
}

// Calls that fail for good keep their slots for all their retries.
func TestPoison(t *testing.T) {
	manyCalls(t)
	all := outcomes(t, "-shape events -trouble none -poison 0.02 -after 20m -only Retrier")
	require.Greater(t, all[halfForever].lostShare(), 50.0)
	require.Zero(t, all[half].lost())
}

// A random wait before the first attempt spreads devices best; FullJitter makes it no better.
func TestDevices(t *testing.T) {
	manyCalls(t)
	all := outcomes(t, "-shape devices -size 2000 -rate 80 -servers 8 -load 0.5 -trouble 10s -after 10m")
	require.Less(t, all[longDelay].othersAfter(), all[longWaits].othersAfter()/2)
	require.Less(t, all[longWaits].othersAfter(), all[longFull].othersAfter())
	require.Greater(t, all[defaultWaits].othersAfter(), 90.0)
}
