package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is in flight stays below what a service can do within the timeout of an attempt: then nothing is lost,
// and no budget is needed. The smaller service has its attempts bounded, the larger one its operations.
func TestLaw(t *testing.T) {
	manyOperations(t)
	for _, timeout := range lawTimeouts {
		var pools, bounds []strategy
		for _, share := range []float64{0.25, 0.5, 0.75} {
			name := fmt.Sprintf("%g of capacity × timeout", share)
			places := share * timeout.Seconds()
			pools = append(pools, strategy{name: name, policy: forever, attempts: int(30 * places)})
			bounds = append(bounds, strategy{name: name, policy: forever, operations: int(90 * places)})
		}
		all := (config{seeds: 1}).try(pools, lawPlans(30, timeout, 5*time.Minute)...)
		all = append(all, (config{seeds: 1}).try(bounds, lawPlans(90, timeout, 5*time.Minute)...)...)
		for _, one := range all {
			require.Zero(t, one.outcomes[0].lost(), lawCell(one))
		}
	}
}

// From there on, the service does not come back.
func TestLawCollapse(t *testing.T) {
	manyOperations(t)
	for _, rate := range []float64{30, 60} {
		for _, timeout := range lawTimeouts {
			all := strategy{name: "all", policy: forever, attempts: int(rate * timeout.Seconds())}
			for _, one := range (config{seeds: 1}).try([]strategy{all}, lawPlans(rate, timeout, 90*time.Second)...) {
				require.True(t, math.IsInf(one.outcomes[0].recovered(), 1), lawCell(one))
			}
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
				seed: 1, processes: 1, rate: rate, load: load, queue: fifo, servers: 1, times: "exponential",
				trouble: trouble, from: troubleAt, after: after, window: 20, timeout: timeout,
			})
		}
	}
	return plans
}

func lawCell(t trial) string {
	return fmt.Sprintf("%s: %g/s, timeout %v, load %g, %s", t.name, t.rate, t.timeout, t.load, t.trouble.name)
}
