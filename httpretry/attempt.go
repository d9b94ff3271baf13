package httpretry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
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

// An attempt is a request that is sent once. Its context lives until the response has ended and, over HTTP/2,
// the request's body is written, which may be later.
type attempt struct {
	request  *http.Request
	response *http.Response     // nil if there is none
	timeout  time.Duration      // 0 if there is none
	cancel   context.CancelFunc // ends the context
	writing  atomic.Bool        // the request's body
	ended    atomic.Bool        // the response
}

func newAttempt(req *http.Request, body io.ReadCloser, timeout time.Duration) *attempt {
	ctx, cancel := context.WithCancel(req.Context())
	a := &attempt{timeout: timeout, cancel: cancel}
	if hasBody(req) {
		ctx = httptrace.WithClientTrace(ctx, a.trace())
	}

	a.request = req.WithContext(ctx)
	a.request.Header = req.Header.Clone()
	a.request.Body = body
	return a
}

// trace returns hooks that know whether the request's body is being written. A wrapper of the body would know,
// too, but net/http writes a body that it knows more cheaply.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { // again, if net/http sends the request again by itself
			a.writing.Store(true)
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			a.writing.Store(false)
			if a.ended.Load() {
				a.cancel()
			}
		},
	}
}

// send sends the request. If it returns nil, a.response has a body.
func (a *attempt) send(base http.RoundTripper) error {
	resp, late, err := a.roundTrip(base)
	switch {
	case err == nil && resp == nil: // http.Client says the same
		err = fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", base)
		return backoff.Permanent(err)
	case late:
		a.cancel()
		if err == nil && resp.Body != nil {
			resp.Body.Close() // it can no longer be read
		}
		return os.ErrDeadlineExceeded
	case err != nil:
		return err
	}

	a.response = resp
	if resp.Body == nil || resp.Body == http.NoBody { // http.Client accepts nil, too
		resp.Body = http.NoBody
		a.end() // not every caller closes what is not there
		return nil
	}
	resp.Body = &body{resp.Body, a}
	return nil
}

// roundTrip calls base, and reports whether it took longer than the timeout.
func (a *attempt) roundTrip(base http.RoundTripper) (resp *http.Response, late bool, err error) {
	if a.timeout == 0 {
		resp, err = base.RoundTrip(a.request)
		return resp, false, err
	}
	timer := time.AfterFunc(a.timeout, a.cancel)
	resp, err = base.RoundTrip(a.request)
	return resp, !timer.Stop(), err
}

// end is called when the response has ended.
func (a *attempt) end() {
	a.ended.Store(true)

	// Over HTTP/1 the end of the response ends the writing, though net/http does not always say so.
	if a.response.ProtoMajor < 2 || !a.writing.Load() {
		a.cancel()
		return
	}
	// Over HTTP/2 net/http goes on, and says nothing if it fails while it writes the header: hence a limit. An
	// attempt that is never cut off has none; its context ends with its parent at the latest.
	if a.timeout > 0 {
		time.AfterFunc(a.timeout, a.cancel)
	}
}

// discard ends a. It reads what is left of the response's body, so that its connection can be used again.
func (a *attempt) discard() {
	if a.response != nil {
		defer a.response.Body.Close()
		timer := time.AfterFunc(discardTime, a.cancel)
		io.CopyN(io.Discard, a.response.Body, discardBytes)
		timer.Stop()
	}
	a.cancel() // before Close, which over HTTP/2 otherwise waits for a Read of the request's body
}

// A body is a response's body. A Read that fails or Close ends its attempt.
type body struct {
	io.ReadCloser
	attempt *attempt
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil { // not every caller closes what has ended
		b.attempt.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.attempt.end()
	return b.ReadCloser.Close()
}
