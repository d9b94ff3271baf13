//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests run this program as people do, by the word "command", and the program runs itself in its roles.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "command":
		os.Exit(run(os.Args[2:], os.Stdout, os.Stderr))
	case len(os.Args) > 1 && roles[os.Args[1]] != nil:
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is this program as a process. All processes that it starts have the same standard error.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	stderr *os.File
	lines  *bufio.Reader // of stderr
}

// begin runs the program with flags, below a shell if so wanted.
func begin(t *testing.T, shell bool, flags ...string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	args := append([]string{program, "command"}, flags...)
	if shell {
		args = append([]string{"sh", "-c", `"$0" "$@"; exit`}, args...)
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { read.Close() })

	p := &process{Cmd: exec.Command(args[0], args[1:]...), stderr: read, lines: bufio.NewReader(read)}
	p.Stdout, p.Stderr = &p.stdout, write
	require.NoError(t, p.Start())
	require.NoError(t, write.Close())
	return p
}

// requireGone requires that all processes end soon, and returns what they said: standard error ends with the last of
// them.
func (p *process) requireGone(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.stderr.SetReadDeadline(time.Now().Add(30*time.Second)))
	rest, err := io.ReadAll(p.lines)
	require.NoError(t, err, "a process is left")
	return string(rest)
}

// requireLine reads standard error up to a line with this end.
func (p *process) requireLine(t *testing.T, end string) {
	t.Helper()
	require.NoError(t, p.stderr.SetReadDeadline(time.Now().Add(30*time.Second)))
	for line := ""; !strings.HasSuffix(line, end); {
		var err error
		line, err = p.lines.ReadString('\n')
		require.NoError(t, err, line)
	}
}

func needPostgres(t *testing.T) {
	t.Helper()
	if folder, _ := findPostgres(); folder == "" {
		t.Skip("skipped: no PostgreSQL in PATH nor in Debian's folder; Debian's package is postgresql")
	}
}

var shortCell = []string{"-client", "half-budget", "-load", "0.8", "-from", "1s", "-down", "1s", "-duration", "7s"}

// TestCell measures short cells side by side. The command itself compares their counts.
func TestCell(t *testing.T) {
	rows := []string{"fifo", "pgxpool-200ms"}
	var cells []*process
	for _, row := range rows {
		cells = append(cells, begin(t, false, append(shortCell, "-server", row)...))
	}
	for i, p := range cells {
		t.Run(rows[i], func(t *testing.T) {
			said := p.requireGone(t)
			err := p.Wait()
			if rows[i] != "fifo" {
				needPostgres(t)
			}

			require.NoError(t, err, said)
			require.Contains(t, p.stdout.String(), "| "+servers[rows[i]].title+" |")
		})
	}
}

// TestEnd ends commands, or a command's parent, while their servers are stopped. They have PostgreSQL if there
// is one.
func TestEnd(t *testing.T) {
	row := "sql"
	if folder, _ := findPostgres(); folder == "" {
		row = "fifo"
	}
	tests := []struct {
		name   string
		parent bool
		signal syscall.Signal
	}{
		{"killed", false, syscall.SIGKILL},
		{"terminated", false, syscall.SIGTERM},
		{"parent killed", true, syscall.SIGKILL},
	}
	var commands []*process
	for _, test := range tests {
		commands = append(commands, begin(t, test.parent, append(shortCell, "-duration", "60s", "-down", "50s", "-server", row)...))
	}
	for i, p := range commands {
		t.Run(tests[i].name, func(t *testing.T) {
			p.requireLine(t, ": STOP\n")
			require.NoError(t, p.Process.Signal(tests[i].signal))
			p.requireGone(t)
			require.Error(t, p.Wait())
		})
	}
}

// good returns counts that agree.
func good() report {
	return report{
		Counts: map[string]int{
			"done": 6, "no slot": 2, "no budget": 1, "no retries or time left": 1, "reported": 10,
			"answered": 7, "requests": 11, "attempts": 12, "reported attempts": 12,
		},
		BegunAt:      []int{4, 6},
		LostAt:       []int{0, 4},
		MostAttempts: 8,
	}
}

// TestCheck changes one count.
func TestCheck(t *testing.T) {
	r := good()
	require.NoError(t, r.check(8))

	for name, change := range map[string]func(*report){
		"nothing began":         func(r *report) { *r = newReport(cell{}) },
		"no outcome":            func(r *report) { r.Counts["no slot"]-- },
		"two outcomes":          func(r *report) { r.Counts["done"]++ },
		"lost":                  func(r *report) { r.LostAt[0]++ },
		"begun":                 func(r *report) { r.BegunAt[0]++ },
		"not reported":          func(r *report) { r.Counts["reported"]-- },
		"attempts not reported": func(r *report) { r.Counts["reported attempts"]-- },
		"no answer":             func(r *report) { r.Counts["answered"] = 5 },
		"no request":            func(r *report) { r.Counts["answered"] = 12 },
		"no attempt":            func(r *report) { r.Counts["requests"] = 13 },
		"no slots left":         func(r *report) { r.MostAttempts = 9 },
	} {
		r := good()
		change(&r)
		require.Error(t, r.check(8), name)
	}
}

// TestFigures has the texts of cells whose trouble ends after three seconds.
func TestFigures(t *testing.T) {
	c := cell{From: time.Second, Down: 2 * time.Second, Duration: 12 * time.Second}
	for want, lost := range map[string][]int{
		"26, 2 s":   {0, 10, 10, 5, 5, 1, 0, 0, 0, 0, 0, 0},
		"19, 0 s":   {0, 10, 10, 1, 1, 1, 0, 0, 0, 0, 0, 0},
		"84, never": {0, 10, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9},
	} {
		r := report{LostAt: lost}
		for range lost {
			r.BegunAt = append(r.BegunAt, 10)
		}
		require.Equal(t, want, r.figures(c))
	}
	require.Equal(t, 8, clients["half"].perProcess())
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-no"}, {"-server", "x"}, {"-client", "none,x"}, {"-load", "0"}, {"-trouble", "x"},
		{"-from", "60s"}, {"-down", "0"}, {"-duration", "2h"}, {"-lanes", "0"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String(), args)
	}
	require.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}
