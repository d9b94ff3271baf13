package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestAmplificationClosedForms(t *testing.T) {
	rates := []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}
	for _, r := range runAmplification(rates, 1, newProgress("", nil)) {
		want := 1.0
		if r.label != "no retries" {
			want = unlimitedRequests(r.rate)
		}
		if r.budgeted {
			// In the long run, the failing retries cost what the first attempts' successes earn.
			allowed := (1 - r.rate) * backoff.DefaultSuccessRefund / backoff.DefaultRetryCost
			want = min(want, 1+allowed/max(r.rate, 0.01))
		}
		require.InEpsilon(t, want, r.requests, 0.01, "%s at %g", r.label, r.rate)
	}
}
