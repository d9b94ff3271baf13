package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFleetOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	lines := strings.Split(output(t, "-scenario fleet -processes 1 -capacity 50 -csv -svg "+file), "\n")
	require.Len(t, lines, 1+3+1)
	require.Equal(t, "processes,capacity,load,recovered,goodput", lines[0])
	picture, err := os.ReadFile(file)
	require.NoError(t, err)
	checkSVG(t, string(picture))
	require.Equal(t, 3, strings.Count(string(picture), "<circle"))
	require.Contains(t, string(picture), "90 % load")
}

func TestFleetLaw(t *testing.T) {
	all := runFleet([]int{300}, []int{500, 50}, 1, newProgress("", nil))
	require.Len(t, all.without, 3)
	require.Len(t, all.rows, 2)
	for _, fleets := range all.rows {
		for i, f := range fleets {
			law := all.without[i].law(f.held())
			require.InDelta(t, float64(f.processes*f.capacity)/5/300, f.held(), 1e-9)
			after, ok := f.recovery()
			require.Equal(t, law < 300, ok, "%d × %d at %g", f.processes, f.capacity, f.load)
			if ok {
				require.InEpsilon(t, law, after, 0.15, "%d × %d at %g", f.processes, f.capacity, f.load)
				require.Greater(t, f.last(), 0.99)
			} else {
				require.Less(t, f.last(), 0.01)
			}
		}
	}
	var table, csv bytes.Buffer
	writeFleet(&table, all)
	require.Regexp(t, `(?m)^300 +500 +100\.0 s .* > 300 s +536 s `, table.String())
	writeFleetCSV(&csv, all)
	require.Regexp(t, `^processes,capacity,load,recovered,goodput\n300,500,0\.7,,0\.000\n300,500,0\.8,`, csv.String())
	require.Regexp(t, `\n300,500,0\.9,,0\.000\n300,50,0\.7,\d\d,[01]\.\d{3}\n`, csv.String())
}

// A capacity that does not divide by the cost leaves a rest that pays for nothing.
func TestFleetHeld(t *testing.T) {
	require.InDelta(t, 300.0/300, newFleet(300, 9).held(), 1e-9)
	require.Zero(t, newFleet(300, 4).held())
}
