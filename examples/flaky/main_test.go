package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsageErrors(t *testing.T) {
	for message, args := range map[string][]string{
		"flag provided but not defined: -nosuch":   {"-nosuch"},
		"unexpected argument; a URL needs -url":    {"extra"},
		"-attempts must be at least 1":             {"-attempts", "0"},
		"-timeout must be longer than zero":        {"-timeout", "-1s"},
		"-url has an invalid port: 65536":          {"-url", "http://x:65536"},
		`invalid value "many" for flag -attempts`:  {"-attempts", "many"},
		`invalid value "-1" for flag -attempts`:    {"-attempts", "-1"},
		`invalid value "later" for flag -timeout:`: {"-timeout", "later"},
	} {
		requireUsageError(t, args, message)
	}
	for _, address := range []string{"ftp://x", "nonsense", "http://:80", "http://[::1"} {
		requireUsageError(t, []string{"-url", address}, "-url is not an http or https URL")
	}
}

func requireUsageError(t *testing.T, args []string, message string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run(args, &stdout, &stderr), args)
	require.Contains(t, stderr.String(), message)
	require.Empty(t, stdout.String())
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "retries what may be retried")
	for _, p := range pages() {
		require.Regexp(t, p.path+" +"+p.does+"\n", stderr.String())
	}
}

func TestURL(t *testing.T) {
	for _, test := range []struct {
		status   int
		header   http.Header
		exit     int
		attempts int
	}{
		{200, nil, 0, 1},
		{404, nil, 1, 1},
		{403, nil, 1, 1},
		{503, nil, 1, 2},
		{503, http.Header{"Retry-After": {"61"}}, 1, 1}, // longer than a page may take
		{302, http.Header{"Location": {"/"}}, 1, 1},
		{302, http.Header{"Location": {"ftp://x"}}, 1, 1},
		{302, http.Header{"Location": {"http://127.0.0.1:65536"}}, 1, 1},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name := range test.header {
				w.Header().Set(name, test.header.Get(name))
			}
			w.WriteHeader(test.status)
		}))
		var stdout, stderr bytes.Buffer
		require.Equal(t, test.exit, run([]string{"-v", "-attempts", "2", "-url", server.URL}, &stdout, &stderr))
		require.Contains(t, stdout.String(), fmt.Sprintf("(attempts: %d, ", test.attempts), "%+v", test)
		server.Close()
	}
}

// A URL may hold a password. Neither the output nor an error shows it.
func TestURLPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, password, _ := r.BasicAuth(); {
		case password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/moved":
			w.Header().Set("Location", "ftp://me:secret@localhost")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	host, closedHost := server.Listener.Addr().String(), closed.Listener.Addr().String()
	for _, test := range []struct {
		url   string
		exit  int
		shown string
	}{
		{"http://me:secret@" + host, 0, "http://me:xxxxx@" + host},
		{"http://me:secret@" + host + "/busy", 1, "503"},
		{"http://me:secret@" + host + "/moved", 1, "redirected"},
		{"http://me:secret@" + closedHost, 1, "refused"},
		{"http://me:secret@" + host + "0000", 2, "invalid port"},
		{"http://me:secret@" + host + "x", 2, "is not an http"},
		{"http://me:secret@" + host + "/%zz", 2, "is not an http"},
		{"http://me:secret@[", 2, "is not an http"},
		{"ftp://me:secret@" + host, 2, "is not an http"},
		{"me:secret@" + host, 2, "is not an http"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, test.exit, run([]string{"-v", "-attempts", "2", "-url", test.url}, &stdout, &stderr), test.url)
		output := stdout.String() + stderr.String()
		require.Contains(t, output, test.shown, test.url)
		require.NotContains(t, output, "secret", test.url)
	}
	var stderr bytes.Buffer
	require.Equal(t, 2, run([]string{"http://me:secret@" + host}, io.Discard, &stderr))
	require.NotContains(t, stderr.String(), "secret")
}

func TestPermanent(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, true},
		{&net.DNSError{IsTemporary: true}, false},
		{&url.Error{Err: &tls.CertificateVerificationError{Err: errors.New("expired")}}, true},
		{&url.Error{Err: http.ErrSchemeMismatch}, true},
		{&url.Error{Err: io.EOF}, false},
		{nil, false},
	} {
		require.Equal(t, test.want, permanent(test.err), "%v", test.err)
	}
}

// A signal during the waits ends the program at once, and the summary says why each page failed.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot signal itself there")
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		stdout := &triggerWriter{text: "page=/limited", trigger: func() { require.NoError(t, self.Signal(signal)) }}
		require.Equal(t, 1, run([]string{"-timeout", "1h"}, stdout, io.Discard))
		require.Regexp(t, "FAIL +/limited .* 1 .* context canceled.*: 429 Too Many Requests", stdout.String())
		require.Contains(t, stdout.String(), "pages ended as they should")
	}
}

// triggerWriter calls trigger when text is written.
type triggerWriter struct {
	bytes.Buffer
	text    string
	trigger func()
}

func (w *triggerWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.trigger()
	}
	return w.Buffer.Write(p)
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputError(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, 1, run(nil, fullWriter{}, &stderr))
	require.Equal(t, "flaky: output: no space left on device\n", stderr.String())
}
