package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// published is what "Exponential Backoff And Jitter" has: the milliseconds and the writes of each number of clients, on
// average over 300 runs of its simulator.
var published = map[string]map[int][2]float64{
	"no wait":             {10: {376, 50}, 20: {602, 152}, 100: {2029, 2421}},
	"no jitter":           {10: {3501, 51}, 20: {14374, 149}, 100: {63602, 1858}},
	"equal jitter":        {10: {721, 42}, 20: {1610, 107}, 100: {6633, 812}},
	"full jitter":         {10: {456, 38}, 20: {985, 100}, 100: {4938, 796}},
	"decorrelated jitter": {10: {437, 37}, 20: {817, 100}, 100: {4546, 1003}},
}

// Clients that compete for a row take as long, and write as often, as published.
func TestContention(t *testing.T) {
	manyCalls(t)
	compared := 0
	for _, one := range contenders {
		for clients, want := range published[one.name] {
			took, writes := one.mean(clients, 100)
			require.InEpsilon(t, want[0]/1000, took, 0.1, "%s, %d clients", one.name, clients)
			require.InEpsilon(t, want[1], writes, 0.1, "%s, %d clients", one.name, clients)
			compared++
		}
	}
	require.Equal(t, 15, compared)
}
