//go:build go1.25

package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are in memory, so that a synctest bubble can wait for them.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial fails if the server has gone: a client may still be making a connection that it does not need any more.
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// varying is what depends on the random waits: times, and how many calls waited when the server hung.
var varying = regexp.MustCompile(` *\d+\.\d+s|\d+ wait in line|\d+ calls have succeeded|\d+ have failed`)

// The output, in simulated time, is that in testdata but for what varies. To renew it, run
// go run ./examples/flaky >examples/flaky/testdata/output.txt
func TestOutput(t *testing.T) {
	var got bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		run(t.Context(), listener, &http.Transport{DialContext: listener.dial}, &got)
	})

	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	require.Equal(t,
		varying.ReplaceAllString(strings.ReplaceAll(string(want), "\r\n", "\n"), "…"),
		varying.ReplaceAllString(got.String(), "…"))
}
