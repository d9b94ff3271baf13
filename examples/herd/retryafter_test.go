package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterWaits(t *testing.T) {
	results := map[string]*retryAfter{}
	for _, r := range runRetryAfter(1, newProgress("", nil)) {
		results[r.label] = r
		require.Equal(t, overloadClients, r.requests[0], r.label)
		require.Zero(t, r.requests.sum(1, int(serverWait/tick)), "%s: before the server's wait is over", r.label)
	}
	for label, r := range results {
		if label == "no retries" {
			require.Equal(t, overloadClients, total(r.requests))
			require.Equal(t, r.requests[0]/100, total(r.accepted))
			continue
		}
		require.Equal(t, overloadClients, total(r.accepted), label)
	}
	exact := results["to the nanosecond"]
	require.Equal(t, overloadClients-total(results["no retries"].accepted), exact.peak(10))
}
