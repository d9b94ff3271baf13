package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWrongCallsExitWith2(t *testing.T) {
	for message, args := range map[string][]string{
		"flag provided but not defined: -nosuch":   {"-nosuch"},
		`unexpected argument "extra"`:              {"extra"},
		"-attempts must be at least 1":             {"-attempts", "0"},
		"-timeout must be longer than zero":        {"-timeout", "-1s"},
		`-url "ftp://x" is not an http or https`:   {"-url", "ftp://x"},
		`-url "nonsense" is not an http or https`:  {"-url", "nonsense"},
		`invalid value "many" for flag -attempts`:  {"-attempts", "many"},
		`invalid value "-1" for flag -attempts`:    {"-attempts", "-1"},
		`invalid value "later" for flag -timeout:`: {"-timeout", "later"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(context.Background(), args, &stdout, &stderr), args)
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}
}

func TestURLOfTheUsersOwn(t *testing.T) {
	for status, want := range map[int]int{200: 0, 404: 1, 403: 1} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		defer server.Close()
		var stdout, stderr bytes.Buffer
		require.Equal(t, want, run(context.Background(), []string{"-v", "-url", server.URL}, &stdout, &stderr))
		require.Contains(t, stdout.String(), "after 1 attempts")
	}
}

// A Ctrl-C during the waits ends the program at once, and each page says why.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stdout := &interruptingWriter{after: "page=/limited", interrupt: cancel}
	start := time.Now()
	require.Equal(t, 1, run(ctx, []string{"-timeout", "1h"}, stdout, stdout))
	require.Contains(t, stdout.String(), "context canceled: 429 Too Many Requests (retry after 1s)")
	require.Regexp(t, "FAIL +/limited +1 ", stdout.String())
	require.Less(t, time.Since(start), time.Minute)
}

type interruptingWriter struct {
	bytes.Buffer
	after     string
	interrupt func()
}

func (w *interruptingWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.after)) {
		w.interrupt()
	}
	return w.Buffer.Write(p)
}
