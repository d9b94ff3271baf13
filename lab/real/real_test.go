//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
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
	for line := ""; !strings.Contains(line, "the server is stopped"); {
		var err error
		line, err = p.lines.ReadString('\n')
		require.NoError(t, err, line)
	}
}

// tested returns a server that needs no database, and one that needs PostgreSQL if there is one.
func tested() string {
	if folder, _ := findPostgres(); folder == "" {
		return "fifo"
	}
	return "fifo,sql"
}

var shortCell = []string{"-way", "slots-budget", "-from", "1s", "-after", "3s", "-seeds", "1", "-server", tested()}

// TestCells measures short cells side by side. Not everything is lost.
func TestCells(t *testing.T) {
	p := begin(t, append(shortCell, "-trouble", "restart:1s,half:1s,fail")...)
	said := p.requireGone(t)
	require.NoError(t, p.Wait(), said)
	for server := range strings.SplitSeq(tested(), ",") {
		for _, trouble := range []string{"all clients restarted while it is down for 1 s", "half of the capacity for 1 s", "30 % of the requests fail"} {
			row := "| " + rows[server].title + " | " + trouble + ", load 0.8 |"
			require.Regexp(t, regexp.QuoteMeta(row)+` \d\d?(\.\d)? \|\n`, p.stdout.String())
		}
	}
	for _, step := range []string{"the server is stopped", "the clients are restarted", "the server goes on", "it begins", "it ends"} {
		require.Contains(t, said, step)
	}
}

// TestEnd ends the command while its servers are stopped. The table says what was not measured.
func TestEnd(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		p := begin(t, append(shortCell, "-trouble", "down:50s")...)
		p.requireStop(t)
		require.NoError(t, p.Process.Signal(signal))
		p.requireGone(t)
		require.Error(t, p.Wait())
		require.Equal(t, signal == syscall.SIGTERM, strings.Contains(p.stdout.String(), "| not measured |"))
	}
}

// TestServer sends requests to a server that works in this process, in each trouble.
func TestServer(t *testing.T) {
	for _, row := range []struct {
		trouble string
		status  int
		takes   time.Duration
	}{
		{"none", 200, 350 * time.Millisecond},
		{half, 200, 600 * time.Millisecond},
		{broken, 500, 350 * time.Millisecond},
		{refuse, 503, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{do: opened(t, "context")}
			s.trouble.Store(row.trouble)
			start := time.Now()
			require.Equal(t, row.status, request(t.Context(), s), row.trouble)
			require.Equal(t, row.takes, time.Since(start), row.trouble)
		})
	}
}

// TestServerFail counts the requests that fail at random.
func TestServerFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{do: opened(t, "context")}
		s.trouble.Store(fail)
		failed := 0
		for range 1000 {
			if request(t.Context(), s) == 500 {
				failed++
			}
		}
		require.InDelta(t, 300, failed, 80)
	})
}

// TestServerContext sends requests of clients that leave. A server that heeds their contexts does the next ones
// immediately.
func TestServerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{do: opened(t, "context")}
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			go request(ctx, s)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		start := time.Now()
		require.Equal(t, 200, request(t.Context(), s))
		require.Equal(t, 350*time.Millisecond, time.Since(start))
	})
}

func opened(t *testing.T, server string) worker {
	t.Helper()
	do, err := rows[server].open("")
	require.NoError(t, err)
	return do
}

// request returns the status of a request whose work takes 250 ms, and its answer 100 ms besides.
func request(ctx context.Context, s *server) int {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/?work=250ms&besides=100ms", nil))
	return w.Code
}

// TestFleet restarts the clients, and has more of them, in the middle of an operation.
func TestFleet(t *testing.T) {
	f := newFleet(cell{way: "slots", trouble: trouble{load: 0.8}}, "")
	old := f.begin(0, 0, 0)
	require.NoError(t, f.grow())
	require.Len(t, f.programs, crowd*processes)
	require.Same(t, old, f.begin(0, 0, 0))
	require.NoError(t, old.life.Err())

	require.NoError(t, f.restart())
	require.Len(t, f.programs, processes)
	require.NotContains(t, f.programs, old)
	require.Error(t, old.life.Err())
	require.NotSame(t, f.programs[0].retrier.Slots, f.programs[1].retrier.Slots)
	require.Equal(t, 3, f.report.begun+1)
}

// TestRequest asks for work that varies, and for answers that do not.
func TestRequest(t *testing.T) {
	f := newFleet(cell{way: "none"}, "address")
	require.Equal(t, "http://address/?work=200ms&besides=0s", f.request(2))
	f.answer = 350 * time.Millisecond
	require.Equal(t, "http://address/?work=100ms&besides=250ms", f.request(2))
}

func TestSlotCounts(t *testing.T) {
	require.Equal(t, 7, numbered(0.6).Limit())
	require.Equal(t, 10, numbered(0.8).Limit())
	require.Equal(t, 1, numbered(0.01).Limit())
}

func TestTroubles(t *testing.T) {
	troubles, err := parseTroubles("none@0.9,down,half:90s,restart:5s@0.6")
	require.NoError(t, err)
	require.Equal(t, []trouble{
		{"none", 0, 0.9}, {"down", 10 * time.Second, 0.8}, {"half", 90 * time.Second, 0.8}, {"restart", 5 * time.Second, 0.6},
	}, troubles)
	require.Equal(t, "half of the capacity for 90 s, load 0.8", troubles[2].String())
}

func TestSpan(t *testing.T) {
	require.Equal(t, "25–50", span([]report{{begun: 4, done: 2}, {}, {begun: 4, done: 3}}))
	require.Equal(t, "0.5", span([]report{{begun: 200, done: 199}}))
	require.Equal(t, "not measured", span([]report{{}}))
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-no"}, {"-server", "x"}, {"-way", "none,x"}, {"-from", "-1s"}, {"-after", "0"}, {"-seeds", "0"},
		{"-lanes", "0"}, {"-answer", "50ms"}, {"-trouble", "x"}, {"-trouble", "down:x"}, {"-trouble", "down:0s"},
		{"-trouble", "none:1s"}, {"-trouble", "down@x"}, {"-trouble", "down@2"}, {"-trouble", ""},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String(), args)
	}
	require.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}
