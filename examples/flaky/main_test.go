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

	"example.com/backoff"
)

// pipes is a listener whose connections are in memory, so that a synctest bubble can wait for them.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr {
	return new(net.UnixAddr)
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// runDemo runs the demo in simulated time, with handler in front of its server.
func runDemo(t *testing.T, handler func(*server) http.Handler) (output string, err error) {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		listener := make(pipes)
		httpServer := &http.Server{Handler: handler(s), ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = httpServer.Serve(listener) }()

		d := newDemo("http://localhost", s, &out)
		transport := d.client.http.Transport.(*http.Transport)
		transport.DialContext = listener.dial
		err = d.run(t.Context())

		transport.CloseIdleConnections()
		_ = httpServer.Close()
		time.Sleep(time.Second) // until the server's connections have ended
	})
	return out.String(), err
}

// The output is that in testdata, but for the times. To renew it, run
// go run ./examples/flaky >examples/flaky/testdata/output.txt
func TestOutput(t *testing.T) {
	got, err := runDemo(t, func(s *server) http.Handler { return s })
	require.NoError(t, err)

	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	seconds := regexp.MustCompile(` *\d+\.\d+s`)
	require.Equal(t,
		seconds.ReplaceAllString(strings.ReplaceAll(string(want), "\r\n", "\n"), " 0.0s"),
		seconds.ReplaceAllString(got, " 0.0s"))
}

// The first call that does not end as it should ends the demo.
func TestSurprise(t *testing.T) {
	output, err := runDemo(t, func(*server) http.Handler { return http.HandlerFunc(busy) })
	require.EqualError(t, err, "/busy ended with the error retries exhausted: status 503, want <nil>")
	require.NotContains(t, output, "/limited")
}

// Each attempt reads the status and closes the body.
func TestAttempt(t *testing.T) {
	tests := []struct {
		status     int
		retryAfter string
		err        error
	}{
		{status: 200},
		{status: 404, err: backoff.Permanent(statusError(404))},
		{status: 404, retryAfter: "2", err: backoff.Permanent(statusError(404))},
		{status: 429, retryAfter: "2", err: backoff.RetryAfter(statusError(429), 2*time.Second)},
		{status: 503, err: statusError(503)},
		{status: 503, retryAfter: "soon", err: statusError(503)},
	}
	for _, test := range tests {
		sent := &body{Reader: strings.NewReader("hello")}
		c := newClient("http://localhost")
		c.http.Transport = answering(func() *http.Response {
			header := http.Header{"Retry-After": {test.retryAfter}}
			return &http.Response{StatusCode: test.status, Header: header, Body: sent}
		})

		received, err := c.attempt(t.Context(), "/news")
		require.Equal(t, test.err, err)
		require.Equal(t, test.err == nil, received == "hello", test.status)
		require.True(t, sent.closed, test.status)
	}
}

// answering is a transport without a network.
type answering func() *http.Response

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return a(), nil
}

// body is a response's body that notes whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error {
	b.closed = true
	return nil
}
