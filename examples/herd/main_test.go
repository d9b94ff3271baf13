package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWrongCallsExitWith2(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                           "-nosuch",
		`invalid value "few" for flag -runs`:                               "-runs few",
		`invalid value "-1" for flag -seed`:                                "-seed -1",
		`unexpected argument "extra"`:                                      "extra",
		`-scenario "flood" is not contention, outage or both`:              "-scenario flood",
		`-clients "10,x": "x" is not a number of clients`:                  "-clients 10,x",
		`-clients "10,": "" is not a number of clients`:                    "-clients 10,",
		`-clients "0": "0" is not a number of clients`:                     "-clients 0",
		"-clients 1001: the contention takes 1000 at most":                 "-clients 1001",
		"-clients 1000001: the outage takes 1000000 at most":               "-scenario outage -clients 1000001",
		"-runs 0 is not from 1 to 100000":                                  "-runs 0",
		"-csv is for the contention, not for -scenario outage":             "-scenario outage -csv",
		"-chart needs -svg":                                                "-chart calls",
		`-chart "pie" is not calls, time or rate`:                          "-svg x.svg -chart pie",
		"-chart time is of the contention, not of -scenario outage":        "-scenario outage -svg x.svg -chart time",
		"-chart calls needs at least two numbers of clients":               "-clients 10 -svg x.svg",
		"-chart rate is of the outage, not of the contention":              "-scenario contention -svg x.svg -chart rate",
		"-chart rate needs a single number of clients":                     "-scenario outage -clients 10,20 -svg x.svg",
		"invalid boolean value \"maybe\" for -csv":                         "-csv=maybe",
		`-clients "99999999999999999999": "99999999999999999999" is not a`: "-clients 99999999999999999999",
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
	for _, name := range []string{"-scenario", "-clients", "-runs", "-seed", "-csv", "-svg", "-chart"} {
		require.Contains(t, stderr.String(), name)
	}
}

// output returns what a run with args, separated by spaces, prints.
func output(t *testing.T, args string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(strings.Fields(args), &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String(), "there is no terminal to show progress on")
	return stdout.String()
}

func TestSeedDecidesTheFigures(t *testing.T) {
	for _, args := range []string{"-clients 10,20 -runs 3 -csv", "-scenario outage -clients 1000"} {
		first := output(t, args+" -seed 7")
		require.Equal(t, first, output(t, args+" -seed 7"))
		require.NotEqual(t, first, output(t, args+" -seed 8"))
	}
	alone, among := output(t, "-csv -runs 3 -clients 20"), output(t, "-csv -runs 3 -clients 10,20")
	require.True(t, strings.HasSuffix(among, strings.TrimPrefix(alone, "clients,time,calls,algorithm\n")))
}

func TestCSV(t *testing.T) {
	lines := strings.Split(output(t, "-clients 10,20 -runs 2 -csv"), "\n")
	require.Len(t, lines, 1+2*7+1)
	require.Equal(t, "clients,time,calls,algorithm", lines[0])
	var names []string
	for _, line := range lines[1:8] {
		require.Regexp(t, `^10,\d+,\d+\.\d,\w+$`, line)
		names = append(names, line[strings.LastIndex(line, ",")+1:])
	}
	require.ElementsMatch(t, []string{"None", "Exponential", "EqualJitter", "FullJitter", "Decorr",
		"Proportional", "Additive"}, names)
}

func TestTables(t *testing.T) {
	contention := output(t, "-scenario contention -clients 10,20 -runs 1")
	require.Contains(t, contention, "mean of 1 run\n")
	require.Regexp(t, `(?m)^calls +10 +20 clients$`, contention)
	require.Regexp(t, `(?m)^time \(s\) +10 +20 clients$`, contention)
	require.Equal(t, 2, strings.Count(contention, "\ndecorrelated "))

	outages := output(t, "-scenario outage -clients 1,1000")
	require.Contains(t, outages, "under 0.01 requests/s from 1 clients")
	require.Contains(t, outages, "under 10 requests/s from 1000 clients")
	require.Equal(t, 2, strings.Count(outages, "\nfull jitter, budget "))
}

func TestBothScenarios(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rate.svg")
	both := output(t, "-clients 10 -runs 1 -chart rate -svg "+file)
	require.Contains(t, both, "Contention")
	require.Contains(t, both, "from 100000 clients")
	picture, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(picture), "(100k clients)")
}

func TestChartThatCannotBeWrittenExitsWith1(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "no", "such", "directory.svg")
	require.Equal(t, 1, run([]string{"-csv", "-runs", "1", "-svg", file}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "herd: open "+file)
}

func TestProgressOnATerminal(t *testing.T) {
	var terminal bytes.Buffer
	p := newProgress("work", &terminal)
	p.terminal = &terminal
	p.expect(4)
	p.add(1)
	p.clear()
	require.Empty(t, terminal.String(), "too soon")
	p.next = time.Time{}
	p.add(1)
	p.clear()
	require.Equal(t, "\rwork:  50 %\r\033[K", terminal.String())
}
