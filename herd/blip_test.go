package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// settings returns the configuration for args, separated by spaces.
func settings(t *testing.T, args string) config {
	t.Helper()
	c, err := parse(strings.Fields(args), &strings.Builder{})
	require.NoError(t, err)
	return c
}

func TestBlip(t *testing.T) {
	manyOperations(t)
	c := settings(t, "-scenario blip -load 0.8 -seed 2")
	c.after = 2 * time.Minute
	var results blips
	for _, s := range blipStrategies(c.retries) {
		if !slices.Contains([]string{noJitter, equalJitter, decorrelated, additive}, s.name) { // like the others
			results = append(results, simulateBlip(s, c, blipProcesses, 0.8))
		}
	}
	back, closing := int(results[0].back()/time.Second), int(results[0].closing()/time.Second)
	for _, b := range results {
		require.Greater(t, b.goodput(5, 30), 0.95, "%s before", b.name)
		require.Zero(t, b.good.sum(back-9, back), "%s during", b.name)
		after, recovered := b.recovered()
		switch b.name {
		case noRetries, fixed500, withBudget:
			require.True(t, recovered, b.name)
			require.Less(t, after, 60, b.name)
			require.Greater(t, b.last(), 0.99, b.name)
		case withWait:
			require.Greater(t, after, 60, "retries that wait take what there is to spare")
		default:
			require.False(t, recovered, b.name)
			require.Less(t, b.last(), 0.01, b.name)
			require.InEpsilon(t, 4*0.8*serviceRate*60, b.requests.sum(closing-60, closing), 0.05, b.name)
		}
	}
	checkSVG(t, results.draw(), withBudget, "80 %", "never recovers")
}

// What makes retries harmless: few of them at a low load, a service that takes the newest request first,
// or one that refuses what would wait for long.
func TestBlipHarmless(t *testing.T) {
	manyOperations(t)
	for _, args := range []string{"-load 0.2", "-load 0.45 -retries 1", "-load 0.8 -queue lifo", "-load 0.8 -queue 200ms"} {
		c := settings(t, "-scenario blip "+args)
		s := strategy{policy: jittered(c.retries, backoff.ProportionalJitter)}
		_, recovered := simulateBlip(s, c, blipProcesses, c.loads.values[0]).recovered()
		require.True(t, recovered, args)
	}
}

func TestRecovery(t *testing.T) {
	h := &history{}
	for second := range 340 {
		for range 10 {
			h.begun.add(second, 1)
			if second < 30 || second >= 47 {
				h.good.add(second, 1)
			}
		}
	}
	after, ok := h.recovery(40*time.Second, 340*time.Second, 5)
	require.True(t, ok)
	require.Equal(t, 7, after)
	h.good[339] = 0
	_, ok = h.recovery(40*time.Second, 340*time.Second, 5)
	require.False(t, ok)
}

// A fleet whose buckets size themselves recovers at most 12 s after one without retries, or, if that is
// longer, as late as spending its floors takes (plus two seconds). With a Capacity of 200 only the small
// fleets come back.
func TestFleet(t *testing.T) {
	manyOperations(t)
	all := runFleet(settings(t, "-scenario fleet -processes 3,30,200,700 -capacity 0,200 -load 0.8"))
	alone, _ := all.without[0].recovered()
	for _, f := range all.rows {
		after, ok := f.recovered()
		if f.capacity == 0 {
			require.True(t, ok)
			require.LessOrEqual(t, float64(after-alone), max(12, 2+float64(f.processes)*5/300/0.2), "%d processes", f.processes)
		} else {
			require.Equal(t, f.processes < 300, ok, "%d processes", f.processes)
		}
	}
	var csv strings.Builder
	all.csv(&csv)
	require.Regexp(t, `^processes,capacity,load,recovered,goodput\n3,0,0\.8,\d+,1\.000\n`, csv.String())
	require.Regexp(t, `\n700,200,0\.8,,0\.\d{3}\n$`, csv.String())
	checkSVG(t, all.draw(), "sizes itself", "Capacity 200", "not in 300 s")
}

// Each process that starts anew brings a full bucket. 500 tokens delay the recovery; a bucket that sizes
// itself does not.
func TestRestart(t *testing.T) {
	manyOperations(t)
	c := settings(t, "-scenario fleet -processes 10 -load 0.8 -restart 1m")
	rows := runFleet(c).rows
	fixed, _ := rows[0].recovered()
	sizes, _ := rows[1].recovered()
	require.Greater(t, fixed, 60)
	require.Less(t, sizes, 50)
}

// While nothing succeeds, retries that wait for their turn send five requests, which the floor pays for,
// and then one a minute.
func TestBudgetTurns(t *testing.T) {
	s := strategy{policy: exponential(backoff.WithMaxElapsedTime(0)), process: budget(0, 0, backoff.WithBudgetWait)}
	c := newCrowd(s, 1, 1)
	c.serve = func(*operation) (time.Duration, error) {
		if c.clock.now < 10*time.Minute {
			return time.Second, errDown
		}
		return time.Second, nil
	}
	for range 100 {
		c.begin(0, nil)
	}
	c.runUntil(9 * time.Minute)
	require.InDelta(t, 100+5+8, c.requests.total(), 2)
}
