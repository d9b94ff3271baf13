//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests run this program as people do, by the word "command", and the program runs itself as a server.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "command":
		os.Exit(run(os.Args[2:], os.Stdout, os.Stderr))
	case len(os.Args) > 1 && os.Args[1] == serve:
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

// begin runs the program with flags.
func begin(t *testing.T, flags ...string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { read.Close() })

	command := exec.Command(program, append([]string{"command"}, flags...)...)
	p := &process{Cmd: command, stderr: read, lines: bufio.NewReader(read)}
	p.Stdout, p.Stderr = &p.stdout, write
	require.NoError(t, p.Start())
	require.NoError(t, write.Close())
	require.NoError(t, read.SetReadDeadline(time.Now().Add(time.Minute)))
	return p
}

// requireGone requires that all processes end soon, and returns what they said: standard error ends with the last of
// them.
func (p *process) requireGone(t *testing.T) string {
	t.Helper()
	rest, err := io.ReadAll(p.lines)
	require.NoError(t, err, "a process is left")
	return string(rest)
}

// requireStop reads standard error up to the line that says that a server is stopped.
func (p *process) requireStop(t *testing.T) {
	t.Helper()
	for line := ""; !strings.Contains(line, syscall.SIGSTOP.String()); {
		var err error
		line, err = p.lines.ReadString('\n')
		require.NoError(t, err, line)
	}
}

// rows returns a row that needs no database, and one that needs PostgreSQL if there is one.
func rows() string {
	if folder, _ := findPostgres(); folder == "" {
		return "fifo"
	}
	return "fifo,pgxpool"
}

var shortCell = []string{"-client", "own-budget", "-from", "1s", "-server", rows()}

// TestCells measures short cells side by side. Not everything is lost.
func TestCells(t *testing.T) {
	p := begin(t, append(shortCell, "-down", "1s", "-duration", "7s")...)
	said := p.requireGone(t)
	require.NoError(t, p.Wait(), said)
	for row := range strings.SplitSeq(rows(), ",") {
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(servers[row].title)+` \| \d\d? \|$`, p.stdout.String())
	}
}

// TestEnd ends the command while its servers are stopped.
func TestEnd(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		p := begin(t, append(shortCell, "-down", "50s", "-duration", "60s")...)
		p.requireStop(t)
		require.NoError(t, p.Process.Signal(signal))
		p.requireGone(t)
		require.Error(t, p.Wait())
	}
}

func TestSlotCounts(t *testing.T) {
	require.Equal(t, 7, ownRate(0.6))
	require.Equal(t, 10, ownRate(0.8))
	require.Equal(t, 1, ownRate(0.01))
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-no"}, {"-server", "x"}, {"-client", "none,x"}, {"-from", "60s"}, {"-down", "0"}, {"-duration", "2h"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String(), args)
	}
	require.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}
