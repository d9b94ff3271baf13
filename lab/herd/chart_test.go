package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A chart is XML with a panel for each way, and says what comes of it.
func TestChart(t *testing.T) {
	manyCalls(t)
	for args, words := range map[string][]string{
		"-after 20s -trouble 10s":  {noRetries, three, threeBudget, ownBudget, "% are lost; ", "down for 10 s"},
		"-after 90s -trouble half": {"half of the capacity for 60 s", "are lost; recovers "},
	} {
		file := filepath.Join(t.TempDir(), "chart.svg")
		output(t, args, "-svg", file)
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, word := range words {
			require.Contains(t, string(picture), word)
		}
		require.NotContains(t, string(picture), "NaN")
		require.NotContains(t, string(picture), "Inf")
		require.Equal(t, len(charted), curves(t, string(picture)))
	}
}

// curves returns the number of curves in a picture.
func curves(t *testing.T, picture string) (n int) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		element, ok := token.(xml.StartElement)
		if ok && element.Name.Local == "polyline" {
			n++
		}
	}
}
