package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests run this program as a server, too, and by the word "command" as people do.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "command":
		os.Exit(run(os.Args[2:], os.Stdout, os.Stderr))
	case len(os.Args) > 1 && os.Args[1] == serve:
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var raceDetector bool

// manyCalls skips a test under the race detector, with which it takes a minute.
func manyCalls(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
}

// usual returns the plan of the flags' usual values.
func usual(t *testing.T, args ...string) plan {
	t.Helper()
	c, err := parse(args, io.Discard)
	require.NoError(t, err)
	return c.base
}

func TestUsage(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch": "-nosuch",
		`unexpected argument "extra"`:            "extra",
		"-scenario is no table":                  "-scenario flood",
		`"hope" is no way`:                       "-ways none,hope",
		"-seeds is not from 0 to 1000":           "-seeds -1",
		"not above zero, or too large: NaN":      "-load NaN",
		"not above zero, or too large: +Inf":     "-rate Inf",
		"not above zero, or too large: -1":       "-after -1s",
		"-load is above 1":                       "-load 1.5",
		"-timeout must be longer than -answer":   "-timeout 5ms",
		"-deadline is below zero":                "-deadline -5s",
		"-order is not oldest, newest or shared": "-order last",
		`invalid value "x" for flag -timeout`:    "-timeout x",
		`"flood" is in no name of a row`:         "-only flood",
		"no such file or directory":              "-only healthy -after 1s -svg /nosuch/folder/load.svg",
	} {
		var stdout, stderr bytes.Buffer
		require.NotZero(t, run(strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), message)
	}

	var stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "attack: what was thought out")
}

// The rows of a scenario have different names, ways that exist, and what they need.
func TestScenarios(t *testing.T) {
	for name, s := range scenarios {
		ways, err := waysOf(s.ways)
		require.NoError(t, err)
		require.NotEmpty(t, ways, name)
		seen := map[string]bool{}
		for _, p := range s.rows(usual(t)) {
			require.False(t, seen[p.name], "%s: %s", name, p.name)
			seen[p.name] = true
			require.Positive(t, p.processes, p.name)
			require.Positive(t, p.closing(), p.name)
			for _, stream := range p.streams {
				require.Positive(t, stream.timeout, p.name)
				require.True(t, stream.rate != nil || stream.burst > 0 || stream.workers > 0, p.name)
			}
		}
	}
}

// A table has a row for each stream that is shown, a mean, and what is lost more than by the better of two ways. The same
// command prints the same figures.
func TestTables(t *testing.T) {
	tables := map[string]string{}
	for scenario, row := range map[string]string{"limits": "60 % of the calls", "peers": "queue lost", "batch": "healthy", "attack": "5 s, 2 of them hang, and"} {
		args := []string{"-scenario", scenario, "-only", row, "-seeds", "2", "-ways", "none,retries,slots"}
		var stdout, again, stderr bytes.Buffer
		require.Zero(t, run(args, &stdout, &stderr), stderr.String())
		require.Zero(t, run(args, &again, &stderr), stderr.String())
		require.Equal(t, stdout.String(), again.String(), scenario)
		tables[scenario] = stdout.String()
	}
	require.Regexp(t, `^Lost, s \| no retries \| 3 retries \| slots\n---\|---:\|---:\|---:\n`+
		`a part hangs for 60 s, 60 % of the calls: the others \| 0 \| 0 \| .*\n$`, tables["limits"])
	require.Regexp(t, `\ndown for 10 s, queue lost \| (.*)\nmean \| `, tables["peers"])
	require.Regexp(t, `\nhealthy \| 97–98 %, half after [0-9.–]+ s \| `, tables["batch"])
	require.Regexp(t, `\nrows above 50 s more \| 0 \| 0 \| 0\n$`, tables["attack"])
}

// The chart of an outage has a curve for each way that it knows.
func TestChart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "load.svg")
	require.Zero(t, run([]string{"-only", "down for 2 s", "-seeds", "1", "-after", "20s", "-svg", file}, io.Discard, io.Discard))
	drawn, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(drawn), "<polyline"))
	require.Contains(t, string(drawn), "down for 2 s at load 0.8")
}

// Every way makes one attempt where nothing is wrong, and loses nothing. Where a tenth of the attempts are refused, all
// but callers without retries retry. While the service is down, what protects it makes far fewer attempts than three
// retries do: who has a protection that is not in the way of its attempts would make as many.
func TestWays(t *testing.T) {
	p := scene(usual(t)).row("", processes(1), capacity(20, 1), load(0.5), func(p *plan) { p.from, p.after = 5, 20 })
	refused := p.row("", happens(refusing, 0.1, 0))
	outage := p.row("", down(10))
	without, most := played(t, "none", refused), played(t, "retries", outage)
	for _, w := range slices.Concat(ownWays, peers) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := played(t, w.name, p)
			require.Greater(t, h.begun, 200)
			require.Zero(t, h.tallies[0].lost())
			require.InDelta(t, h.begun, h.requests, 0.02*float64(h.begun))

			h = played(t, w.name, refused)
			if w.name == "none" {
				require.Equal(t, h.begun, h.requests)
				return
			}
			require.Greater(t, h.requests, h.begun+5)
			require.Less(t, h.tallies[0].lost(), without.tallies[0].lost())

			bare := []string{"retries", "two-late", "endless", "endless-late", "retryablehttp-default", "v7-readme"}
			if !slices.Contains(bare, w.name) {
				h = played(t, w.name, outage)
				require.Less(t, float64(h.requests), 0.85*float64(most.requests))
			}
		})
	}
}

// published is what "Exponential Backoff And Jitter" has: the milliseconds and the writes of each number of clients, on
// average over 300 runs of its simulator.
var published = map[string]map[int][2]float64{
	"no wait":             {10: {376, 50}, 20: {602, 152}, 100: {2029, 2421}},
	"no jitter":           {10: {3501, 51}, 20: {14374, 149}, 100: {63602, 1858}},
	"equal jitter":        {10: {721, 42}, 20: {1610, 107}, 100: {6633, 812}},
	"full jitter":         {10: {456, 38}, 20: {985, 100}, 100: {4938, 796}},
	"decorrelated jitter": {10: {437, 37}, 20: {817, 100}, 100: {4546, 1003}},
}

// Clients that compete for a row take as long, and write as often, as published.
func TestContention(t *testing.T) {
	manyCalls(t)
	compared := 0
	for _, one := range contenders {
		for clients, want := range published[one.name] {
			took, writes := one.mean(clients, 100)
			require.InEpsilon(t, want[0]/1000, took, 0.1, "%s, %d clients", one.name, clients)
			require.InEpsilon(t, want[1], writes, 0.1, "%s, %d clients", one.name, clients)
			compared++
		}
	}
	require.Equal(t, 15, compared)
}
