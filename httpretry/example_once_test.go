package httpretry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"example.com/backoff/httpretry"
)

// once is the key of a mark in the context of a request that must not be sent again.
type once struct{}

// Retryable can turn the retries off for one request. Its response then counts as a success, for the budget too.
func Example_once() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &httpretry.Transport{
			Retryable: func(req *http.Request, resp *http.Response, err error) bool {
				return req.Context().Value(once{}) == nil && httpretry.Retryable(resp, err)
			},
		},
	}

	ctx := context.WithValue(context.Background(), once{}, true)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()

	fmt.Println(resp.Status)
	fmt.Println(requests, "request")
	// Output:
	// 503 Service Unavailable
	// 1 request
}
