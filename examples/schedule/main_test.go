package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestDraw(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"-jitter nojitter", `
retry   shortest    longest      drawn      total
    1      500ms      500ms      500ms      500ms                   o
    2      750ms      750ms      750ms      1.25s                            o
    3     1.125s     1.125s     1.125s     2.375s                                         o

              retries      total
as drawn            3     2.375s
all shortest        3     2.375s
all longest         3     2.375s
`},
		{"-interval 1m -limit 40s -jitter EqualJitter", `
retry   shortest    longest      drawn      total

              retries      total
as drawn            0         0s
all shortest        1        30s
all longest         0         0s
`},
	}
	for _, test := range tests {
		var out bytes.Buffer
		err := run(strings.Fields(test.args), &out)
		require.NoError(t, err)
		require.Equal(t, test.want[1:], out.String())
	}
}

// Many draws of a wait fill its range, and none is outside it.
func TestRange(t *testing.T) {
	for _, j := range jitters {
		tenths := make(map[time.Duration]bool) // of the first wait's range
		for seed := range uint64(1000) {
			policy := backoff.NewExponentialBackOff(backoff.WithJitter(j))
			waits := simulate(policy, rand.NewPCG(seed, 0), 4)
			require.Len(t, waits, 4)
			for _, w := range waits {
				require.LessOrEqual(t, w.shortest, w.drawn, "%v", j)
				require.LessOrEqual(t, w.drawn, w.longest, "%v", j)
			}

			width := waits[0].longest - waits[0].shortest
			above := waits[0].drawn - waits[0].shortest
			tenths[10*above/(width+1)] = true
		}
		if j == backoff.NoJitter {
			require.Len(t, tenths, 1)
		} else {
			require.Len(t, tenths, 10, "%v", j)
		}
	}
}

func TestSetJitter(t *testing.T) {
	var j backoff.Jitter
	require.NoError(t, setJitter(&j, "fulljitter"))
	require.Equal(t, backoff.FullJitter, j)
	require.EqualError(t, setJitter(&j, "full"), "want one of [ProportionalJitter NoJitter FullJitter EqualJitter "+
		"DecorrelatedJitter AdditiveJitter]")
}
