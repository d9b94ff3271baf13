package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Work goes on at the capacity that a service has left, and stands still while it is down.
func TestCapacity(t *testing.T) {
	for _, row := range []struct {
		trouble           string
		begin, work, done time.Duration
	}{
		{"none", 29 * time.Second, 3 * time.Second, 32 * time.Second},
		{"10s", 20 * time.Second, 9 * time.Second, 29 * time.Second},
		{"10s", 29 * time.Second, 3 * time.Second, 42 * time.Second},
		{"10s", 35 * time.Second, time.Second, 41 * time.Second},
		{"10s", 40 * time.Second, time.Second, 41 * time.Second},
		{"half", 30 * time.Second, 3 * time.Second, 36 * time.Second},
		{"half", 28 * time.Second, 3 * time.Second, 32 * time.Second},
		{"half", 80 * time.Second, 7 * time.Second, 92 * time.Second},
		{"flapping", 29 * time.Second, 3 * time.Second, 37 * time.Second},
		{"flapping", 36 * time.Second, 6 * time.Second, 47 * time.Second},
		{"flapping", 89 * time.Second, 3 * time.Second, 92 * time.Second},
		{"hang:20%", 35 * time.Second, 3 * time.Second, 38 * time.Second},
		{"fail:20%", 35 * time.Second, 3 * time.Second, 38 * time.Second},
	} {
		trouble, err := parseTrouble(row.trouble)
		require.NoError(t, err)
		p := plan{trouble: trouble, from: troubleAt}
		require.Equal(t, row.done, p.done(row.begin, row.work), "%s: %v from %v on", row.trouble, row.work, row.begin)
	}
}

func TestTroubleNames(t *testing.T) {
	for flag, want := range map[string]string{
		"none": "no trouble", "90s": "down for 90 s", "10m": "down for 10 min", "half@0.7": "half of the capacity for 60 s",
		"flapping": "5 s down, 5 s up, for 60 s", "fail:2.5%": "2.5 % of attempts fail",
		"hang:40%@0.9": "40 % of calls hang forever",
	} {
		trouble, err := parseTrouble(flag)
		require.NoError(t, err)
		require.Equal(t, want, trouble.described())
	}
}
