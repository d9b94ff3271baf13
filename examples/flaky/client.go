package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

const (
	attemptTimeout = 500 * time.Millisecond
	callTimeout    = 5 * time.Second
)

var errNotFound = errors.New("not found")

// newTransport returns a transport for one service. It sends each attempt by base.
func newTransport(base http.RoundTripper) *httpretry.Transport {
	return &httpretry.Transport{
		Base:           base,
		AttemptTimeout: attemptTimeout,     // the longest silence of an attempt
		Slots:          new(backoff.Slots), // fewer requests at once while many time out
	}
}

// newClient returns a client that retries.
func newClient(transport *httpretry.Transport) *http.Client {
	return &http.Client{
		Timeout:   callTimeout, // for all attempts, the waits and the body together
		Transport: transport,
	}
}

// get returns the page at url.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	switch resp.StatusCode {
	case http.StatusOK:
		return io.ReadAll(resp.Body)
	case http.StatusNotFound:
		return nil, errNotFound
	default: // such as the last 503, if the retries did not help
		return nil, errors.New(resp.Status)
	}
}
