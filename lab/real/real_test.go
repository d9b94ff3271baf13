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
	stderr *bufio.Reader
}

// begin runs the program with flags.
func begin(t *testing.T, flags ...string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	p := &process{Cmd: exec.Command(program, append([]string{"command"}, flags...)...)}
	p.Stdout = &p.stdout
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, stderr.(*os.File).SetReadDeadline(time.Now().Add(time.Minute)))
	p.stderr = bufio.NewReader(stderr)
	require.NoError(t, p.Start())
	return p
}

// requireGone requires that all processes end soon, and returns what they said: standard error ends with the last of
// them.
func (p *process) requireGone(t *testing.T) string {
	t.Helper()
	rest, err := io.ReadAll(p.stderr)
	require.NoError(t, err, "a process is left")
	return string(rest)
}

// requireStop reads standard error up to the line that says that a server is stopped.
func (p *process) requireStop(t *testing.T) {
	t.Helper()
	for line := ""; !strings.Contains(line, "the server is stopped"); {
		var err error
		line, err = p.stderr.ReadString('\n')
		require.NoError(t, err, line)
	}
}

var shortCell = []string{"-way", "slots-budget", "-from", "1s", "-after", "3s", "-seeds", "1", "-server", "fifo"}

// TestCells measures short cells side by side. Not everything is lost.
func TestCells(t *testing.T) {
	p := begin(t, append(shortCell, "-trouble", "restart:1s,half:1s@0.6,fail,hang:1s,none")...)
	said := p.requireGone(t)
	require.NoError(t, p.Wait(), said)
	for _, row := range []string{
		"down, all clients restart, 1 s, load 0.8", "half of the capacity, 1 s, load 0.6", "30 % of the requests fail, load 0.6",
		"one of three servers is down, 1 s, load 0.6", "none, load 0.9",
	} {
		require.Regexp(t, row+`, a queue that ignores cancellation +[0-3](\.\d)? s, \d\d?(\.\d)? %\n`, p.stdout.String())
	}
	for _, step := range []string{"the server is stopped", "the clients are restarted", "the server goes on", "it begins", "it ends"} {
		require.Contains(t, said, step)
	}
}

// TestEnd ends the command while its server is stopped.
func TestEnd(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		p := begin(t, append(shortCell, "-trouble", "down:50s")...)
		p.requireStop(t)
		require.NoError(t, p.Process.Signal(signal))
		p.requireGone(t)
		require.Error(t, p.Wait())
	}
}

// TestServer sends requests to a server that works in this process.
func TestServer(t *testing.T) {
	for trouble, takes := range map[string]time.Duration{none: 350 * time.Millisecond, half: 600 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer("context", workers)
			s.trouble.Store(trouble)
			start := time.Now()
			require.Equal(t, 200, request(t.Context(), s), trouble)
			require.Equal(t, takes, time.Since(start), trouble)
		})
	}
}

// TestServerFail counts the requests that fail at random.
func TestServerFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("context", workers)
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

// TestServerContext sends requests of clients that leave. A server that heeds their contexts does the next one
// immediately, the other one after theirs.
func TestServerContext(t *testing.T) {
	for name, takes := range map[string]time.Duration{"context": 350 * time.Millisecond, "fifo": 3250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(name, workers)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for range 100 {
				go request(ctx, s)
			}
			<-ctx.Done()
			synctest.Wait()
			start := time.Now()
			require.Equal(t, 200, request(t.Context(), s))
			require.Equal(t, takes, time.Since(start), name)
		})
	}
}

// request returns the status of a request whose work takes 250 ms, and its answer 100 ms besides.
func request(ctx context.Context, s *server) int {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/?work=250ms&besides=100ms", nil))
	return w.Code
}

// TestFleet restarts the clients, and has more of them, in the middle of an operation.
func TestFleet(t *testing.T) {
	f := newFleet(cell{trouble: trouble{kind: kinds["down"]}, way: "slots"}, "")
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
	require.Equal(t, 2, f.count.begun)
}

// TestRequest asks for work that varies, and for answers that do not.
func TestRequest(t *testing.T) {
	f := newFleet(cell{way: "none"}, "address")
	require.Equal(t, "http://address/?work=200ms&besides=0s", f.request(2))
	f.answer = 350 * time.Millisecond
	require.Equal(t, "http://address/?work=100ms&besides=250ms", f.request(2))
}

// TestTrouble has the usual load and duration of a trouble, and others.
func TestTrouble(t *testing.T) {
	for text, want := range map[string]string{
		"down":     "down, 10 s, load 0.8",
		"down:60s": "down, 60 s, load 0.8",
		"half@0.6": "half of the capacity, 60 s, load 0.6",
		"fail":     "30 % of the requests fail, load 0.6",
		"hang:10s": "one of three servers is down, 10 s, load 0.6",
		"none@0.5": "none, load 0.5",
	} {
		got, err := parseTrouble(text)
		require.NoError(t, err)
		require.Equal(t, want, got.String())
	}
	require.Equal(t, "0.5–1.0 s, 10–20 %", trouble{kind: kind{load: 0.5}}.lost([]count{{begun: 200, done: 180}, {begun: 200, done: 160}}))
}

// TestProxy sends each request to the next server.
func TestProxy(t *testing.T) {
	var servers []*child
	for _, name := range []string{"a", "b", "c"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, name) }))
		defer server.Close()
		servers = append(servers, &child{address: server.Listener.Addr().String()})
	}
	address, end, err := startProxy(servers)
	require.NoError(t, err)
	defer end()

	var answers strings.Builder
	for range 6 {
		resp, err := http.Get("http://" + address)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		answers.WriteString(string(body))
	}
	require.Equal(t, "bcabca", answers.String())
}

func TestSlotCounts(t *testing.T) {
	require.Equal(t, 7, numbered(0.6).Limit())
	require.Equal(t, 10, numbered(0.8).Limit())
	require.Equal(t, 1, numbered(0.01).Limit())
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"more"}, {"-no"}, {"-server", "x"}, {"-way", "none,x"}, {"-trouble", "x"}, {"-from", "-1s"}, {"-after", "0"},
		{"-seeds", "0"}, {"-lanes", "0"}, {"-answer", "50ms"},
		{"-trouble", "down:x"}, {"-trouble", "down:-1s"}, {"-trouble", "down@0"}, {"-trouble", "down@1.1"}, {"-trouble", "half:1s@x"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String(), args)
	}
	require.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}
