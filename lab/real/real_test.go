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

// requireGone requires that all processes have ended, or end soon: standard error ends with the last of them.
func (p *process) requireGone(t *testing.T) {
	t.Helper()
	require.NoError(t, p.stderr.SetReadDeadline(time.Now().Add(30*time.Second)))
	rest, err := io.ReadAll(p.lines)
	require.NoError(t, err, "a process is left")
	t.Logf("%s", rest)
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

func needPostgres(t *testing.T, server string) {
	t.Helper()
	if folder, _ := findPostgres(); folder == "" && server != "fifo" {
		t.Skip("skipped: no PostgreSQL in PATH nor in Debian's folder; Debian's package is postgresql")
	}
}

var shortCell = []string{"-client", "half-budget", "-load", "0.8", "-from", "1s", "-down", "1s", "-duration", "7s", "-v"}

// TestCell measures short cells side by side. The command itself compares their counts.
func TestCell(t *testing.T) {
	rows := []string{"fifo", "pgxpool-200ms"}
	var cells []*process
	for _, row := range rows {
		cells = append(cells, begin(t, false, append(shortCell, "-server", row)...))
	}
	for i, p := range cells {
		t.Run(rows[i], func(t *testing.T) {
			p.requireGone(t)
			err := p.Wait()
			needPostgres(t, rows[i])

			require.NoError(t, err)
			require.Contains(t, p.stdout.String(), "| "+find(servers, rows[i]).title+" |")
			t.Log(p.stdout.String())
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
			p.requireLine(t, ": stop\n")
			require.NoError(t, p.Process.Signal(tests[i].signal))
			p.requireGone(t)
			require.Error(t, p.Wait())
		})
	}
}

// good returns counts that agree.
func good() outcome {
	return outcome{
		clientReport{Begun: 10, Done: 6, NoSlot: 2, NoBudget: 1, Failed: 1, Ended: 10, Attempts: 12, Counted: 12,
			MostAttempts: 8, BegunAt: []int{4, 6}, LostAt: []int{0, 4}},
		serverReport{Requests: 11, Answered: 7},
	}
}

// TestCheck changes one count.
func TestCheck(t *testing.T) {
	o := good()
	require.NoError(t, o.check(8))

	for name, change := range map[string]func(*outcome){
		"nothing began":     func(o *outcome) { *o = outcome{} },
		"no outcome":        func(o *outcome) { o.NoSlot-- },
		"two outcomes":      func(o *outcome) { o.Failed++ },
		"not ended":         func(o *outcome) { o.Ended-- },
		"attempts":          func(o *outcome) { o.Counted++ },
		"seconds":           func(o *outcome) { o.BegunAt[0]++ },
		"seconds lost":      func(o *outcome) { o.LostAt[0]++ },
		"no answer":         func(o *outcome) { o.Answered = 5 },
		"no request":        func(o *outcome) { o.Answered = 12 },
		"requests from air": func(o *outcome) { o.Requests = 13 },
		"too many attempts": func(o *outcome) { o.MostAttempts = 9 },
	} {
		o := good()
		change(&o)
		require.Error(t, o.check(8), name)
	}
}

// TestFigures has the text of a cell, of one run and of two.
func TestFigures(t *testing.T) {
	c := cell{From: time.Second, Down: 2 * time.Second, Duration: 12 * time.Second}
	at := func(lost ...int) (o outcome) {
		o.LostAt = lost
		for range lost {
			o.BegunAt = append(o.BegunAt, 10)
		}
		o.Begun = sum(o.BegunAt)
		o.Done = o.Begun - sum(lost)
		return o
	}
	twice := []cell{c, c}
	once := at(0, 10, 10, 5, 5, 1, 0, 0, 0, 0, 0, 0)
	never := at(0, 10, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9)
	atOnce := at(0, 10, 10, 1, 1, 1, 0, 0, 0, 0, 0, 0)

	require.Equal(t, "26, 2 s", figures(twice[:1], []outcome{once}))
	require.Equal(t, "26 to 84, 2 s to never", figures(twice, []outcome{never, once}))
	require.Equal(t, "19, 0 s", figures(twice, []outcome{atOnce, atOnce}))
	require.Equal(t, []int{8, 16}, []int{find(clients, "half").perProcess(), int(capacity) / processes})
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-no"}, {"-server", "x"}, {"-client", "none,x"}, {"-load", "0"}, {"-trouble", "x"},
		{"-from", "60s"}, {"-down", "0"}, {"-duration", "2h"}, {"-runs", "0"}, {"-lanes", "0"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String(), args)
	}
	require.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}
