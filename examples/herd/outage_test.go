package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func simulateOutage(t *testing.T, clients int) map[string]*outage {
	t.Helper()
	results := map[string]*outage{}
	for _, o := range runOutage(clients, 1, newProgress("", nil)) {
		results[o.label] = o
	}
	require.Len(t, results, len(outageStrategies()))
	return results
}

func total(c counts) int { return c.sum(0, len(c)) }

func TestOutageTotals(t *testing.T) {
	for _, clients := range []int{1, 7, 5000} {
		results := simulateOutage(t, clients)
		for label, o := range results {
			require.Equal(t, o.operations, o.succeeded+o.lost, label)
			require.Equal(t, results["default"].operations, o.operations, "the load is the same for all")
			require.Equal(t, o.succeeded, total(o.requests)-total(o.failed), label)
			require.GreaterOrEqual(t, total(o.requests), o.operations, label)
			require.Equal(t, o.requests.sum(downSecond, backSecond), o.failed.sum(downSecond, backSecond), label)
		}
		require.Equal(t, results["no retries"].operations, total(results["no retries"].requests))
	}
}

func TestOutageStrategies(t *testing.T) {
	const load = 50.0
	results := simulateOutage(t, 5000)
	for label, o := range results {
		require.InDelta(t, load, float64(o.requests.sum(0, downSecond))/float64(downSecond), load/10, label)
		require.LessOrEqual(t, o.failed.sum(0, downSecond), o.operations/1000, label)
		require.Less(t, o.recovery(), 120, label)
		require.InDelta(t, load, float64(o.requests.sum(backSecond+150, backSecond+210))/60, load/10, label)
	}
	none, immediate := results["no retries"], results["immediate retries"]
	patient, full := results["default, 2 min"], results["full jitter, 2 min"]
	require.Greater(t, immediate.peak(), 3*full.peak(), "ten requests within the first seconds")
	require.InEpsilon(t, none.lost, immediate.lost, 0.05, "ten tries are over long before the outage is")
	require.Greater(t, none.lost, 2*patient.lost)
	require.Zero(t, results["default"].lost, "15 minutes are enough")
	require.Greater(t, patient.mean(), 5*load)
	require.Greater(t, full.mean(), 1.1*patient.mean(), "full jitter waits half as long")

	// Clients that failed together come back together, also long after.
	late := func(o *outage) (most int) {
		for second := downSecond + 30; second < backSecond; second++ {
			most = max(most, o.requests[second])
		}
		return most
	}
	require.Greater(t, float64(late(results["no jitter, 2 min"])), 1.5*float64(late(patient)))
}

// A process of 100 clients begins with tokens for 100 retries, and earns none during the outage. So
// its requests are at most one for each operation, and 100 more.
func TestOutageBudget(t *testing.T) {
	const load = 50.0
	results := simulateOutage(t, 5000)
	o := results["full jitter, 2 min, budget"]
	require.LessOrEqual(t, o.mean(), 3*load)
	require.Less(t, float64(o.requests.sum(downSecond+30, backSecond))/30, 1.2*load, "the tokens are spent")
	require.LessOrEqual(t, o.recovery(), 1)
	require.InEpsilon(t, results["no retries"].lost, o.lost, 0.01, "nothing is saved")
	require.Greater(t, results["full jitter, 2 min"].mean(), 3*o.mean())
}
