package main

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fewStrategies returns one strategy of each kind.
func fewStrategies() []strategy {
	return slices.DeleteFunc(blipStrategies(), func(s strategy) bool {
		return !slices.Contains([]string{noRetries, zeroBackOff, fullJitter, fullBudget}, s.name)
	})
}

func TestBlipVerdicts(t *testing.T) {
	back, closing := int(blipEnd/time.Second), int(blipClose/time.Second)
	loads := []float64{0.9}
	results := runBlip(fewStrategies(), loads, 2, newProgress("", nil))
	for _, b := range results {
		require.Greater(t, b.goodput(5, 30), 0.95, "%s before", b.name)
		require.Zero(t, b.good.sum(back-9, back), "%s during", b.name)
		_, recovered := b.recovery()
		if b.name == fullBudget || b.name == noRetries {
			require.True(t, recovered, b.name)
			require.Greater(t, b.goodput(closing-60, closing), 0.99, b.name)
		} else {
			require.False(t, recovered, b.name)
			require.Less(t, b.goodput(closing-60, closing), 0.01, b.name)
			require.InEpsilon(t, 4*0.9*serviceRate*60, b.requests.sum(closing-60, closing), 0.05, b.name)
		}
	}

	var table bytes.Buffer
	writeBlip(&table, results, loads)
	require.Regexp(t, `(?m)^no retries +\d+ s +100 %$`, table.String())
	require.Regexp(t, `(?m)^FullJitter +never +0 %$`, table.String())
	picture := drawBlip(results, 0.9)
	checkSVG(t, picture)
	for _, word := range []string{fullBudget, "90 %", "down", "never recovers"} {
		require.Contains(t, picture, word)
	}
}

// Four requests for each operation are no more than the capacity if the load is below a quarter of it.
func TestBlipLowLoad(t *testing.T) {
	for _, b := range runBlip(fewStrategies(), []float64{0.2}, 1, newProgress("", nil)) {
		_, recovered := b.recovery()
		require.True(t, recovered, b.name)
	}
}

func TestBlipRecovery(t *testing.T) {
	b := &blip{}
	back, closing := int(blipEnd/time.Second), int(blipClose/time.Second)
	for second := range closing {
		b.begun.addTo(second, 10)
		if second < back-10 || second >= back+7 {
			b.good.addTo(second, 10)
		}
	}
	after, ok := b.recovery()
	require.True(t, ok)
	require.Equal(t, 7, after)
	b.good[closing-1] = 0
	_, ok = b.recovery()
	require.False(t, ok)
}

func (c *counts) addTo(i, n int) {
	for range n {
		c.add(i)
	}
}
