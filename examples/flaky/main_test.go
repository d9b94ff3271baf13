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

func (p pipes) Addr() net.Addr { return &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// The output, in simulated time, is that in testdata but for the times. To renew it, run
// go run ./examples/flaky >examples/flaky/testdata/output.txt
func TestOutput(t *testing.T) {
	var got bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		run(t.Context(), listener, &http.Transport{DialContext: listener.dial}, &got)
	})

	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	seconds := regexp.MustCompile(` *\d+\.\d+s`)
	require.Equal(t,
		seconds.ReplaceAllString(strings.ReplaceAll(string(want), "\r\n", "\n"), " 0.0s"),
		seconds.ReplaceAllString(got.String(), " 0.0s"))
}
