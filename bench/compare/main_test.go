package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff/bench"
)

func TestWrongCallsExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"}, {"-benchtime", "-1s"}, {"-waiting", "0"}, {"-only", "("}, {"argument"}, {"-nosuch"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(args, &stdout, &stderr), args)
		require.NotEmpty(t, stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestMedian(t *testing.T) {
	require.Equal(t, 2.0, median([]float64{9, 1, 2}))
	require.Equal(t, 1.5, median([]float64{2, 1}))
}

func TestBarsAreJudgedByTheMedians(t *testing.T) {
	var r results
	for _, ns := range []float64{10, 11, 900} {
		r.add(bench.Success, bench.Ours, ns, 0)
		r.add(bench.Success, bench.Cenkalti4, 40, 1)
		r.add(bench.Success, bench.Eapache, 10, 0)
		r.add(bench.Success, bench.Hand, 5, 0)
	}
	met := map[string]bool{}
	for _, b := range bars(r) {
		met[b.promise] = b.met()
	}
	require.Equal(t, map[string]bool{
		"allocations: " + bench.Success:                       true,
		"time beside cenkalti/backoff v4's: " + bench.Success: true,
		"time beside the fastest peer's: " + bench.Success:    false,
	}, met, "11 of 40 is below 0.35, and 11 above 10; what was not measured is not judged")
}
