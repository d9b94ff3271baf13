package main

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// outages returns the results of 2500 clients. Those without waits make too many requests for a test.
var outages = sync.OnceValue(func() map[string]*outage {
	results := map[string]*outage{}
	for _, s := range outageStrategies() {
		if s.name != zeroBackOff {
			c, o := newOutage(2500, s, 1)
			c.run()
			results[o.label()] = o
		}
	}
	return results
})

func total(c counts) int { return c.sum(0, len(c)) }

func TestOutageTotals(t *testing.T) {
	check := func(o *outage) {
		require.Equal(t, o.operations, o.succeeded+o.lost, o.label())
		require.Equal(t, o.succeeded, total(o.requests)-total(o.failed), o.label())
		require.GreaterOrEqual(t, total(o.requests), o.operations, o.label())
		require.Equal(t, o.requests.sum(downSecond, backSecond), o.failed.sum(downSecond, backSecond), o.label())
		if o.name == noRetries {
			require.Equal(t, o.operations, total(o.requests))
		}
	}
	for _, results := range runOutage([]int{1, 7, 100}, 1, newProgress("", nil)) {
		require.Len(t, results, len(outageStrategies()))
		for _, o := range results {
			check(o)
			require.Equal(t, results[0].operations, o.operations, "the load is the same for all")
		}
	}
	for _, o := range outages() {
		check(o)
	}
}

func TestOutageStrategies(t *testing.T) {
	const load = 25.0
	results := outages()
	for label, o := range results {
		require.InDelta(t, load, float64(o.requests.sum(0, downSecond))/float64(downSecond), load/10, label)
		require.LessOrEqual(t, o.failed.sum(0, downSecond), o.operations/1000, label)
		after, ok := o.recovery()
		require.True(t, ok)
		require.Less(t, after, 120, label)
		require.InDelta(t, load, float64(o.requests.sum(backSecond+150, backSecond+210))/60, load/10, label)
	}
	none, patient, full := results[noRetries], results[proportional], results[fullJitter]
	require.Greater(t, none.lost, 2*patient.lost)
	require.Zero(t, results[proportional+", 15 min"].lost, "15 minutes are enough")
	require.Greater(t, patient.mean(), 5*load)
	require.Greater(t, full.mean(), 1.1*patient.mean(), "full jitter waits half as long")

	// Clients that failed together come back together, also long after.
	late := func(o *outage) (most int) {
		for second := downSecond + 30; second < backSecond; second++ {
			most = max(most, o.requests[second])
		}
		return most
	}
	require.Greater(t, float64(late(results[noJitter])), 1.5*float64(late(patient)))
}

// Clients that do not wait, but give up after two minutes like all others, hold the service down: at
// the end each of those begun in two minutes makes ten requests a second.
func TestOutageZeroBackOff(t *testing.T) {
	c, o := newOutage(200, outageStrategies()[1], 1)
	require.Equal(t, zeroBackOff, o.name)
	c.run()
	require.Greater(t, o.mean(), 300*o.load())
	require.InEpsilon(t, 1200*o.load(), float64(o.requests.sum(backSecond+150, backSecond+210))/60, 0.1)
	require.InDelta(t, 90, o.lostShare(), 5)
	require.Equal(t, "never", verdict(o.recovery()))
}

// A process of 100 clients begins with tokens for 100 retries, and earns none during the outage. So
// its requests are at most one for each operation, and 100 more.
func TestOutageBudget(t *testing.T) {
	const load = 25.0
	results := outages()
	o := results[fullBudget]
	require.LessOrEqual(t, o.mean(), 3*load)
	require.Less(t, float64(o.requests.sum(downSecond+30, backSecond))/30, 1.2*load, "the tokens are spent")
	after, ok := o.recovery()
	require.True(t, ok)
	require.LessOrEqual(t, after, 1)
	require.InEpsilon(t, results[noRetries].lost, o.lost, 0.01, "nothing is saved")
	require.Greater(t, results[fullJitter].mean(), 3*o.mean())
}
