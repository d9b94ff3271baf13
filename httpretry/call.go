package httpretry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// A call is a request with all its attempts. What ends it is an answer: a response after which there is no reason for
// another attempt.
type call struct {
	transport  *Transport
	request    *http.Request
	resendable bool          // it can be sent again
	idempotent bool          // and that does no harm, whatever the server has done with it
	timeout    time.Duration // of an attempt; zero is none
	attempts   int
	resent     atomic.Int32  // how often net/http has sent the request again by itself
	last       *attempt      // nil before the first attempt
	length     length        // of the request's body
	trailer    http.Header   // the request's, before a body was read, which may set its values
	turn       chan struct{} // holds one value while a body is read that may set the Trailer's values
}

// run sends the request, once it has a slot, until there is an answer or there must not be another attempt.
//
// The Retrier calls notify before each wait, and notify drops the attempt's response. So one that is left in the end was
// followed by no attempt, and result returns it.
//
// The context that the Retrier gives to an attempt is used for its time alone, by judge. It would end an attempt that
// makes progress, and a response that the caller has not read.
func (c *call) run() error {
	t := c.transport
	c.resendable = resendable(c.request)
	c.idempotent = c.resendable && t.idempotent(c.request)
	c.timeout = t.attemptTimeout(c.idempotent)
	c.trailer = c.request.Trailer.Clone()
	if c.trailer != nil {
		c.turn = make(chan struct{}, 1)
	}

	retrier := backoff.Retrier{
		AttemptTimeout: cmp.Or(c.timeout, -1),
		Slots:          t.Slots,
		MaxAttempts:    t.MaxAttempts,
		MaxRetryAfter:  t.MaxRetryAfter,
		Policy:         t.Policy,
		Notify:         c.notify,
	}
	if c.resendable { // another request must not put anything into a budget
		retrier.Budget = t.Budget
	}
	return retrier.Do(c.request.Context(), func(ctx context.Context) error {
		return c.judge(ctx, c.attempt())
	})
}

// attempt makes an attempt. It returns nil if that brings an answer, and otherwise an error for the Retrier.
func (c *call) attempt() error {
	body := c.request.Body
	if c.attempts > 0 && hasBody(c.request) {
		var err error
		body, err = c.getBody()
		if err != nil {
			return backoff.Permanent(err)
		}
	}

	c.attempts++
	c.last = newAttempt(c, body)
	err := c.last.send()
	if err != nil {
		return c.checkError(err)
	}
	return c.checkResponse(c.last.response)
}

// getBody returns the request's body anew.
func (c *call) getBody() (io.ReadCloser, error) {
	body, err := c.request.GetBody()
	if err == nil && body == nil {
		return nil, errors.New("http: the request's GetBody returned nil")
	}
	return body, err
}

// checkError returns err, marked as permanent if there must not be another attempt after it.
func (c *call) checkError(err error) error {
	if c.request.Context().Err() != nil {
		return err // the Retrier says why the call has ended
	}
	mayResend := c.idempotent || c.resendable && c.last.notSent(err)
	if !mayResend || invalidRequest(err) || !c.transport.retryable(c.request, nil, err) {
		return backoff.Permanent(err)
	}
	return err
}

// checkResponse returns nil if resp is an answer, and an error if it tells of a failure: with the wait that the server
// asks for, or marked as permanent if there must not be another attempt after it.
func (c *call) checkResponse(resp *http.Response) error {
	mayResend := c.mayResendAfter(resp.StatusCode)
	if mayResend && c.transport.retryable(c.request, resp, nil) {
		return backoff.RetryAfter(statusError(resp), retryAfter(resp.Header))
	}

	// A failure that ends the call. The budget, the slots and Done learn of it.
	failed := !mayResend && Retryable(resp, nil)
	if failed || resp.StatusCode == http.StatusGatewayTimeout {
		return backoff.Permanent(statusError(resp))
	}
	return nil
}

// mayResendAfter reports whether the request may be sent again after a response with this status.
func (c *call) mayResendAfter(status int) bool {
	switch status {
	case http.StatusTooManyRequests:
		return c.resendable // the server has done nothing
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		// It has done nothing here, too. But only a Retryable of the user's knows whether the next attempt has another token.
		return c.idempotent || c.resendable && c.transport.Retryable != nil
	}
	return c.idempotent
}

// notify ends the last attempt before the wait, so that other requests can use its connection.
func (c *call) notify(_ context.Context, attempt int, err error, wait time.Duration) {
	c.last.finish()
	if c.transport.Notify != nil {
		c.transport.Notify(c.request, attempt, err, wait)
	}
}

// result returns what the call ends with, if the Retrier has ended with err. A response is the caller's then. It is
// not returned if the Retrier has ended because the context has.
func (c *call) result(err error) (*http.Response, error) {
	if c.last == nil || c.last.response == nil {
		return nil, err
	}
	ended := c.request.Context().Err()
	if ended != nil && errors.Is(err, ended) {
		return nil, err
	}

	resp := c.last.response
	c.last = nil
	return resp, nil
}

// answered returns the request of the last attempt's response: the caller's, with a context that tells of the attempts.
func (c *call) answered() *http.Request {
	h := &history{
		attempts: c.attempts + int(c.resent.Load()),
		keyed:    c.idempotent && (hasKey(c.request) || !idempotent(c.request)),
	}
	h.request = c.request.WithContext(context.WithValue(c.request.Context(), historyKey{}, h))
	return h.request
}

// A history is what the context of a response's request tells of its call.
type history struct {
	request  *http.Request // whose context has it; others, whose contexts were made from that one, have not been sent by us
	attempts int
	keyed    bool // the server can tell that an attempt is another one of the same request
}

type historyKey struct{}

// historyOf returns the history of resp. It is zero if no Transport of this package has received resp.
func historyOf(resp *http.Response) history {
	if resp == nil || resp.Request == nil {
		return history{}
	}
	h, ok := resp.Request.Context().Value(historyKey{}).(*history)
	if !ok || h.request != resp.Request {
		return history{}
	}
	return *h
}

// end ends what the caller does not get, however the call ends: a function of the Transport's may panic.
func (c *call) end() {
	if c.last != nil {
		c.last.discard()
	}
	if c.attempts == 0 && c.request.Body != nil {
		c.request.Body.Close()
	}
}
