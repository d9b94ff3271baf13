//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Servers get into trouble, and out of it: not everything is lost.
func TestServers(t *testing.T) {
	ways, err := waysOf("slots")
	require.NoError(t, err)
	p := serverRows(usual(t))[0]
	p.from, p.after = 1, 2
	for name, change := range map[string]change{
		"down":  down(1),
		"half":  left(0.5, 1),
		"fails": happens(failing, 1, 1),
		"one":   func(p *plan) { p.servers = 9; backends(1, 3, 1)(p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := measureOne(ways[0], p.row(name, change), io.Discard)
			require.NoError(t, err)
			require.Less(t, h.tallies[0].share(), 70.0)
			require.Greater(t, h.requests, h.begun/2)
			if name == "fails" {
				require.Greater(t, h.requests, h.begun+20)
			}
		})
	}
}

// The command ends while its server is stopped, and so does that: standard error ends with the last process that has it.
func TestEnd(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		c := exec.Command(program, "command", "-scenario", "servers", "-only", "down for 60 s", "-from", "1ms", "-ways", "slots", "-seeds", "1")
		pipe, err := c.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, pipe.(*os.File).SetReadDeadline(time.Now().Add(time.Minute)))
		require.NoError(t, c.Start())

		stderr := bufio.NewReader(pipe)
		line, err := stderr.ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(line, "the server is stopped\n"), line)
		require.NoError(t, c.Process.Signal(signal))
		_, err = io.ReadAll(stderr)
		require.NoError(t, err, "a process is left")
		require.Error(t, c.Wait())
	}
}
