package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Slots are counted by the calls of the process, or by a share of what the service can do within a timeout.
func TestSlotCounts(t *testing.T) {
	for args, want := range map[string][2]int{ // own rate, half of the capacity
		"":                            {5, 6},
		"-load 0.9":                   {8, 6},
		"-rate 100 -timeout 4s":       {36, 40},
		"-guess 4":                    {22, 24},
		"-grow 4":                     {5, 6},
		"-skew 10":                    {13, 6}, // of the busiest
		"-processes 20":               {1, 1},
		"-processes 100":              {1, 1},
		"-processes 3 -timeout 500ms": {5, 5}, // 4.5 and 5
	} {
		p, _ := settingsOf(t, args).program(trouble{})
		require.Equal(t, want, [2]int{ownRate(p, p.processes-1), capacityShare(0.5)(p, 0)}, args)
	}
}

// On a healthy day no call is lost, but for a few where the rule gives a single slot. In trouble no more are lost than
// without retries.
func TestOwnRate(t *testing.T) {
	manyCalls(t)
	for _, args := range []string{
		"",
		"-processes 20",
		"-answer 350ms",
		"-answer 350ms -processes 20",
		"-skew 10",
		"-rate 20 -servers 2",
		"-timeout 2s -servers 1",
	} {
		c := settingsOf(t, "-after 1m -trouble none@0.3,none@0.9,10s@0.3,10s@0.6,10s@0.9,half@0.8 "+args)
		c.exactly = variedWays
		all := runPrograms(c)
		for i := 0; i < len(all.trials); i += all.ways {
			without := all.trials[i].outcomes[0].lostShare()
			for _, one := range all.trials[i+1 : i+all.ways] {
				most := without
				if one.duration == 0 {
					most = 0
				}
				if one.duration == 0 && ownRate(one.plan, 0) == 1 {
					most = 1
				}
				require.LessOrEqual(t, one.outcomes[0].lostShare(), most, "%s: %s, %s", args, one.trouble.name, one.way.name)
			}
		}
	}
}

// If there are four times as many processes, a budget is what protects the service.
func TestGrow(t *testing.T) {
	manyCalls(t)
	all := outcomes(t, "-trouble 10s -grow 4 -only own")
	require.Greater(t, all[own].lostShare(), 80.0)
	require.Less(t, all[ownBudget].lostShare(), 15.0)
}

// Calls that the service holds off keep the slots. With a Retrier of their own, they take them from nobody.
func TestThrottled(t *testing.T) {
	manyCalls(t)
	all := outcomes(t, "-trouble none -throttled 6% -after 1m -only own")
	require.Greater(t, all[ownBudget].lostShare(), 30.0)
	require.Zero(t, all[ownApart].lost())
}
