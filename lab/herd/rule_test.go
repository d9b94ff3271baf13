package main

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Slots are counted by the calls of the process, or by a share of what the service can do within a timeout.
func TestSlotCounts(t *testing.T) {
	for args, want := range map[string][2]int{ // by number, half of the capacity
		"":                            {5, 6},
		"-load 0.9":                   {8, 6},
		"-rate 100 -timeout 4s":       {36, 40},
		"-grow 4":                     {5, 6},
		"-processes 100":              {1, 1},
		"-processes 3 -timeout 500ms": {5, 5}, // 4.5 and 5
		"-skew 10":                    {1, 6}, // of the idlest
		"-skew 10 -move 1s":           {13, 6},
	} {
		p := settingsOf(t, args).program(trouble{})
		require.Equal(t, want, [2]int{numbered(p, 0).Limit(), halfCapacity(p, 0).Limit()}, args)
	}
}

// In trouble slots that size themselves lose at most so many seconds of traffic, whatever the programs are like, and
// never more than no retries do. On a healthy day they lose none.
func TestSlots(t *testing.T) {
	manyCalls(t)
	bars := map[string]float64{
		"none, 0.6": 0.1,
		"10s, 0.3":  13,
		"10s, 0.6":  15,
		"10s, 0.8":  18,
		"10s, 0.9":  23,
		"60s, 0.8":  78,
		"half, 0.8": 48,
	}
	for _, args := range []string{
		"",
		"-answer 350ms",
		"-skew 10",
		"-deadline 1s",
		"-timeout 3s -deadline 15s",
		"-from 4m",
	} {
		c := settingsOf(t, "-trouble none@0.6,10s@0.3,10s@0.6,10s@0.8,10s@0.9,60s@0.8,half@0.8 "+args)
		c.ways = []string{noRetries, slots}
		for _, pair := range c.run() {
			without, with := pair[0].mean(pair[0].lostSeconds), pair[1].mean(pair[1].lostSeconds)
			require.Less(t, with, bars[pair[1].name], "%s: %s", args, pair[1].name)
			require.LessOrEqual(t, with, without+0.1, "%s: %s", args, pair[1].name)
		}
	}
}

// Slots do not help a service that refuses: they lose what no retries do, or less than a point more.
func TestRefused(t *testing.T) {
	manyCalls(t)
	c := settingsOf(t, "-trouble refuse:30s@0.3,refuse:30s@0.8")
	c.ways = []string{noRetries, slots, slotsBudget}
	for _, all := range c.run() {
		for _, one := range all[1:] {
			require.Less(t, one.mean(lostShare), all[0].mean(lostShare)+1, "%s: %s", one.way, one.name)
		}
	}
}

// Where nobody knows the number, slots protect a service all the same.
func TestUnknownNumber(t *testing.T) {
	manyCalls(t)
	for args, want := range map[string][3]float64{ // by number at least, slots, with a budget at most
		"-trouble 10s -grow 4":           {80, 11, 8},
		"-trouble 10s -skew 10 -move 5s": {25, 7, 7},
	} {
		all := simulated(t, args+" -only slots")
		require.Greater(t, all[byNumber].share(), want[0], args)
		require.Less(t, all[slots].share(), want[1], args)
		require.Less(t, all[slotsBudget].share(), want[2], args)
	}
}

// On a healthy day slots lose no call, and let none wait.
func TestHealthyDay(t *testing.T) {
	const roomy = " -rate 2000 -servers 200 -processes 1 "
	rows := []string{
		"-trouble fail:50%@0.3",
		"-trouble refuse:50%@0.3",
		"-trouble none -answer 100ms -load 0.02" + roomy,
		"-trouble none -answer 550ms -load 0.02" + roomy,
	}
	for _, pause := range []string{"20s", "1m", "10m", "1h"} {
		for _, size := range []string{"20", "100", "500"} {
			rows = append(rows, "-shape burst -trouble none,refuse:1%,refuse:5% -from "+pause+" -size "+size+roomy)
		}
	}

	for _, args := range rows {
		c := settingsOf(t, args+" -after 1m")
		c.ways = []string{three, slots}
		for _, pair := range c.run() {
			without, with := pair[0].histories[0], pair[1].histories[0]
			require.InDelta(t, without.share(), with.share(), 0.5, args)
			require.InDelta(t, without.half(), with.half(), 0.01, args)
			require.InDelta(t, without.longest(), with.longest(), 0.1, args)
		}
	}
}

// A fleet that is restarted while a service hangs, and knows nothing of it, is back soon. Where an answer takes most of
// the timeout, that takes some minutes.
func TestNoTrap(t *testing.T) {
	manyCalls(t)
	for answer, back := range map[string]time.Duration{"300ms": time.Minute, "600ms": 2 * time.Minute, "850ms": 5 * time.Minute} {
		c := settingsOf(t, "-restart -after 10m -rate 6000 -load 0.01 -answer "+answer)
		p := c.program(outage(t, "5s"))
		var made []*backoff.Slots
		seen := func(plan, int) *backoff.Slots {
			made = append(made, new(backoff.Slots))
			return made[len(made)-1]
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(way{attempts: 4, slots: seen}, p)
			time.AfterFunc(p.back()+back, func() {
				for _, one := range made {
					require.Equal(t, math.MaxInt, one.Limit(), answer)
				}
			})
			w.run()
			require.Len(t, made, 2*p.processes)
			require.Less(t, w.share(), 3.0, answer)
		})
	}
}
