package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func simulate(t *testing.T, clients int) map[string]outage {
	t.Helper()
	results := map[string]outage{}
	for _, o := range runOutage(clients, 1, newProgress("", nil)) {
		results[o.label] = o
	}
	require.Len(t, results, 5)
	return results
}

func TestEachOperationEnds(t *testing.T) {
	for _, clients := range []int{1, 7, 5000} {
		results := simulate(t, clients)
		for label, o := range results {
			require.Equal(t, o.operations, o.succeeded+o.lost, label)
			require.Equal(t, results["default"].operations, o.operations, "the load is the same for all")
			requests, failed := sum(o.rate), sum(o.failed)
			require.Equal(t, o.succeeded, requests-failed, label)
			require.GreaterOrEqual(t, requests, o.operations, label)
			require.Equal(t, o.rate[downSecond:backSecond], o.failed[downSecond:backSecond], label)
		}
	}
}

func TestEachStrategyInTheOutage(t *testing.T) {
	results := simulate(t, 5000)
	load := 50.0
	for label, o := range results {
		require.InDelta(t, load, mean(o.rate[:downSecond]), load/10, label)
		require.LessOrEqual(t, sum(o.failed[:downSecond]), o.operations/1000, label)
		require.Less(t, o.recovery(), 120, label)
		require.InDelta(t, load, mean(o.rate[backSecond+150:backSecond+210]), load/10, label)
	}
	immediate, patient, full := results["immediate retries"], results["default"], results["full jitter"]
	require.Greater(t, immediate.peak(), 3*full.peak(), "ten requests within the first seconds")
	require.Greater(t, immediate.lost, 2*patient.lost, "ten tries are over long before the outage is")
	require.Greater(t, patient.mean(), 5*load)

	// Clients that failed together come back together, also long after.
	late := func(o outage) int { return maximum(o.rate[downSecond+30 : backSecond]) }
	herd := results["no jitter"]
	require.Greater(t, float64(late(herd)), 1.5*float64(late(patient)))
}

// A process of 100 clients begins with tokens for 100 retries, and earns none during the outage. So
// its requests are at most one for each operation, and 100 more.
func TestBudgetBoundsTheLoad(t *testing.T) {
	results := simulate(t, 5000)
	o, load := results["full jitter, budget"], 50.0
	require.LessOrEqual(t, o.mean(), 3*load)
	require.Less(t, mean(o.rate[downSecond+30:backSecond]), 1.2*load, "the tokens are spent")
	require.LessOrEqual(t, o.recovery(), 1)
	for label, other := range results {
		if !other.budgeted {
			require.Greater(t, other.mean(), 3*o.mean(), label)
		}
	}
}

func sum(values []int) (total int) {
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []int) float64 { return float64(sum(values)) / float64(len(values)) }

func maximum(values []int) (most int) {
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

func TestCalendar(t *testing.T) {
	c := newCalendar()
	a, b, d := c.add(operation{process: 1}), c.add(operation{process: 2}), c.add(operation{process: 3})
	c.put(a, 5)
	c.put(b, 5)
	c.put(d, days+4)
	require.Equal(t, d, c.take(4), "days go round")
	require.Equal(t, none, c.take(4))
	require.Equal(t, b, c.take(5))
	require.Equal(t, a, c.slots[b].next)
	require.Equal(t, none, c.slots[a].next)
	require.Equal(t, 3, c.size)
	c.remove(a)
	require.Equal(t, a, c.add(operation{process: 4}), "freed slots serve again")
	require.Len(t, c.slots, 3)
}

// An operation that is due more than days ahead would come early.
func TestCalendarIsLongEnough(t *testing.T) {
	require.Greater(t, days, int((patience + 2*attemptMean).Milliseconds()))
}
