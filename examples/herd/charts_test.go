package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChartsAreWellFormed(t *testing.T) {
	for args, words := range map[string][]string{
		"-scenario contention -runs 2 -clients 10,20":                {"calls", "clients", "decorrelated"},
		"-scenario contention -runs 2 -clients 30,2,200 -chart time": {"seconds (logarithmic)", "200"},
		"-csv -runs 2 -clients 5,5":                                  {"calls", "proportional"},
		"-scenario outage -clients 2000":                             {"full jitter, budget", "requests per second"},
		"-scenario outage -clients 1 -chart rate":                    {"0.01"},
	} {
		file := filepath.Join(t.TempDir(), "chart.svg")
		output(t, args+" -svg "+file)
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		checkSVG(t, string(picture))
		for _, word := range words {
			require.True(t, strings.Contains(string(picture), ">"+word), "%s: %s", args, word)
		}
	}
}

func checkSVG(t *testing.T, picture string) {
	t.Helper()
	require.NotContains(t, picture, "NaN")
	require.NotContains(t, picture, "Inf")
	decoder, texts := xml.NewDecoder(strings.NewReader(picture)), 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Local != "text" {
			continue
		}
		texts++
		require.Equal(t, "http://www.w3.org/2000/svg", element.Name.Space)
		for _, a := range element.Attr {
			if a.Name.Local == "x" {
				x, err := strconv.ParseFloat(a.Value, 64)
				require.NoError(t, err)
				require.True(t, x > 0 && x < width, "text at %v", x)
			}
		}
	}
	require.Greater(t, texts, 10)
}

func TestTextIsEscaped(t *testing.T) {
	s := newSVG(10, 10)
	s.text(1, 2, "start", "", "<a & b>")
	require.Contains(t, s.close(), "&lt;a &amp; b&gt;")
}

func TestSpread(t *testing.T) {
	require.Equal(t, []float64{50, 10, 90}, spread([]float64{50, 10, 90}, 17, 100), "far enough apart")
	moved := spread([]float64{97, 98, 40, 99}, 17, 100)
	require.Equal(t, 40.0, moved[2])
	require.GreaterOrEqual(t, moved[1]-moved[0], 16.9)
	require.GreaterOrEqual(t, moved[3]-moved[1], 16.9)
	require.LessOrEqual(t, moved[3], 100.0)
}

func TestScales(t *testing.T) {
	for most, want := range map[float64][]float64{
		2424: {0, 1000, 2000, 3000},
		150:  {0, 50, 100, 150},
		790:  {0, 200, 400, 600, 800},
	} {
		s, ticks := linear(most, 300, 0)
		require.Equal(t, want, ticks)
		require.Equal(t, 300.0, s.at(0))
		require.InDelta(t, 0, s.at(ticks[len(ticks)-1]), 1e-9)
	}
	s, ticks := logarithmic(0.4, 60, 0, 300, 1, 5)
	require.Len(t, ticks, 5)
	require.InDelta(t, 300*math.Log(10/0.4)/math.Log(60/0.4), s.at(10), 1e-9)
	require.Zero(t, s.at(0), "below the scale")
}

func TestShortNumbers(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 1000: "1000", 10_000: "10k", 1e5: "100k", 1e6: "1M"} {
		require.Equal(t, want, short(v))
	}
}
