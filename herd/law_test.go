package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// WithBudgetWait recovers and loses nothing while load × (1 + SuccessRefund / RetryCost) is below 1, by a tenth
// here, since arrivals and work vary. Far above 1 it does not recover.
func TestLaw(t *testing.T) {
	manyOperations(t)
	for i, o := range runLaw(settings(t, "-scenario law -load 0.4,0.6,0.7 -rate 60 -duration 10s")) {
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
	for i, o := range runLaw(settings(t, "-scenario law -load 0.3,0.4,0.45 -rate 20 -processes 2 -queue none -duration 5m")) {
		refund := lawRefunds[i%len(lawRefunds)]
		name := fmt.Sprintf("load %g, SuccessRefund %d", o.load, refund)
		require.Zero(t, o.outcomes[0].lost, name)
		require.InEpsilon(t, backoff.DefaultRetryCost/float64(refund), o.outcomes[0].backlog(), 0.35, name)
	}
}
