package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		arg     string
		message string
	}{
		{"-nosuch", "flag provided but not defined: -nosuch\n"},
		{"extra", "flaky: unexpected argument \"extra\"\n"},
		{"\x1b[2J", "flaky: unexpected argument \"\\x1b[2J\"\n"},
	}
	for _, test := range tests {
		var stdout, stderr bytes.Buffer
		code := run([]string{test.arg}, &stdout, &stderr)
		require.Equal(t, 2, code)
		require.True(t, strings.HasPrefix(stderr.String(), test.message), stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestHelp(t *testing.T) {
	var stderr bytes.Buffer
	code := run([]string{"-h"}, io.Discard, &stderr)
	require.Zero(t, code)
	for _, p := range pages() {
		require.Regexp(t, p.path+" +"+p.does+"\n", stderr.String())
	}
}

// A signal ends the call that is in progress, and the program.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot signal itself there")
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)

	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		stdout := &triggerWriter{
			text:    "/busy     attempt 1: status 503",
			trigger: func() { require.NoError(t, self.Signal(signal)) },
		}
		var stderr bytes.Buffer

		code := run(nil, stdout, &stderr)
		require.Equal(t, 1, code)
		require.Equal(t, "flaky: interrupted\n", stderr.String())
	}
}

// triggerWriter calls trigger when text is written.
type triggerWriter struct {
	text    string
	trigger func()
}

func (w *triggerWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.trigger()
	}
	return len(p), nil
}

// fullWriter is a disk without space.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) {
	return 0, errors.New("no space left on device")
}

func TestOutputError(t *testing.T) {
	var stderr bytes.Buffer
	code := run(nil, fullWriter{}, &stderr)
	require.Equal(t, 1, code)
	require.Equal(t, "flaky: output: no space left on device\n", stderr.String())
}

// What a server has sent does not reach the terminal as it is.
func TestPrintable(t *testing.T) {
	var stdout bytes.Buffer
	r := &report{w: &stdout, start: time.Now(), budget: new(backoff.Budget)}

	r.retry("/busy", 1, errors.New("bad\x1b[2J\r\nheader\u202e \x9b é"), time.Second)
	require.Equal(t, " 0.0s  budget 25  /busy     attempt 1: bad?[2J??header? \uFFFD é, wait 1.00s\n", stdout.String())
}

func TestCheck(t *testing.T) {
	tests := []struct {
		status     int
		retryAfter string
		permanent  bool
		wait       time.Duration
	}{
		{status: 204, permanent: true},
		{status: 404, permanent: true},
		{status: 404, retryAfter: "2", permanent: true},
		{status: 429, retryAfter: "2", wait: 2 * time.Second},
		{status: 503},
		{status: 503, retryAfter: "soon"},
	}
	for _, test := range tests {
		name := fmt.Sprint(test.status, " ", test.retryAfter)
		resp := &http.Response{StatusCode: test.status, Header: http.Header{}}
		resp.Header.Set("Retry-After", test.retryAfter)

		err := check(resp)
		require.ErrorIs(t, err, statusError(test.status), name)

		var mark *backoff.PermanentError
		require.Equal(t, test.permanent, errors.As(err, &mark), name)

		var asked *backoff.RetryAfterError
		if errors.As(err, &asked) {
			require.Equal(t, test.wait, asked.Duration, name)
		}
	}
	require.NoError(t, check(&http.Response{StatusCode: http.StatusOK}))
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

// answering is a transport without a network.
type answering func() *http.Response

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return a(), nil
}

// Each attempt closes the body of its response, whatever the status.
func TestBodyClosed(t *testing.T) {
	for _, status := range []int{200, 404, 503} {
		sent := &body{Reader: strings.NewReader("hello")}
		c := newClient("http://localhost", new(backoff.Budget), nil)
		c.http.Transport = answering(func() *http.Response {
			return &http.Response{StatusCode: status, Body: sent}
		})

		received, err := c.attempt(context.Background(), "/news")
		require.Equal(t, status == 200, err == nil, status)
		require.Equal(t, status == 200, received == "hello", status)
		require.True(t, sent.closed, status)
	}
}
