package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// The output is that in testdata. To renew a file, run the program with its arguments.
func TestOutput(t *testing.T) {
	tests := []struct {
		file string
		args string
	}{
		{"default.txt", ""},
		{"decorrelated.txt", "-jitter DecorrelatedJitter -interval 1s -cap 20s -limit 1m -server 5s"},
		{"milliseconds.txt", "-jitter nojitter -interval 20ms -multiplier 2 -cap 300ms -limit 0 -retries 6"},
		{"none.txt", "-interval 1m -limit 40s"},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			want, err := os.ReadFile("testdata/" + test.file)
			require.NoError(t, err)

			var stdout, stderr bytes.Buffer
			code := run(strings.Fields(test.args), &stdout, &stderr)
			require.Zero(t, code)
			require.Empty(t, stderr.String())
			require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), stdout.String())
		})
	}
}

// A terminal of 100 columns has room for whatever the flags allow.
func TestColumns(t *testing.T) {
	long := "-interval 1000h -cap 1000h -limit 0 -server 1000h -retries 100"
	short := "-interval 1ns -cap 999ns -limit 0 -retries 100"

	for _, args := range []string{long, short} {
		for _, j := range jitters {
			var stdout bytes.Buffer
			code := run(append(strings.Fields(args), "-jitter", j.String()), &stdout, io.Discard)
			require.Zero(t, code)

			for _, line := range strings.Split(stdout.String(), "\n") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), 100, line)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args    string
		message string
	}{
		{"-interval 0", "schedule: -interval must be between 1ns and 1000h\n"},
		{"-interval soon", `invalid value "soon" for flag -interval: `},
		{"-cap -1s", "schedule: -cap must be between 1ns and 1000h\n"},
		{"-limit 1001h", "schedule: -limit must be between 0s and 1000h\n"},
		{"-server -1s", "schedule: -server must be between 0s and 1000h\n"},
		{"-multiplier 0.5", "schedule: -multiplier must be between 1 and 1000000\n"},
		{"-multiplier NaN", "schedule: -multiplier must be between 1 and 1000000\n"},
		{"-factor 1.1", "schedule: -factor must be between 0 and 1\n"},
		{"-factor NaN", "schedule: -factor must be between 0 and 1\n"},
		{"-retries 0", "schedule: -retries must be between 1 and 100\n"},
		{"-retries 101", "schedule: -retries must be between 1 and 100\n"},
		{"-retries -1", `invalid value "-1" for flag -retries: `},
		{"-jitter some", "invalid value \"some\" for flag -jitter: it must be one of\nProportionalJitter, NoJitter, "},
		{"-nosuch", "flag provided but not defined: -nosuch\n"},
		{"10s", "schedule: unexpected argument \"10s\"\n"},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		code := run(strings.Fields(test.args), &stdout, &stderr)
		require.Equal(t, 2, code, test.args)
		require.True(t, strings.HasPrefix(stderr.String(), test.message), stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestHelp(t *testing.T) {
	var stderr bytes.Buffer
	code := run([]string{"-h"}, io.Discard, &stderr)
	require.Zero(t, code)
	require.Contains(t, stderr.String(), "-interval duration")
}

// fullWriter is a disk without space.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) {
	return 0, errors.New("no space left on device")
}

func TestOutputError(t *testing.T) {
	var stderr bytes.Buffer
	code := run(nil, fullWriter{}, &stderr)
	require.Equal(t, 1, code)
	require.Equal(t, "schedule: no space left on device\n", stderr.String())
}

// Many draws of a wait fill its range, and none is outside it.
func TestRange(t *testing.T) {
	for _, server := range []time.Duration{0, 4 * time.Second} {
		for _, j := range jitters {
			s := settings{
				interval:   time.Second,
				multiplier: 2,
				cap:        5 * time.Second,
				jitter:     j,
				factor:     0.25,
				retries:    4,
			}
			tenths := make(map[time.Duration]bool) // of the first wait's range
			for seed := range uint64(1000) {
				waits := s.simulate(rand.NewPCG(seed, 0), server).waits
				require.Len(t, waits, 4)
				for _, w := range waits {
					require.LessOrEqual(t, w.shortest, w.drawn, "%v", j)
					require.LessOrEqual(t, w.drawn, w.longest, "%v", j)
				}

				width := waits[0].longest - waits[0].shortest
				above := waits[0].drawn - waits[0].shortest
				tenths[10*above/(width+1)] = true
			}
			if j == backoff.NoJitter {
				require.Len(t, tenths, 1)
			} else {
				require.Len(t, tenths, 10, "%v", j)
			}
		}
	}
}

// The window of DecorrelatedJitter ends at three times the wait before.
func TestRangeDecorrelated(t *testing.T) {
	s := settings{interval: time.Second, cap: time.Minute, jitter: backoff.DecorrelatedJitter, retries: 5}
	before := s.interval
	for _, w := range s.simulate(rand.NewPCG(1, 0), 0).waits {
		require.Equal(t, time.Second, w.shortest)
		require.Equal(t, 3*before, w.longest)
		before = w.drawn
	}
}
