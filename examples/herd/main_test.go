package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUsageErrors(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch":                           "-nosuch",
		`invalid value "few" for flag -runs`:                               "-runs few",
		`invalid value "-1" for flag -seed`:                                "-seed -1",
		`unexpected argument "extra"`:                                      "extra",
		`-scenario "flood" is not contention, outage, both, amplification`: "-scenario flood",
		`"x" is not a number from 1 to 1000000`:                            "-clients 10,x",
		`"" is not a number from 1 to 1000000`:                             "-clients 10,",
		`"0" is not a number from 1 to 1000000`:                            "-clients 0",
		`-clients 1001: the contention takes 1000 at most`:                 "-clients 1001",
		`"1000001" is not a number from 1 to 1000000`:                      "-scenario outage -clients 1000001",
		`"0" is not a number from 1 to 100000`:                             "-scenario fleet -processes 10,0",
		`"-5" is not a number from 1 to 1000000`:                           "-scenario fleet -capacity -5",
		"-capacity takes one number for the amplification":                 "-scenario amplification -capacity 25,50",
		"-processes is for the fleet, not for -scenario blip":              "-scenario blip -processes 1",
		"-capacity is for the fleet and the amplification, not":            "-scenario outage -capacity 1",
		"-clients is for the contention and the outage":                    "-scenario blip -clients 10",
		`"1.5" is not a rate from 0 to 1`:                                  "-rates 0.5,1.5",
		`"NaN" is not a rate from 0 to 1`:                                  "-scenario amplification -rates NaN",
		"-rates is for the amplification, not for -scenario blip":          "-scenario blip -rates 0.5",
		"-runs 0 is not from 1 to 100000":                                  "-runs 0",
		"-csv is for the contention, the amplification and the fleet":      "-scenario outage -csv",
		"-chart needs -svg":                                                "-chart calls",
		`-chart "pie" is not one of calls, time, rate, requests`:           "-svg x.svg -chart pie",
		"-chart time is not of -scenario outage":                           "-scenario outage -svg x.svg -chart time",
		"-chart calls needs at least two numbers of clients":               "-clients 10 -svg x.svg",
		"-chart rate is not of -scenario contention":                       "-scenario contention -svg x.svg -chart rate",
		"-chart rate needs a single number of clients":                     "-scenario outage -clients 10,20 -svg x.svg",
		"there is no chart of -scenario retry-after":                       "-scenario retry-after -svg x.svg",
		"invalid boolean value \"maybe\" for -csv":                         "-csv=maybe",
		`"99999999999999999999" is not a number`:                           "-clients 99999999999999999999",
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
	for _, name := range []string{"-scenario", "-clients", "-runs", "-seed", "-csv", "-svg", "-chart", "-rates", "-processes", "-capacity", "simulates"} {
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

func TestSeed(t *testing.T) {
	for _, args := range []string{"-clients 10,20 -runs 3 -csv", "-scenario outage -clients 20",
		"-scenario amplification -rates 0.3 -csv"} {
		first := output(t, args+" -seed 7")
		require.Equal(t, first, output(t, args+" -seed 7"))
		require.NotEqual(t, first, output(t, args+" -seed 8"))
	}
	alone, among := output(t, "-csv -runs 3 -clients 20"), output(t, "-csv -runs 3 -clients 10,20")
	require.True(t, strings.HasSuffix(among, strings.TrimPrefix(alone, "clients,time,calls,algorithm\n")))
}

func TestCSV(t *testing.T) {
	lines := strings.Split(output(t, "-clients 10,20 -runs 2 -csv"), "\n")
	require.Equal(t, "clients,time,calls,algorithm", lines[0])
	for _, clients := range []string{"10", "20"} {
		for _, c := range competitors() {
			if c.published != "" {
				lines = lines[1:]
				require.Regexp(t, "^"+clients+`,\d+,\d+\.\d,`+c.published+"$", lines[0])
			}
		}
	}
	require.Equal(t, []string{""}, lines[1:])

	lines = strings.Split(output(t, "-scenario amplification -rates 0.1,0.5 -csv"), "\n")
	require.Len(t, lines, 1+2*4+1)
	require.Equal(t, "rate,requests,strategy", lines[0])
	require.Regexp(t, `^0\.1,1\.0000,no retries$`, lines[1])
	require.Regexp(t, `^0\.1,1\.1\d+,three retries$`, lines[2])
	require.Regexp(t, `^0\.5,1\.\d+,three retries and a budget$`, lines[7])
	require.Regexp(t, `^0\.5,1\.\d+,three retries at RetryCost 14$`, lines[8])
}

func TestTables(t *testing.T) {
	contention := output(t, "-scenario contention -clients 10,20 -runs 1")
	require.Contains(t, contention, "mean of 1 run\n")
	require.Regexp(t, `(?m)^calls by clients +10 +20$`, contention)
	require.Regexp(t, `(?m)^time \(s\) by clients +10 +20$`, contention)
	require.Equal(t, 2, strings.Count(contention, "\nDecorrelatedJitter "))
	require.Equal(t, 2, strings.Count(contention, "update the row\n"))
	require.Contains(t, contention, "\nno retries: of 20 clients, 1.00 update the row\n")

	outages := output(t, "-scenario outage -clients 1,100")
	require.Contains(t, outages, "under 0.01 requests/s from 1 clients")
	require.Contains(t, outages, "under 1 requests/s from 100 clients")
	require.Equal(t, 2, strings.Count(outages, "\nFullJitter and a budget "))

	require.Regexp(t, `(?m)^0\.3 +1\.000 +1\.4\d\d +1\.4\d\d +1\.1\d\d +30\.\d\d % +0\.8\d % +0\.8\d % +18\.\d\d %$`, output(t, "-scenario amplification -rates 0.3"))
}

func TestScenarios(t *testing.T) {
	all := []string{"contention", "outage", "amplification", "blip", "fleet", "retry-after"}
	for args, want := range map[string][]string{
		"":                        all,
		"-scenario all":           all,
		"-scenario both":          all[:2],
		"-scenario blip":          {"blip"},
		"-csv":                    {"contention"},
		"-csv -scenario both":     {"contention"},
		"-scenario both -csv":     {"contention"},
		"-scenario amplification": {"amplification"},
		"-scenario fleet -csv":    {"fleet"},
	} {
		c, err := parse(strings.Fields(args), io.Discard)
		require.NoError(t, err)
		for _, scenario := range all {
			require.Equal(t, slices.Contains(want, scenario), c.runs(scenario), "%q: %s", args, scenario)
		}
		require.Equal(t, []int{10, 20, 50, 100}, c.contentionClients)
		require.Equal(t, []int{5000}, c.outageClients)
	}
}

func TestWriteErrors(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "no", "such", "directory.svg")
	require.Equal(t, 1, run([]string{"-csv", "-runs", "1", "-svg", file}, &stdout, &stderr))
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

func TestProgress(t *testing.T) {
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
