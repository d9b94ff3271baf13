package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// published holds the names that jitters have in the published figures.
var published = strings.NewReplacer(zeroBackOff, "None", "NoJitter", "Exponential", "DecorrelatedJitter", "Decorr")

// The published program's own figures scatter by 7 % in time and 2 % in calls at 100 runs; these are
// the means of fewer.
func TestContentionPublished(t *testing.T) {
	const calls, duration = 0.05, 0.15
	ours := map[string]contention{}
	for _, clients := range []string{"10", "20", "100"} {
		for _, r := range runContention(settings(t, "-scenario contention -runs 25 -clients "+clients)).rows {
			ours[clients+published.Replace(r.name)] = r
		}
	}
	f, err := os.Open("testdata/aws-jitter-simulation.csv")
	require.NoError(t, err)
	defer f.Close()
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ",")
		if strings.HasPrefix(lines.Text(), "#") || fields[0] == "clients" {
			continue
		}
		wantTime, err := strconv.ParseFloat(fields[1], 64)
		require.NoError(t, err)
		wantCalls, err := strconv.ParseFloat(fields[2], 64)
		require.NoError(t, err)
		got, ok := ours[fields[0]+fields[3]]
		require.True(t, ok, lines.Text())
		require.InEpsilon(t, wantTime, got.time, duration, "time of %s", lines.Text())
		require.InEpsilon(t, wantCalls, got.calls, calls, "calls of %s", lines.Text())
		rows++
	}
	require.Equal(t, 15, rows)
}

// Each jitter of the library has its rows.
func TestContentionJitters(t *testing.T) {
	table := output(t, "-scenario contention -clients 2 -runs 1")
	for j := backoff.ProportionalJitter; !strings.HasPrefix(j.String(), "Jitter("); j++ {
		require.Contains(t, table, "\n"+j.String(), "add %v to jitterWays, at the end", j)
	}
}

// A client on its own reads and writes once, in four messages. All of many clients update the row.
func TestContentionUpdates(t *testing.T) {
	for _, s := range jitterWays() {
		done, calls, updates := contend(1, s.policy, 1, 2)
		require.Equal(t, 1, calls, s.name)
		require.Equal(t, 1, updates, s.name)
		require.InDelta(t, 4*hopMean, done, float64(4*4*hopSpread), s.name)

		_, calls, updates = contend(30, s.policy, 1, 2)
		require.Greater(t, calls, 30, s.name)
		require.Equal(t, 30, updates, s.name)
	}
}
