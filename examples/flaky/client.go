package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"example.com/backoff"
)

const (
	attemptTimeout = 500 * time.Millisecond
	callTimeout    = 5 * time.Second // limits a call, with its attempts and waits
	slots          = 2               // calls in progress at once
)

// statusError is a response whose status is not 200.
type statusError int

// Error returns the number alone. What the server sent with it could be anything.
func (e statusError) Error() string {
	return fmt.Sprintf("status %d", int(e))
}

// client calls one service. It is safe for concurrent use.
type client struct {
	http    http.Client
	address string // of the service, such as http://127.0.0.1:8080
	retrier backoff.Retrier
	onRetry func(path string, attempt int, err error, wait time.Duration)
}

// newClient returns a client of the service at address.
func newClient(address string) *client {
	return &client{
		address: address,
		http: http.Client{
			Transport: http.DefaultTransport.(*http.Transport).Clone(), // connections of its own
		},
		retrier: backoff.Retrier{
			AttemptTimeout: attemptTimeout,
			Slots:          backoff.NewSlots(slots), // 3/4 × 5 calls a second × 0.5 s
			Budget:         new(backoff.Budget),
			Policy: func() backoff.BackOff {
				return backoff.NewExponentialBackOff(backoff.WithInitialInterval(100 * time.Millisecond))
			},
		},
	}
}

// get returns the page at path.
func (c *client) get(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	retrier := c.retrier // the copy shares the slots and the budget
	retrier.Notify = func(_ context.Context, attempt int, err error, wait time.Duration) {
		c.onRetry(path, attempt, err, wait)
	}
	return backoff.DoWithData(ctx, &retrier, func(ctx context.Context) (string, error) {
		return c.attempt(ctx, path)
	})
}

// attempt requests the page once, and reads its body. A GET may be repeated, so each error of the connection
// may be retried.
func (c *client) attempt(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address+path, nil)
	if err != nil {
		return "", backoff.Permanent(err)
	}

	resp, err := c.http.Do(req)
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return "", urlErr.Err // without the URL
	}
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()

	err = check(resp)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// check returns an error unless the request succeeded. The error says whether to try again, and when.
func check(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}

	err := statusError(resp.StatusCode)
	if !backoff.RetryableStatus(resp.StatusCode) {
		return backoff.Permanent(err)
	}

	// Without the header the wait is zero, and RetryAfter returns err itself.
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return backoff.RetryAfter(err, wait)
}
