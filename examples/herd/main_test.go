package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestUsageErrors(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                  "-nosuch",
		`invalid value "few" for flag -runs`:                      "-runs few",
		`unexpected argument "extra"`:                             "extra",
		`-scenario "flood" is not contention, outage`:             "-scenario flood",
		`"x" is not a number from 1 to 1000000`:                   "-clients 10,x",
		`"0" is not a number from 1 to 1000000`:                   "-clients 0",
		`-clients 1001: the contention takes 1000 at most`:        "-clients 1001",
		`"-5" is not a number from 0 to 1000000`:                  "-scenario fleet -capacity -5",
		"-capacity takes one number for -scenario amplification":  "-scenario amplification -capacity 25,50",
		"-clients takes one number for -scenario outage":          "-scenario outage -clients 10,20",
		"-closed is for outage, not for -scenario blip":           "-scenario blip -closed",
		`"1.5" is not a number from 0.01 to 1`:                    "-scenario blip -load 1.5",
		`"NaN" is not a number from 0 to 1`:                       "-scenario amplification -rates NaN",
		"less than 100ms":                                         "-scenario outage -duration 5ms",
		"not above zero":                                          "-scenario blip -queue -5s",
		"-runs 0 is not from 1 to 100000":                         "-runs 0",
		"-csv is for contention and fleet, not for -scenario":     "-scenario outage -csv",
		"-svg needs at least two numbers of clients or processes": "-scenario contention -clients 10 -svg x.svg",
		"there is no chart of -scenario retry-after":              "-scenario retry-after -svg x.svg",
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
	for name := range onlyFor {
		require.Contains(t, stderr.String(), "\n  -"+name)
	}
}

// output returns what a run with args, separated by spaces, prints.
func output(t *testing.T, args string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(strings.Fields(args), &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

func TestSeed(t *testing.T) {
	for _, args := range []string{"-clients 10,20 -runs 3 -csv", "-scenario outage -clients 20", "-scenario amplification -rates 0.3"} {
		first := output(t, args+" -seed 7")
		require.Equal(t, first, output(t, args+" -seed 7"))
		require.NotEqual(t, first, output(t, args+" -seed 8"))
	}
	alone, among := output(t, "-csv -runs 3 -clients 20"), output(t, "-csv -runs 3 -clients 10,20")
	require.True(t, strings.HasSuffix(among, strings.TrimPrefix(alone, "clients,time,calls,algorithm\n")))
}

func TestOutput(t *testing.T) {
	for args, want := range map[string]string{
		"-scenario contention -clients 10,20 -runs 1":                 `(?m)^calls by clients +10 +20$`,
		"-clients 10 -runs 2 -csv":                                    `^clients,time,calls,algorithm\n10,\d+,\d+\.\d,None\n`,
		"-scenario outage -clients 100 -after 1m":                     `(?m)^WithBudgetWait +\d`,
		"-scenario amplification -rates 0.3":                          `(?m)^0\.3 +1\.000 +1\.4\d\d +1\.4\d\d +1\.1\d\d +30\.\d\d % `,
		"-scenario blip -load 0.3 -retries 1":                         `(?m)^no retries +\d+ s +\d\.\d %$`,
		"-scenario fleet -processes 1 -capacity 50 -load 0.8":         `(?m)^1 +50 +0\.8 +\d+ +[01]\.\d{3}$`,
		"-scenario fleet -processes 300 -capacity 500 -load 0.8 -csv": `^processes,capacity,load,recovered,goodput\n300,500,0\.8,,0\.000\n$`,
		"-scenario fleet -processes 3 -capacity 0 -csv -duration 2s":  `\n3,0,0\.7,\d+,[01]\.\d{3}\n3,0,0\.8,`,
		"-scenario retry-after -clients 2000 -interval 2s":            `(?m)^FullJitter from 2 s +\d+ `,
		"-scenario rules -processes 3 -load 0.3 -duration 1s":         `(?m)^Finagle +\d+ s +0\.\d %$`,
	} {
		require.Regexp(t, want, output(t, args), args)
	}
}

func TestScenarios(t *testing.T) {
	for args, want := range map[string]int{"": len(names()), "-csv": 1, "-scenario fleet -csv": 1} {
		c, err := parse(strings.Fields(args), io.Discard)
		require.NoError(t, err)
		got := 0
		for _, name := range names() {
			if c.runs(name) {
				got++
			}
		}
		require.Equal(t, want, got, args)
	}
}

// Each jitter of the library has its name and its colour.
func TestStrategyNames(t *testing.T) {
	for j := backoff.ProportionalJitter; !strings.HasPrefix(j.String(), "Jitter("); j++ {
		require.Contains(t, colours, j.String())
	}
}

func TestWriteErrors(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "no", "such", "directory.svg")
	require.Equal(t, 1, run([]string{"-scenario", "contention", "-runs", "1", "-svg", file}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "herd: open "+file)
	require.Empty(t, stdout.String(), "it is found before the simulation")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	require.Equal(t, 1, run([]string{"-csv", "-runs", "1"}, full, &stderr))
	require.Contains(t, stderr.String(), "no space left")
}
