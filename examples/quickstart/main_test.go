package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFetch(t *testing.T) {
	for _, test := range []struct {
		statuses []int // the last one is repeated
		requests int
		err      string
	}{
		{[]int{200}, 1, ""},
		{[]int{204}, 1, ""},
		{[]int{404}, 1, "404 Not Found"},
		{[]int{408, 404}, 2, "404 Not Found"},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.statuses[min(requests, len(test.statuses)-1)])
			requests++
		}))
		_, err := fetch(context.Background(), server.URL)
		server.Close()
		require.Equal(t, test.requests, requests)
		if test.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.err)
		}
	}
}

// The end of the context ends a request that hangs, and the loop.
func TestFetchContext(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := fetch(ctx, server.URL)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	_, err = fetch(context.Background(), strings.Replace(server.URL, "http", ":", 1))
	require.Contains(t, err.Error(), "missing protocol scheme")
}
