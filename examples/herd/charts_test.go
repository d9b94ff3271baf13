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

func TestCharts(t *testing.T) {
	for args, words := range map[string][]string{
		"-scenario contention -runs 2 -clients 10,20":                {"writes", "clients", "decorrelated"},
		"-scenario contention -runs 2 -clients 30,2,200 -chart time": {"seconds", "200"},
		"-csv -runs 2 -clients 5,5":                                  {"writes", "proportional"},
		"-scenario outage -clients 2000":                             {"full jitter, 2 min, budget", "recovered", "down"},
		"-scenario outage -clients 1 -chart rate":                    {"1 clients"},
		"-scenario amplification -rates 0.9,0.1":                     {"with a budget", "failure rate"},
	} {
		file := filepath.Join(t.TempDir(), "chart.svg")
		output(t, args+" -svg "+file)
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		checkSVG(t, string(picture))
		for _, word := range words {
			require.Contains(t, string(picture), word, args)
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
				require.True(t, x > 0 && x < float64(width), "text at %v", x)
			}
		}
	}
	require.Greater(t, texts, 10)
}

func TestSVGEscape(t *testing.T) {
	s := newSVG(10)
	s.text(1, 2, "start", "", "", "<a & b>")
	require.Contains(t, s.close(), "&lt;a &amp; b&gt;")
}

// Text and curves must stand out on white and on black: 4.5 is what WCAG 2 asks for.
func TestContrast(t *testing.T) {
	require.Contains(t, style, grey)
	for _, colour := range []string{grey, red, orange, green, teal, blue, purple, pink} {
		rgb, err := strconv.ParseUint(colour[1:], 16, 32)
		require.NoError(t, err)
		luminance := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			v := float64(rgb>>(8*i)&0xff) / 255
			if v <= 0.04045 {
				luminance += weight * v / 12.92
			} else {
				luminance += weight * math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		require.Greater(t, 1.05/(luminance+0.05), 4.5, "%s on white", colour)
		require.Greater(t, (luminance+0.05)/0.05, 4.5, "%s on black", colour)
	}
}

func TestSpread(t *testing.T) {
	require.Equal(t, []float64{50, 10, 90}, spread([]float64{50, 10, 90}, 17, 0, 100), "far enough apart")
	moved := spread([]float64{97, 98, 40, 99}, 17, 0, 100)
	require.Equal(t, 40.0, moved[2])
	require.GreaterOrEqual(t, moved[1]-moved[0], 16.9)
	require.GreaterOrEqual(t, moved[3]-moved[1], 16.9)
	require.LessOrEqual(t, moved[3], 100.0)
}

func TestScale(t *testing.T) {
	for most, want := range map[float64][]float64{
		2424: {0, 1000, 2000, 3000},
		150:  {0, 50, 100, 150},
		790:  {0, 200, 400, 600, 800},
		4:    {0, 1, 2, 3, 4},
	} {
		s, ticks := fromZero(most, 300, 0)
		require.Equal(t, want, ticks)
		require.Equal(t, 300.0, s.at(0))
		require.InDelta(t, 0, s.at(ticks[len(ticks)-1]), 1e-9)
	}
}

func TestShortNumber(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 1000: "1000", 10_000: "10k", 1e5: "100k", 1e6: "1M"} {
		require.Equal(t, want, short(v))
	}
}
