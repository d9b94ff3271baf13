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
		"flag provided but not defined: -nosuch":             "-nosuch",
		`invalid value "few" for flag -runs`:                 "-runs few",
		`unexpected argument "extra"`:                        "extra",
		`-scenario "flood" is not contention, amplification`: "-scenario flood",
		`-shape "round" is not arrivals, batch, connections`: "-scenario programs -shape round",
		`"x" is not a number from 1 to 1000000`:              "-scenario contention -clients 10,x",
		`"0" is not a number from 1 to 1000000`:              "-scenario contention -clients 0",
		`"-5" is not a number from 0 to 1000000`:             "-scenario fleet -capacity -5",
		"-load takes one number for -scenario programs":      "-scenario programs -load 0.1,0.2",
		`"1.5" is not a number from 0.01 to 1`:               "-scenario blip -load 1.5",
		`"NaN" is not a number from 0 to 1`:                  "-scenario amplification -rates NaN",
		"-duration -5ms is below zero":                       "-scenario blip -duration -5ms",
		"-refusal -1 is below zero":                          "-scenario blip -refusal -1",
		`-only "x" is in no name`:                            "-scenario programs -only x",
		"-poison 2 is too large":                             "-scenario programs -poison 2",
		"-servers is for blip, fleet, programs, not for":     "-scenario amplification -servers 2",
		"-timeout at least 100ms":                            "-scenario blip -timeout 5ms",
		"not none, half, flapping, a percentage":             "-scenario programs -trouble 10s,slow",
		"not a percentage above zero":                        "-scenario programs -trouble 0%",
		`-times "odd" is not constant, exponential, heavy`:   "-scenario programs -times odd",
		"not above zero":                                     "-scenario blip -queue -5s",
		"-per-second and -guess must be above zero":          "-scenario contention -runs 0",
		"-runs 1000001 is too large":                         "-scenario contention -runs 1000001",
		"-per-second +Inf is too large":                      "-scenario amplification -per-second Inf",
		"-rate must be at least 1":                           "-scenario programs -rate 0.1",
		"-csv is for contention, fleet, not for":             "-scenario blip -csv",
		"-svg is for programs, not for -scenario":            "-scenario amplification -svg x.svg",
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
	for _, name := range names() {
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

// manyOperations skips a test under the race detector, with which it takes a minute.
func manyOperations(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
}

func TestSeed(t *testing.T) {
	for _, args := range []string{"-scenario contention -clients 10,20 -runs 3 -csv", "-scenario programs -trouble 10s -after 20s", "-scenario amplification -rates 0.3"} {
		first := output(t, args+" -seed 7")
		require.Equal(t, first, output(t, args+" -seed 7"))
		require.NotEqual(t, first, output(t, args+" -seed 8"))
	}
	alone, among := output(t, "-scenario contention -csv -runs 3 -clients 20"), output(t, "-scenario contention -csv -runs 3 -clients 10,20")
	require.True(t, strings.HasSuffix(among, strings.TrimPrefix(alone, "clients,time,calls,algorithm\n")))
}

func TestOutput(t *testing.T) {
	manyOperations(t)
	for args, want := range map[string]string{
		"-scenario contention -clients 10,20 -runs 1":                                              `(?m)^calls by clients +10 +20$`,
		"-scenario contention -clients 10 -runs 2 -csv":                                            `^clients,time,calls,algorithm\n10,\d+,\d+\.\d,None\n`,
		"-scenario amplification -rates 0.3":                                                       `(?m)^0\.3 +1\.000 +1\.4\d\d +1\.4\d\d +1\.1\d\d +30\.\d\d % `,
		"-scenario blip -load 0.1,0.2 -retries 1 -after 10s":                                       `(?m)^no retries +\d+ s +\d+\.\d % +\d+ s +\d+\.\d %$`,
		"-scenario blip -load 0.6 -after 1m -seeds 3":                                              `(?m)^no retries +\d+–\d+ s +\d+\.\d–\d+\.\d %$`,
		"-scenario fleet -processes 1 -capacity 50 -load 0.3":                                      `(?m)^1 +50 +0\.3 +\d+ +[01]\.\d{3}$`,
		"-scenario fleet -processes 3 -capacity 0 -csv -duration 2s -load 0.1,0.2":                 `\n3,0,0\.1,\d+,[01]\.\d{3}\n3,0,0\.2,`,
		"-scenario programs -shape batch -size 20 -trouble 1s -after 30s -refusal 0.3 -queue none": `(?ms)takes 0\.3 of the work.*^first wait 2 N / spare +\d+ +\d+ s +0\.0 % +\d+s +\d\.\d\d$`,
		"-scenario programs -rate 10 -load 0.3 -after 5s -seeds 2 -queue none":                     `(?m)^ +10 s +60 s +half +flapping +10 % +30 %\nno retries +\d+–\d+ % .*\n(?s:.*)^bounded +\d+`,
		"-scenario programs -trouble half,10s -duration 20s -after 20s -neighbours -shape workers": `(?m)^no retries +\d+ / \d+\.\d % +100 / \d+\.\d %$`,
	} {
		require.Regexp(t, want, output(t, args), args)
	}
}

func TestWriteErrors(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "no", "such", "directory.svg")
	require.Equal(t, 1, run([]string{"-scenario", "programs", "-trouble", "10s", "-after", "30s", "-svg", file}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "herd: open "+file)

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	require.Equal(t, 1, run([]string{"-scenario", "contention", "-csv", "-runs", "1"}, full, &stderr))
	require.Contains(t, stderr.String(), "no space left")
}
