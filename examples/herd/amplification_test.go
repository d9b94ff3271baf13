package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// unlimitedRequests returns the expected requests for each operation without a budget.
func unlimitedRequests(rate float64) float64 { return 1 + rate + rate*rate + rate*rate*rate }

func TestAmplificationClosedForms(t *testing.T) {
	rates := []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}
	for _, r := range runAmplification(rates, 500, 1, newProgress("", nil)) {
		want := 1.0
		if r.name != noRetries {
			want = unlimitedRequests(r.rate)
		}
		if r.budget != nil {
			// In the long run, the failing retries cost what the first attempts' successes earn.
			cost := float64(backoff.DefaultRetryCost)
			if r.name == threeCost14 {
				cost = 14
			}
			allowed := (1 - r.rate) * backoff.DefaultSuccessRefund / cost
			want = min(want, 1+allowed/max(r.rate, 0.01))
		}
		require.InEpsilon(t, want, r.requests, 0.01, "%s at %g", r.name, r.rate)
		switch {
		case r.name == noRetries:
			require.InDelta(t, r.rate, r.failed, 0.005)
		case r.budget == nil:
			require.InDelta(t, math.Pow(r.rate, 4), r.failed, 0.005)
		default: // each request succeeds at 1 - rate, and the last one of an operation decides
			require.InDelta(t, 1-r.requests*(1-r.rate), r.failed, 0.01, "%s at %g", r.name, r.rate)
		}
	}
}

// A cost of 14 binds where a cost of 5 does not; a bucket for two retries runs dry by chance.
func TestAmplificationFailed(t *testing.T) {
	failed := func(capacity int) map[string]float64 {
		shares := map[string]float64{}
		for _, r := range runAmplification([]float64{0.3}, capacity, 1, newProgress("", nil)) {
			shares[r.name] = r.failed
		}
		return shares
	}
	full := failed(500)
	require.InDelta(t, 0.008, full[threeBudget], 0.002)
	require.InDelta(t, 0.18, full[threeCost14], 0.01)
	require.Greater(t, failed(10)[threeBudget], 10*full[threeBudget])
}
