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
	callTimeout    = 5 * time.Second // limits a call, with its attempts and waits
)

var errNotFound = errors.New("not found")

// newTransport returns a transport for one service.
func newTransport(base http.RoundTripper) *httpretry.Transport {
	return &httpretry.Transport{
		Base:           base,
		AttemptTimeout: attemptTimeout,
		Slots:          new(backoff.Slots), // nil would do, but shows no metrics
		Budget:         new(backoff.Budget),
		Policy: func() backoff.BackOff {
			return backoff.NewExponentialBackOff(backoff.WithInitialInterval(100 * time.Millisecond))
		},
		Done: func(req *http.Request, _ int, err error) {
			*req.Context().Value(reason{}).(*error) = err
		},
	}
}

// reason is the key of a context's value for the error that Done is called with. A response, such as a 503, does not say
// why there were no more retries.
type reason struct{}

// get returns the page at url.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	var why error
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, reason{}, &why), callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}

	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case why != nil:
		return nil, why
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case resp.StatusCode != http.StatusOK:
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}
