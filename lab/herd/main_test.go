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

// outage returns the trouble of a name.
func outage(t *testing.T, name string) trouble {
	t.Helper()
	one, err := parseTrouble(name)
	require.NoError(t, err)
	return one
}

func TestUsage(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                  "-nosuch",
		`unexpected argument "extra"`:                             "extra",
		`flag -scenario: is not contention, programs, variations`: "-scenario flood",
		`flag -shape: is not batch, burst, devices`:               "-shape round",
		"flag -order: is not oldest, newest, shared":              "-order last",
		"flag -work: is not exponential, constant, heavy":         "-work hard",
		"flag -balance: is not random, turn":                      "-balance best",
		"flag -in: is not both, percent, seconds":                 "-in hours",
		"-cached leaves no work":                                  "-cached 100%",
		"-line is below zero":                                     "-line -1",
		"-size is too few workers":                                "-shape loop -size 1",
		"-long has no longer timeout":                             "-long 10%:1s",
		"flag -long: time: invalid duration":                      "-long 10%",
		"-load is above 1":                                        "-load 1.5",
		"not above zero, or too large: NaN":                       "-load NaN",
		"not above zero, or too large: -0.005":                    "-after -5ms",
		"not above zero, or too large: 0":                         "-processes 0",
		"not above zero, or too large: +Inf":                      "-rate Inf",
		"-servers is not for -scenario variations":                "-scenario variations -servers 2",
		`-only "x" is in no name`:                                 "-only x",
		"not a percentage above zero":                             "-trouble fail:2",
		"-timeout must be longer than -answer":                    "-timeout 5ms",
		"is no trouble":                                           "-trouble 10s,half:10",
		"-svg needs an outage":                                    "-svg load.svg -trouble half",
		"the load after @ is not a number from 0.01 to 1":         "-trouble 10s@2",
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
