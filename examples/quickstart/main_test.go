package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestFetch(t *testing.T) {
	tests := []struct {
		statuses []int
		body     string
		err      string
	}{
		{[]int{200}, "hello", ""},
		{[]int{404}, "", "unexpected status 404"},
		{[]int{408, 200}, "hello", ""},
	}
	for _, test := range tests {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n := requests.Add(1)
			w.WriteHeader(test.statuses[n-1])
			fmt.Fprint(w, "hello")
		}))
		body, err := fetch(context.Background(), server.URL)
		server.Close()

		require.EqualValues(t, len(test.statuses), requests.Load())
		require.Equal(t, test.body, body)
		if test.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.err)
		}
	}
}

// The end of the context ends an attempt that hangs, and the loop.
func TestFetchContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()

	_, err := fetch(ctx, server.URL)
	require.ErrorIs(t, err, context.Canceled)
}

// A wait that the server asks for, and that takes longer than fetch may, is not begun.
func TestFetchLongRetryAfter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	_, err := fetch(context.Background(), server.URL)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Contains(t, err.Error(), "unexpected status 503")
}

// To try a bad URL again cannot help.
func TestBadURL(t *testing.T) {
	_, err := get(context.Background(), "://nowhere")
	var mark *backoff.PermanentError
	require.True(t, errors.As(err, &mark), "%v", err)
}

func TestCheck(t *testing.T) {
	tests := []struct {
		status     int
		retryAfter string
		permanent  bool
		wait       time.Duration
	}{
		{status: 404, permanent: true},
		{status: 429, retryAfter: "2", wait: 2 * time.Second},
		{status: 503},
		{status: 503, retryAfter: "soon"},
	}
	for _, test := range tests {
		resp := &http.Response{StatusCode: test.status, Header: http.Header{}}
		resp.Header.Set("Retry-After", test.retryAfter)

		err := check(resp)
		require.Contains(t, err.Error(), fmt.Sprint("unexpected status ", test.status))

		var mark *backoff.PermanentError
		require.Equal(t, test.permanent, errors.As(err, &mark), test.status)

		var asked *backoff.RetryAfterError
		if errors.As(err, &asked) {
			require.Equal(t, test.wait, asked.Duration, test.status)
		}
	}
	require.NoError(t, check(&http.Response{StatusCode: http.StatusNoContent}))
}
