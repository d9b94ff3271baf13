package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The fastest round counts, and what was not measured is a dash.
func TestTable(t *testing.T) {
	input := `goos: plan9
goarch: arm
cpu: Some Processor
BenchmarkPeers/task=per-call/peer=backoff-8         100  90.4 ns/op  112 B/op  3 allocs/op
BenchmarkPeers/task=per-call/peer=backoff-8         100  80.4 ns/op  112 B/op  3 allocs/op
BenchmarkPeers/task=timed-call/peer=backoff-8       100  501.4 ns/op  464 B/op  6 allocs/op
BenchmarkPeers/task=ready/peer=backoff-8            100  5.04 ns/op    0 B/op  0 allocs/op
BenchmarkPeers/task=waiting-call/peer=backoff-8       1  2750.6 B/call
PASS
`
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(input), &out))
	require.Contains(t, out.String(), "Some Processor, 8 cores, go")
	require.Contains(t, out.String(), " plan9/arm, ")
	require.Contains(t, out.String(), "the fastest of 2 rounds\n")
	require.Contains(t, out.String(), "\n| **`Retry`** | 80 (3) | 501 (6) | 5.0 | – | 2751 |\n")
	require.Contains(t, out.String(), "\n| cenkalti v5 | – | – | – | – | – |\n")
}

func TestNoBenchmarks(t *testing.T) {
	require.Error(t, run(strings.NewReader("FAIL\n"), new(strings.Builder)))
}
