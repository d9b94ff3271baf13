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

// simulated returns what happens in the first trouble, by the names of the ways.
func simulated(t *testing.T, args string) map[string]*history {
	t.Helper()
	all := map[string]*history{}
	for _, one := range settingsOf(t, args).run()[0] {
		all[one.way] = one.histories[0]
	}
	return all
}

func TestUsage(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                    "-nosuch",
		`unexpected argument "extra"`:                               "extra",
		`-scenario "flood" is not contention, programs, variations`: "-scenario flood",
		`-shape "round" is not batch, burst, devices`:               "-shape round",
		"-load is above 1":                                          "-load 1.5",
		"not above zero, or too large: NaN":                         "-load NaN",
		"not above zero, or too large: -0.005":                      "-after -5ms",
		"not above zero, or too large: 0":                           "-processes 0",
		"not above zero, or too large: +Inf":                        "-rate Inf",
		"-servers is not for -scenario variations":                  "-scenario variations -servers 2",
		`-only "x" is in no name`:                                   "-only x",
		"not a percentage above zero":                               "-trouble fail:2",
		"-timeout must be longer than -answer":                      "-timeout 5ms",
		"not none, half, fail:N%, refuse:N%":                        "-trouble 10s,half:10",
		"-svg needs an outage":                                      "-svg load.svg -trouble half",
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
