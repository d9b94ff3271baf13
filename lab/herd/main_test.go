package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// settings returns the configuration for args, separated by spaces.
func settings(t *testing.T, args string) config {
	t.Helper()
	c, err := parse(strings.Fields(args), &strings.Builder{})
	require.NoError(t, err)
	return c
}

func TestUsageErrors(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":           "-nosuch",
		`invalid value "few" for flag -runs`:               "-runs few",
		`unexpected argument "extra"`:                      "extra",
		`-scenario "flood" is not programs, slots`:         "-scenario flood",
		`-shape "round" is not batch, devices, events`:     "-shape round",
		"-clients, -runs, -seeds, -servers":                "-scenario contention -clients 0",
		"-load is not a number above 0, up to 1":           "-load NaN",
		"-after -5ms is below zero":                        "-after -5ms",
		"-refusal -1 is below zero":                        "-refusal -1",
		`-only "x" is in no name`:                          "-only x",
		"-poison 2 is too large":                           "-poison 2",
		"-slow 1.5 is too large":                           "-slow 1.5",
		"-servers is for programs, not for":                "-scenario contention -servers 2",
		"-timeout must be longer than -answer":             "-timeout 5ms",
		"not none, half, flapping, hang:N%":                "-trouble 10s,slow",
		"not a percentage above zero":                      "-trouble fail:0%",
		"the load after @ is not a number from 0.01 to 1":  "-trouble 10s@2",
		`-times "odd" is not constant, exponential, heavy`: "-times odd",
		"not above zero":                                   "-queue -5s",
		"-rate and -guess must be above zero":              "-rate 0",
		"-runs 1000001 is too large":                       "-scenario contention -runs 1000001",
		"-rate +Inf is too large":                          "-rate Inf",
		"-svg is for programs, not for -scenario":          "-scenario slots -svg x.svg",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	for _, name := range scenarios {
		require.Contains(t, stderr.String(), name)
	}
}

// output returns what a run with args, separated by spaces, and more prints.
func output(t *testing.T, args string, more ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(append(strings.Fields(args), more...), &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

var raceDetector bool

// manyCalls skips a test under the race detector, with which it takes a minute.
func manyCalls(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
}

// The same seed gives the same figures, although all calls are goroutines.
func TestSeed(t *testing.T) {
	for _, args := range []string{
		"-scenario contention -clients 20 -runs 3",
		"-trouble 10s -after 20s",
		"-trouble half -after 20s -front 2s -only Retrier",
		"-shape batch -size 100 -trouble 1s -after 20s",
		"-shape pool -trouble 10s -after 20s -queue none",
	} {
		first := output(t, args+" -seed 7")
		require.Equal(t, first, output(t, args+" -seed 7"))
		require.NotEqual(t, first, output(t, args+" -seed 8"))
	}
}

func TestOutput(t *testing.T) {
	manyCalls(t)
	for args, want := range map[string]string{
		"-scenario contention -clients 10 -runs 1":                              `(?ms)^Contention: 10 clients.*^NoJitter +\d\.\d s$`,
		"-trouble 10s,half@0.3 -after 5s -only no":                              `(?m)^ +10s +half, 0\.3\nno retries +\d+ % +\d+`,
		"-trouble none -after 5s -seeds 2 -only budget":                         `(?m)^3 retries, budget +0\.0 % +0\.2 s `,
		"-shape batch -size 20 -trouble 1s -after 30s -refusal 0.3 -queue none": `(?ms)takes 0\.3 of the work.*^no limit of time +0\.0 % `,
		"-trouble half,10s -after 20s -shape pool":                              `(?m)^no retries +\d\S* %? +\d\S* [%s]$`,
		"-trouble 10s -after 5s -queue 200ms -front 2s -only front":             `(?ms)for more than 200ms.*in front of it; attempts there have 2 s\..*retries in front +\d`,
	} {
		require.Regexp(t, want, output(t, args), args)
	}
}

func TestWriteErrors(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "no", "such", "directory.svg")
	require.Equal(t, 1, run([]string{"-trouble", "10s", "-after", "5s", "-only", "no", "-svg", file}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "herd: open "+file)

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	require.Equal(t, 1, run([]string{"-scenario", "contention", "-runs", "1"}, full, &stderr))
	require.Contains(t, stderr.String(), "no space left")
}
