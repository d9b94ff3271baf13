package httpretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// How much of a response that is not used is read, so that its connection can be used again. If it is longer
// or slower, a new connection costs less.
const (
	discardBytes = 64 << 10
	discardTime  = 100 * time.Millisecond
)

// maxInformational is how many answers of status 1xx an attempt takes. net/http has no limit where a trace asks for
// them.
const maxInformational = 1000

var errInformational = errors.New("http: too many informational responses")

// An attempt is a request that is sent once.
type attempt struct {
	call     *call
	number   int
	request  *http.Request      // as it is sent
	response *http.Response     // nil if there is none, or none any more
	cancel   context.CancelFunc // ends the request's context; called at the latest when the response has ended
	silence  silence
	uploads  uploads
	dropped  time.Time // when it was first to be discarded

	// What net/http has told of it:
	asked         atomic.Bool  // it looks for a connection
	connected     atomic.Bool  // it has one, so bytes of the request may have been sent
	wrote         atomic.Bool  // it has written the whole request
	informational atomic.Int32 // number of answers of status 1xx
}

// newAttempt makes the next attempt of c, with this body.
func newAttempt(c *call, body io.ReadCloser) *attempt {
	ctx, cancel := context.WithCancel(c.request.Context())
	a := &attempt{call: c, number: c.attempts, cancel: cancel}
	a.silence.start(c.timeout, cancel)

	a.request = c.request.WithContext(httptrace.WithClientTrace(ctx, a.trace()))
	a.request.Cancel = nil //lint:ignore SA1019 when an http.Client closes it, the context ends, too; a caller's has no effect
	a.request.Header = c.request.Header.Clone()
	if !c.idempotent {
		deleteEmptyKeys(a.request.Header)
	}
	a.request.Trailer = c.trailer.Clone()
	if c.request.URL != nil {
		url := *c.request.URL
		a.request.URL = &url
	}
	if hasBody(c.request) {
		a.request.Body = a.uploads.add(body, a)
		if c.request.GetBody != nil {
			a.request.GetBody = a.getBody
		}
	}
	return a
}

// getBody is called if net/http sends the request again by itself.
func (a *attempt) getBody() (io.ReadCloser, error) {
	body, err := a.call.getBody()
	if err != nil {
		return nil, err
	}
	return a.uploads.add(body, a), nil
}

// trace learns from net/http how far the attempt has come. If net/http sends the request again by itself, the second
// connection and the second end of writing are no progress.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { a.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			if a.connected.Swap(true) {
				a.call.resent.Add(1)
				return
			}
			a.silence.restart()
		},
		WroteHeaders: func() { a.connected.Store(true) }, // a RoundTripper of TLSNextProto may not call GotConn
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil && !a.wrote.Swap(true) {
				a.silence.restart()
			}
		},
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if a.informational.Add(1) > maxInformational {
				a.cancel() // httptrace returns the error of the caller's own trace, if there is one
				return errInformational
			}
			a.silence.restart()
			return nil
		},
	}
}

// send sends the request. If it returns nil, a.response has a body.
func (a *attempt) send() error {
	base, req := a.call.transport.base(a.request)
	resp, err := base.RoundTrip(req)
	late := a.silence.stop()
	if resp != nil && err == nil {
		a.accept(resp) // even if it is late, so that discard closes it
	}

	changed := a.call.length.err()
	switch {
	case changed != nil:
		err = backoff.Permanent(changed)
	case a.informational.Load() > maxInformational:
		err = errInformational
	case late: // what came can no longer be read
		err = a.timeoutError(err)
	case err == nil && resp == nil: // http.Client says the same
		err = backoff.Permanent(fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", base))
	}
	if err != nil {
		a.discard()
	}
	return err
}

// timeoutError returns the error of an attempt that took too long, for which Base has returned err. What Base says of a
// request that it has not sent is kept: a rate limiter may have held the request back.
func (a *attempt) timeoutError(err error) error {
	e := &timeoutError{text: fmt.Sprintf("no response within %v, attempt %d", a.call.timeout, a.number)}
	if !a.asked.Load() && dialFailed(err) {
		e.text += ": " + err.Error()
		e.cause = err
	}
	return e
}

// accept makes resp the response of a.
func (a *attempt) accept(resp *http.Response) {
	a.response = resp
	resp.Request = a.call.answered()
	switch {
	case resp.Body == nil || resp.Body == http.NoBody: // http.Client accepts nil, too
		resp.Body = http.NoBody
		a.cancel() // not every caller closes an empty body
	case resp.StatusCode == http.StatusSwitchingProtocols:
		a.cancel() // the connection is the caller's: net/http does not end it with the context
	default:
		resp.Body = &body{ReadCloser: resp.Body, attempt: a}
	}
}

// notSent reports whether an attempt that ended with err has sent no byte of the request. net/http tells that it looks
// for a connection, and then that it has one; it reads no body before that. Of another Base nothing is known but err.
func (a *attempt) notSent(err error) bool {
	if !a.asked.Load() {
		return dialFailed(err)
	}
	_, standard := a.call.transport.standardBase()
	return !a.connected.Load() && !(standard && a.uploads.wasRead())
}

// finish ends a before the next attempt begins: it discards the response, and waits until nothing uses the request's body
// any more. It returns within discardTime.
func (a *attempt) finish() {
	a.discard()
	if !a.asked.Load() && !a.uploads.wasRead() {
		return // a Base that takes no notice of the body need not close it, in a test for example
	}
	limit, stop := a.discardLimit()
	defer stop()
	a.uploads.end(limit)
}

// discard ends a, and returns within discardTime, whatever the response's body does. It reads what is left of the
// body, so that its connection can be used again.
func (a *attempt) discard() {
	defer a.cancel()
	resp := a.response
	if resp == nil {
		return
	}
	a.response = nil

	// One goroutine reads and then closes: a body that Base has wrapped need not be safe for both at once. (A pooled
	// gzip reader is not.)
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		if resp.StatusCode != http.StatusSwitchingProtocols { // that has no end
			io.CopyN(io.Discard, resp.Body, discardBytes)
		}
		resp.Body.Close()
	}()

	limit, stop := a.discardLimit()
	defer stop()
	select {
	case bug := <-done:
		if bug != nil {
			panic(bug) // the body's, to the caller
		}
	case <-limit.Done():
	}
}

// discardLimit returns a context that ends with the caller's, and discardTime after its first call.
func (a *attempt) discardLimit() (context.Context, context.CancelFunc) {
	if a.dropped.IsZero() {
		a.dropped = time.Now()
	}
	return context.WithDeadline(a.call.request.Context(), a.dropped.Add(discardTime))
}
