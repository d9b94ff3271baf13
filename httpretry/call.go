package httpretry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"example.com/backoff"
)

// A call is a request with all its attempts.
type call struct {
	transport  *Transport
	request    *http.Request
	repeatable bool          // it can be sent again
	idempotent bool          // and may be, whatever the server has done with it
	timeout    time.Duration // of an attempt; zero is none
	attempts   int
	last       *attempt // nil before the first attempt
	length     length   // of the request's body
}

func newCall(t *Transport, req *http.Request) *call {
	c := &call{transport: t, request: req}
	c.repeatable = repeatable(req)
	c.idempotent = c.repeatable && t.idempotent(req)
	c.timeout = t.attemptTimeout(c.idempotent)
	return c
}

// run sends the request, once it has a slot, until the outcome is an answer or there must not be another attempt.
func (c *call) run() error {
	t := c.transport
	retrier := backoff.Retrier{
		AttemptTimeout: t.AttemptTimeout, // for the slots; an attempt has its own limit
		Slots:          t.Slots,
		MaxRetries:     t.MaxRetries,
		MaxRetryAfter:  t.MaxRetryAfter,
		Policy:         t.Policy,
		Notify:         c.notify,
	}
	if c.repeatable {
		retrier.Budget = t.budget(c.request.URL)
	}

	err := retrier.Do(c.request.Context(), func(context.Context) error { return c.attempt() })
	if c.attempts == 0 && c.request.Body != nil {
		c.request.Body.Close()
	}
	return err
}

// attempt makes an attempt. It returns nil if the outcome is an answer, and otherwise an error for the loop.
func (c *call) attempt() error {
	if err := c.canceled(); err != nil {
		return err
	}
	body := c.request.Body
	if c.attempts > 0 && hasBody(c.request) {
		var err error
		body, err = c.request.GetBody()
		if err != nil {
			return backoff.Permanent(err)
		}
	}

	c.attempts++
	c.last = newAttempt(c, body)
	err := c.last.send(c.transport.base())
	if err != nil {
		return c.checkError(err)
	}
	return c.checkResponse(c.last.response)
}

// canceled returns an error if the request's Cancel channel is closed.
func (c *call) canceled() error {
	select {
	case <-c.request.Cancel: //lint:ignore SA1019 net/http heeds it
	default:
		return nil
	}

	// An http.Client closes the channel at its Timeout, which is the context's deadline, too. The context then ends
	// within the same moment, and is the reason.
	ctx := c.request.Context()
	deadline, ok := ctx.Deadline()
	if ok && !time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second): // a context that does not do what it says
		}
	}
	return backoff.Permanent(errors.New("request canceled"))
}

// checkError returns err, marked as permanent if there must not be another attempt after it.
func (c *call) checkError(err error) error {
	if canceled := c.canceled(); canceled != nil {
		return canceled
	}
	if c.request.Context().Err() != nil {
		return err // the loop ends, and says why
	}

	mayRepeat := c.idempotent || c.repeatable && c.last.notSent(err)
	if !mayRepeat || invalidRequest(err) || !c.transport.retryable(c.request, nil, err) {
		return backoff.Permanent(err)
	}
	return err
}

// checkResponse returns nil if resp is an answer, and an error if it tells of a failure: with the wait that the server
// asks for, or marked as permanent if there must not be another attempt after it.
func (c *call) checkResponse(resp *http.Response) error {
	if !c.mayRepeat(resp.StatusCode) {
		if Retryable(resp, nil) {
			return backoff.Permanent(statusError(resp)) // nil would be a success for the budget
		}
		return nil
	}
	if !c.transport.retryable(c.request, resp, nil) {
		return nil
	}
	return backoff.RetryAfter(statusError(resp), retryAfter(resp.Header))
}

// mayRepeat reports whether the request may be sent again after a response with this status.
func (c *call) mayRepeat(status int) bool {
	switch status {
	case http.StatusTooManyRequests:
		return c.repeatable
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		// The server has done nothing. Whether the next attempt has another token, a Retryable of the user's knows.
		return c.idempotent || c.repeatable && c.transport.Retryable != nil
	}
	return c.idempotent
}

// notify ends the last attempt before the wait, so that other requests can use its connection.
func (c *call) notify(_ context.Context, attempt int, err error, wait time.Duration) {
	c.discard()
	if c.transport.Notify != nil {
		c.transport.Notify(c.request, attempt, err, wait)
	}
}

// discard ends the last attempt, if there is one.
func (c *call) discard() {
	if c.last != nil {
		c.last.discard()
	}
}

// result returns what the call ends with, if the loop has ended with err.
func (c *call) result(err error) (*http.Response, error) {
	if c.last == nil || c.last.response == nil {
		return nil, err
	}
	ended := c.request.Context().Err()
	if ended != nil && errors.Is(err, ended) { // it may also have ended after the loop
		return nil, err
	}

	resp := c.last.response
	resp.Request = c.request
	c.last = nil // it is the caller's now
	return resp, nil
}
