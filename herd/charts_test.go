package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCharts(t *testing.T) {
	for args, words := range map[string][]string{
		"-scenario contention -runs 2 -clients 30,2,100":             {"time (s)", decorrelated, "(default)"},
		"-scenario amplification -rates 0.9,0.1":                     {cost14, "(%)"},
		"-scenario amplification -rates 0":                           {cost14, "(%)"},
		"-scenario fleet -processes 1,10 -capacity 0 -load 0.3 -csv": {"sizes itself"},
	} {
		file := filepath.Join(t.TempDir(), "chart.svg")
		output(t, args, "-svg", file)
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		checkSVG(t, string(picture), words...)
	}
}

func checkSVG(t *testing.T, picture string, words ...string) {
	t.Helper()
	for _, word := range words {
		require.Contains(t, picture, word)
	}
	require.NotContains(t, picture, "NaN")
	require.NotContains(t, picture, "Inf")
	require.Regexp(t, `<title id="title">[^<]+</title>\s<desc id="description">[^<]+\.</desc>`, picture)
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
	s := newSVG(10, "a & b", "<b>")
	s.text(1, 2, "start", "", "", "<a & b>")
	for _, text := range []string{"<title id=\"title\">a &amp; b</title>", "&lt;b&gt;</desc>", "&lt;a &amp; b&gt;</text>"} {
		require.Contains(t, s.close(), text)
	}
}

// Text and curves must stand out on the background of their set: 4.5 is what WCAG 2 asks for.
func TestContrast(t *testing.T) {
	sets := regexp.MustCompile(`svg\{(--page[^}]*)\}`).FindAllStringSubmatch(style, -1)
	require.Len(t, sets, 2)
	for _, set := range sets {
		names, page := "", 0.0
		for i, one := range strings.Split(set[1], ";") {
			name, colour, _ := strings.Cut(one, ":")
			l := luminance(t, colour)
			if i == 0 {
				page = l
				continue
			}
			names += name + " "
			require.Greater(t, (max(l, page)+0.05)/(min(l, page)+0.05), 4.5, one)
		}
		for _, colour := range colours {
			require.Contains(t, names, "--"+colour+" ")
		}
	}
}

func luminance(t *testing.T, colour string) (l float64) {
	t.Helper()
	rgb, err := strconv.ParseUint(colour[1:], 16, 32)
	require.NoError(t, err)
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		v := float64(rgb>>(8*i)&0xff) / 255
		if v <= 0.04045 {
			l += weight * v / 12.92
		} else {
			l += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return l
}

func TestSpread(t *testing.T) {
	sizes := []float64{17, 17, 17, 17}
	require.Equal(t, []float64{50, 10, 90}, spread([]float64{50, 10, 90}, sizes, 0, 100), "far enough apart")
	moved := spread([]float64{97, 98, 40, 99}, sizes, 0, 100)
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

func TestLogarithmicScale(t *testing.T) {
	s, ticks := logarithmic(0.38, 63, 300, 0)
	require.InDeltaSlice(t, []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100}, ticks, 1e-9)
	require.InDelta(t, 300, s.at(0.2), 1e-9)
	require.InDelta(t, 0, s.at(100), 1e-9)
	require.InDelta(t, s.at(1)-s.at(10), s.at(10)-s.at(100), 1e-9)
	_, ticks = logarithmic(1, 1, 300, 0)
	require.InDeltaSlice(t, []float64{1, 2}, ticks, 1e-9)
}

func TestShortNumber(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 1000: "1000", 10_000: "10k", 1e5: "100k", 1e6: "1M"} {
		require.Equal(t, want, short(v))
	}
}
