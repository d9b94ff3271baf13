package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterWaits(t *testing.T) {
	const clients = 5000
	results := map[string]*retryAfter{}
	all := runRetryAfter(settings(t, "-scenario retry-after -clients 5000"))
	var table bytes.Buffer
	all.table(&table)
	require.Regexp(t, `(?m)^ZeroBackOff +4900 +\d+ +\d+ +5000 +\d+ s$`, table.String())
	for _, r := range all {
		results[r.name] = r
		require.Equal(t, clients, r.requests[0], r.label())
		require.Zero(t, r.requests.sum(1, int(serverWait/tick)), "%s: before the server's wait is over", r.label())
	}
	for label, r := range results {
		if label == noRetries {
			require.Equal(t, clients, r.requests.total())
			require.Equal(t, 100, r.accepted.total())
			continue
		}
		require.Equal(t, clients, r.accepted.total(), label)
	}
	exact := results[zeroBackOff]
	require.Equal(t, clients-results[noRetries].accepted.total(), exact.peak(10))
	for _, name := range []string{proportional, fullJitter} {
		// They are spread over one interval: half a second at first.
		require.Less(t, results[name].peak(1), exact.peak(1)*2/3)
		require.Equal(t, exact.peak(10), results[name].peak(10))
		require.Less(t, results[name+" from 10 s"].peak(10), exact.peak(10)/8)
	}
}

// A capacity of 100 requests per second is what answers and a tenth of the refusals add up to.
func TestLimiter(t *testing.T) {
	l := newLimiter(100)
	now := time.Duration(0)
	answers := func(rate int) (n int) {
		for range rate {
			now += time.Second / time.Duration(rate)
			if l.accepts(now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 100, answers(100))
	answers(600) // the spare capacity is used up
	require.InDelta(t, 44, answers(600), 2)
	answers(1000)
	require.InDelta(t, 0, answers(1000), 2)
	now += time.Second
	require.Equal(t, 50, answers(50))
}
