package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	for message, args := range map[string]string{
		"flag provided but not defined: -nosuch": "-nosuch",
		"arguments that are no flags":            "extra",
		`"flood" is none of down10, down60`:      "-scenes down10,flood",
		`"hope" is none of none, three`:          "-ways hope",
		`-settings is not two, best or all`:      "-settings some",
		"-load is not from 0.01 to 1":            "-load NaN",
		"-seeds is below 1":                      "-seeds 0",
		"-procs is not from 1 to 1000":           "-procs 0",
		"-work is not from 1ms to below 1s":      "-work 1s",
		"-before or -after is below a second":    "-after 0s",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(strings.Fields(args), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}

	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-scenes")
}

// printed returns what a command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(args, &stdout, &stderr), stderr.String())
	return stdout.String()
}

// brief are flags for runs that take little time.
const brief = "-seeds=2 -load=0.1 -before=5s -after=5s -procs=1"

func TestTables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.tsv")
	args := append(strings.Fields(brief), "-scenes=refuse10,low1", "-ways=none,v7", "-out="+file)
	got := printed(t, args...)
	require.Regexp(t, `(?m)^Lost, % +refuse10 +low1 +mean$`, got)
	require.Regexp(t, `(?m)^Lost, seconds of traffic +refuse10 +low1 +mean$`, got)
	require.Regexp(t, `(?m)^none +\d\d +[0-9.]+ +\d\d$`, got)
	require.Regexp(t, `(?m)^v7: 5 tries +\d+`, got)
	require.Regexp(t, `(?m)^v7: 2 tries +\d+`, got)
	require.Equal(t, got, printed(t, args...), "the same command prints the same figures")

	lines, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1+2*3*2, strings.Count(string(lines), "\n")) // by scene, setting and seed
	require.Regexp(t, `(?m)^refuse10\tnone\tone attempt\t2\t\d+\.\d\d\t\d+\.\d\d\t1\.\d\d$`, string(lines))
}

func TestSettings(t *testing.T) {
	// The setting that loses least is marked.
	got := printed(t, append(strings.Fields(brief), "-scenes=down10", "-load=0.8", "-ways=semaphore", "-settings=all")...)
	rows := regexp.MustCompile(`(?m)^semaphore +(\S.*?) {2,}([0-9.]+) +(best)?`).FindAllStringSubmatch(got, -1)
	require.Len(t, rows, 3)
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(number(t, a[2]), number(t, b[2])) })
	for i, row := range rows {
		require.Equal(t, i == 0, row[3] == best, row)
	}

	got = printed(t, append(strings.Fields(brief), "-scenes=refuse10", "-ways=v7", "-settings=best")...)
	require.NotContains(t, got, "5 tries")
	require.Contains(t, got, "2 tries")
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return n
}

func TestNames(t *testing.T) {
	_, err := parse(strings.Fields("-ways short -scenes short"), &strings.Builder{})
	require.NoError(t, err)

	seen := map[string]bool{}
	for _, w := range allWays() {
		require.False(t, seen[w.name], w.name)
		seen[w.name] = true
		settings := map[string]bool{}
		for _, s := range w.settings {
			require.False(t, settings[s.name], s.name)
			settings[s.name] = true
		}
		require.True(t, settings[w.best], "the best setting of %s", w.name)
	}
}
