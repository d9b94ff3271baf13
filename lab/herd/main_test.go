package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var raceDetector bool

// manyCalls skips a test under the race detector, with which it takes a minute.
func manyCalls(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
}

// settingsOf returns the configuration for args, separated by spaces.
func settingsOf(t *testing.T, args string) config {
	t.Helper()
	c, err := parse(strings.Fields(args), &strings.Builder{})
	require.NoError(t, err)
	return c
}

// outcomes returns what the programs come to in the first trouble, by the names of the ways.
func outcomes(t *testing.T, args string) map[string]*outcome {
	t.Helper()
	all := map[string]*outcome{}
	programs := runPrograms(settingsOf(t, args))
	for _, one := range programs.trials[:programs.ways] {
		all[one.way.name] = one.outcomes[0]
	}
	return all
}

// output returns what a run with args, separated by spaces, and more prints.
func output(t *testing.T, args string, more ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(append(strings.Fields(args), more...), &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

func TestUsage(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                    "-nosuch",
		`unexpected argument "extra"`:                               "extra",
		`-scenario "flood" is not contention, programs, variations`: "-scenario flood",
		`-shape "round" is not batch, burst, devices`:               "-shape round",
		"-load is above 1":                                          "-load 1.5",
		"-load NaN is not above zero":                               "-load NaN",
		"-after -5ms is not above zero":                             "-after -5ms",
		"-processes 0 is not above zero":                            "-processes 0",
		"-rate +Inf is not above zero, or too large":                "-rate Inf",
		"-servers is not for -scenario variations":                  "-scenario variations -servers 2",
		`-only "x" is in no name`:                                   "-only x",
		"not a percentage above zero":                               "-poison 2",
		"-timeout must be longer than -answer":                      "-timeout 5ms",
		"not none, half, fail:N%":                                   "-trouble 10s,slow",
		"not none, half, fail:N%, refuse:N%":                        "-trouble half:10",
		"-move -1s is not above zero":                               "-move -1s",
		"-from is not for -scenario contention":                     "-scenario contention -from 1m",
		"the load after @ is not a number from 0.01 to 1":           "-trouble 10s@2",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}

	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "contention, programs, variations")
}
