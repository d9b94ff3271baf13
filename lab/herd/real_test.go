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

// command runs this program with flags, and returns its standard error. It ends with the last process that has it.
func command(t *testing.T, stdout io.Writer, flags ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, append([]string{"command"}, flags...)...)
	c.Stdout = stdout
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, stderr.(*os.File).SetReadDeadline(time.Now().Add(time.Minute)))
	require.NoError(t, c.Start())
	return c, bufio.NewReader(stderr)
}

// Servers get into trouble, and out of it: not everything is lost, and no server is left.
func TestServers(t *testing.T) {
	var results = map[string]history{}
	p := serverRows(usual(t))[0]
	p.from, p.after = 1, 2
	ways, err := waysOf("slots")
	require.NoError(t, err)
	for name, change := range map[string]change{
		"down":  down(1),
		"half":  left(0.5, 1),
		"fails": happens(failing, 1, 1),
		"one":   func(p *plan) { p.servers = 9; backends(1, 3, 1)(p) },
	} {
		h, err := measureOne(t.Context(), ways[0], p.row(name, change), os.Stderr)
		require.NoError(t, err)
		require.Less(t, h.tallies[0].share(), 70.0, name)
		results[name] = h
	}
	require.Greater(t, results["fails"].requests, results["fails"].begun+20)
	require.Greater(t, results["down"].tallies[0].took[len(results["down"].tallies[0].took)-1], 0.0)
}

// The command ends while its servers are stopped, and they end with it.
func TestEnd(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		var stdout bytes.Buffer
		c, stderr := command(t, &stdout, "-scenario", "servers", "-only", "down for 60 s", "-from", "1ms", "-ways", "slots", "-seeds", "1")
		line, err := stderr.ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(line, "the server is stopped\n"), line)
		require.NoError(t, c.Process.Signal(signal))

		_, err = io.ReadAll(stderr)
		require.NoError(t, err, "a process is left")
		require.Error(t, c.Wait())
		require.Empty(t, stdout.String())
	}
}
