package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// unlimitedRequests returns the expected requests for each operation without a budget.
func unlimitedRequests(rate float64) float64 { return 1 + rate + rate*rate + rate*rate*rate }

// The closed forms hold at 100 operations a second. At ten, a process in which 70 % fail has some five successes
// in three seconds at times, and a bucket that is down to its floor forgets what was spent beyond it.
func TestAmplificationClosedForms(t *testing.T) {
	for _, r := range runAmplification(settings(t, "-scenario amplification -per-second 100 -rates 0,0.1,0.3,0.5,0.7,0.9,1")).rows {
		want := 1.0
		if r.name != noRetries {
			want = unlimitedRequests(r.rate)
		}
		if r.process != nil {
			// In the long run, the failing retries cost what the first attempts' successes earn.
			cost := float64(backoff.DefaultRetryCost)
			if r.name == cost14 {
				cost = 14
			}
			allowed := (1 - r.rate) * backoff.DefaultSuccessRefund / cost
			want = min(want, 1+allowed/max(r.rate, 0.01))
		}
		require.InEpsilon(t, want, r.requests, 0.006, "%s at %g", r.name, r.rate)
		switch {
		case r.name == noRetries:
			require.InDelta(t, r.rate, r.failed, 0.005)
		case r.name == noBudget:
			require.InDelta(t, math.Pow(r.rate, 4), r.failed, 0.005)
		default: // each request succeeds at 1 - rate, and the last one of an operation decides
			require.InDelta(t, 1-r.requests*(1-r.rate), r.failed, 0.01, "%s at %g", r.name, r.rate)
		}
	}
}

// A bucket that sizes itself binds like one of 500 tokens at ten operations a second, and loses little
// where a cost of 14 binds.
func TestAmplificationBudget(t *testing.T) {
	for _, r := range runAmplification(settings(t, "-scenario amplification -rates 0.3,0.5")).rows {
		switch {
		case r.name == withBudget && r.rate == 0.3:
			require.InDelta(t, 0.009, r.failed, 0.002)
		case r.name == withBudget:
			require.InDelta(t, 1.20, r.requests, 0.01)
		case r.name == cost14 && r.rate == 0.3:
			require.InDelta(t, 0.18, r.failed, 0.01)
		}
	}
}
