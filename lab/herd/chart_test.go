package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chart of docs/evidence.md is what the command there draws.
func TestChart(t *testing.T) {
	manyCalls(t)
	file := filepath.Join(t.TempDir(), "load.svg")
	require.Zero(t, run([]string{"-trouble", "10s@0.8", "-svg", file}, io.Discard, os.Stderr))
	drawn, err := os.ReadFile(file)
	require.NoError(t, err)
	shown, err := os.ReadFile("../../docs/load.svg")
	require.NoError(t, err)
	same := strings.ReplaceAll(string(shown), "\r\n", "\n") == string(drawn)
	require.True(t, same, "draw docs/load.svg anew, by the command below it in docs/evidence.md")
}
