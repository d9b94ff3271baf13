//go:build go1.25

package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are pipes in memory. A synctest bubble can wait for those, and so
// its time goes on.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return new(net.UnixAddr) }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// bubble calls f with a demo whose network and time are simulated, and whose handler is wrapped by wrap.
func bubble(t *testing.T, stdout io.Writer, wrap func(http.Handler) http.Handler, f func(*testing.T, *demo)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		handler := newServer()
		server := &http.Server{Handler: wrap(handler), ErrorLog: log.New(io.Discard, "", 0)}
		listener := newPipes()
		go func() { _ = server.Serve(listener) }()

		d := newDemo("http://localhost", handler, stdout)
		transport := d.client.http.Transport.(*http.Transport)
		transport.DialContext = listener.dial

		defer func() {
			transport.CloseIdleConnections()
			_ = server.Close()
			time.Sleep(time.Second) // until the server's connections have ended
		}()
		f(t, d)
	})
}

func same(h http.Handler) http.Handler {
	return h
}

var seconds = regexp.MustCompile(` *\d+\.\d+s`)

// The output is that in testdata, but for the times. To renew it, run
// go run ./examples/flaky >examples/flaky/testdata/output.txt
func TestOutput(t *testing.T) {
	var stdout bytes.Buffer
	bubble(t, &stdout, same, func(t *testing.T, d *demo) {
		start := time.Now()
		require.NoError(t, d.run(t.Context()))
		require.Less(t, time.Since(start), 10*time.Second)
	})

	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	require.Equal(t,
		seconds.ReplaceAllString(strings.ReplaceAll(string(want), "\r\n", "\n"), " 0.0s"),
		seconds.ReplaceAllString(stdout.String(), " 0.0s"))

	for line := range strings.Lines(stdout.String()) {
		require.LessOrEqual(t, len(line), len("\n")+80, line)
	}
}

// A call that does not end as it should ends the program.
func TestSurprise(t *testing.T) {
	unavailable := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	}
	bubble(t, io.Discard, unavailable, func(t *testing.T, d *demo) {
		err := d.run(t.Context())
		require.EqualError(t, err, "/busy ended with the error no retries left: status 503, want <nil>")
	})
}

// A server may ask for a wait that is longer than a call may take.
func TestLongRetryAfter(t *testing.T) {
	busy := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
	}
	bubble(t, io.Discard, busy, func(t *testing.T, d *demo) {
		start := time.Now()
		_, err := d.client.get(t.Context(), "/news")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, statusError(http.StatusServiceUnavailable))
		require.Zero(t, time.Since(start))
	})
}

// A server that never answers costs a call the timeouts of its attempts, and the waits between them.
func TestHungServer(t *testing.T) {
	hung := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})
	}
	bubble(t, io.Discard, hung, func(t *testing.T, d *demo) {
		start := time.Now()
		_, err := d.client.get(t.Context(), "/news")
		require.ErrorIs(t, err, errNoRetriesLeft)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(start), 4*attemptTimeout+350*time.Millisecond)
		require.LessOrEqual(t, time.Since(start), 4*attemptTimeout+700*time.Millisecond)
	})
}
