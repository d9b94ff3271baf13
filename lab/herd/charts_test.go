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
		"-after 20s -trouble 10s -only budget,3": {threeBudget, halfBudget, "% are lost; "},
		"-after 90s -trouble half":               {"half of the capacity for 60 s", noRetries, "are lost; recovers "},
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
				require.True(t, x > 0 && x < chartWidth, "text at %v", x)
			}
		}
	}
	require.Greater(t, texts, 10)
}

// Text and curves must stand out on the background of their set: 4.5 is what WCAG 2 asks for.
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(style, "@media (prefers-color-scheme:dark)")
	require.True(t, ok)
	colour := regexp.MustCompile(`\.(\w+)\{color:(#\w+)\}`)
	for _, set := range []string{light, dark} {
		luminances := map[string]float64{}
		for _, found := range colour.FindAllStringSubmatch(set, -1) {
			luminances[found[1]] = luminance(t, found[2])
		}
		page := luminances["page"]
		for _, name := range charted {
			l, ok := luminances[name]
			require.True(t, ok, name)
			require.Greater(t, (max(l, page)+0.05)/(min(l, page)+0.05), 4.5, name)
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
