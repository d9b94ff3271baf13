package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Both limiters let all calls of a quiet day be made. The first refuses some of a burst that would not fit into its
// line, the second nearly all attempts once they fail.
func TestLimiters(t *testing.T) {
	manyCalls(t)
	const roomy = " -rules -only fail -rate 2000 -servers 200 -processes 1"
	day := outcomes(t, "-trouble none -load 0.02"+roomy)
	require.Zero(t, day[adaptive].lost())
	require.Zero(t, day[throttling].lost())

	burst := outcomes(t, "-shape burst -size 500 -trouble none"+roomy)
	require.InDelta(t, 9, burst[adaptive].lostShare(), 3)
	require.Zero(t, burst[throttling].lost())

	down := outcomes(t, "-trouble refuse:100% -load 0.02"+roomy)
	require.InDelta(t, 4, down[adaptive].each(), 0.8)
	require.Less(t, down[throttling].each(), 1.2)
}
