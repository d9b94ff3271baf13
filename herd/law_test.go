package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var lawRefunds = []int{1, 2, 5}

// law returns WithBudgetWait with each of the refunds, at each load.
func law(duration time.Duration, p plan, loads ...float64) []trial {
	var strategies []strategy
	for _, refund := range lawRefunds {
		strategies = append(strategies, waiting(fmt.Sprint(refund), 0, refund))
	}
	var plans []plan
	for _, load := range loads {
		p.load, p.refusal, p.from, p.window = load, 0.1, troubleAt, 5
		p.duration, p.after = duration, max(blipAfter, 8*duration)
		plans = append(plans, p)
	}
	return (config{seeds: 1}).try(strategies, plans...)
}

// WithBudgetWait recovers and loses nothing while load × (1 + SuccessRefund / RetryCost) is below 1, by a tenth
// here, since arrivals and work vary. Far above 1 it does not recover.
func TestLaw(t *testing.T) {
	manyOperations(t)
	for i, o := range law(10*time.Second, plan{seed: 1, rate: 60, processes: 10, queue: fifo}, 0.4, 0.6, 0.7) {
		refund := lawRefunds[i%len(lawRefunds)]
		name := fmt.Sprintf("load %g, SuccessRefund %d", o.load, refund)
		switch share := o.load * (1 + float64(refund)/backoff.DefaultRetryCost); {
		case share < 0.9:
			require.False(t, math.IsInf(o.outcomes[0].recovered(), 1), name)
			require.Zero(t, o.outcomes[0].lost, name)
		case share > 1.3:
			require.True(t, math.IsInf(o.outcomes[0].recovered(), 1), name)
		}
	}
}

// A backlog takes about RetryCost / SuccessRefund times its outage, whatever the load.
func TestLawBacklog(t *testing.T) {
	manyOperations(t)
	for i, o := range law(5*time.Minute, plan{seed: 1, rate: 20, processes: 2, queue: noQueue}, 0.3, 0.4, 0.45) {
		refund := lawRefunds[i%len(lawRefunds)]
		name := fmt.Sprintf("load %g, SuccessRefund %d", o.load, refund)
		require.Zero(t, o.outcomes[0].lost, name)
		backlog := o.outcomes[0].slowest.Seconds()/o.duration.Seconds() - 1
		require.InEpsilon(t, backoff.DefaultRetryCost/float64(refund), backlog, 0.35, name)
	}
}
