package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/backoff"
)

const (
	maxRetries     = 3                      // for each call
	callTimeout    = 5 * time.Second        // limits a call, with its attempts and waits
	attemptTimeout = 500 * time.Millisecond // limits each attempt
	slots          = 2                      // calls in progress at once
)

// errNoRetriesLeft is in the error of a call that has made all its retries.
var errNoRetriesLeft = errors.New("no retries left")

// statusError is a response whose status is not 200.
type statusError int

// Error does not contain the text that the server sent with the status: it could be anything.
func (e statusError) Error() string {
	return fmt.Sprintf("status %d", int(e))
}

// retryFunc is called before the wait for a retry, with the number of the attempt that failed and its error. It
// must be safe for concurrent use if the client is used so.
type retryFunc func(path string, attempt int, err error, wait time.Duration)

// client calls one service. It is safe for concurrent use.
type client struct {
	http    *http.Client
	address string          // of the service, such as http://127.0.0.1:8080
	retrier backoff.Retrier // of all calls to the service
	onRetry retryFunc
}

// newClient returns a client of the service at address.
func newClient(address string, budget *backoff.Budget, onRetry retryFunc) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // connections of its own

	return &client{
		http:    &http.Client{Transport: transport},
		address: address,
		retrier: backoff.Retrier{
			AttemptTimeout: attemptTimeout,
			Slots:          backoff.NewSlots(slots),
			Policy:         policy,
			Budget:         budget,
		},
		onRetry: onRetry,
	}
}

// policy returns a new policy for one call. The context limits the time, so the policy does not.
func policy() backoff.BackOff {
	exponential := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(backoff.EqualJitter),
	)
	return backoff.WithStopCause(backoff.WithMaxRetries(exponential, maxRetries), errNoRetriesLeft)
}

// get returns the page at path, retrying as long as that may help.
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

// attempt requests the page once, and reads its body. A GET is safe to repeat, so any error of the
// connection may be retried.
func (c *client) attempt(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address+path, nil)
	if err != nil {
		return "", backoff.Permanent(err)
	}

	resp, err := c.http.Do(req)
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

	// Without the header, or with one that cannot be parsed, wait is zero and has no effect. A wait that
	// would outlast callTimeout ends the call immediately.
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return backoff.RetryAfter(err, wait)
}
