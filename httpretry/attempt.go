package httpretry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"sync"
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

// An attempt is a request that is sent once. Its context lives until the response has ended and, over HTTP/2, the
// request's body is closed, which may be later.
type attempt struct {
	call     *call
	number   int
	request  *http.Request      // as it is sent
	response *http.Response     // nil if there is none, or none any more
	cancel   context.CancelFunc // ends the request's context

	silence   silence
	asked     atomic.Bool // net/http for a connection
	dialed    atomic.Bool // to the server or its proxy
	connected atomic.Bool // so bytes of the request may have been sent
	wrote     atomic.Bool // the whole request

	mu      sync.Mutex
	uploads int   // bodies of the request that are not closed: net/http may send it again by itself
	read    int64 // bytes of the body: most that one of the uploads has read
	ended   bool  // the response
	major   int   // version of its protocol
}

// newAttempt makes the next attempt of c, with this body.
func newAttempt(c *call, body io.ReadCloser) *attempt {
	ctx, cancel := context.WithCancel(c.request.Context())
	a := &attempt{call: c, number: c.attempts, cancel: cancel}
	a.silence.start(c.timeout, cancel)

	a.request = c.request.WithContext(httptrace.WithClientTrace(ctx, a.trace()))
	a.request.Header = c.request.Header.Clone()
	if c.request.URL != nil {
		url := *c.request.URL
		a.request.URL = &url
	}
	if hasBody(c.request) {
		a.request.Body = a.upload(body)
	}
	if hasBody(c.request) && c.request.GetBody != nil {
		a.request.GetBody = a.getBody
	}
	return a
}

// trace learns from net/http how far the attempt has come.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { a.asked.Store(true) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				a.dialed.Store(true)
			}
		},
		GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil && !a.wrote.Swap(true) { // when net/http sends it again by itself, that is no progress
				a.silence.restart()
			}
		},
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			a.silence.restart()
			return nil
		},
	}
}

// getBody is called if net/http sends the request again by itself.
func (a *attempt) getBody() (io.ReadCloser, error) {
	body, err := a.call.request.GetBody()
	if err != nil {
		return nil, err
	}
	return a.upload(body), nil
}

// send sends the request. If it returns nil, a.response has a body.
func (a *attempt) send(base http.RoundTripper) error {
	resp, err := base.RoundTrip(a.request)
	late := a.silence.end()
	if resp != nil && err == nil {
		a.accept(resp)
	}

	changed := a.call.length.err()
	switch {
	case changed != nil:
		err = backoff.Permanent(changed)
	case late: // what came can no longer be read
		err = &timeoutError{fmt.Sprintf("no response within %v, attempt %d", a.call.timeout, a.number)}
	case err == nil && resp == nil: // http.Client says the same
		err = backoff.Permanent(fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", base))
	}
	if err != nil {
		a.discard()
	}
	return err
}

// notSent reports whether err says that no byte of the request was sent.
func (a *attempt) notSent(err error) bool {
	if a.connected.Load() {
		return false
	}
	_, late := err.(*timeoutError)

	// Its proxy did not connect to the server, or their handshake failed. If another Base than net/http has dialed, nobody
	// tells what it has sent.
	noTunnel := a.asked.Load() && a.dialed.Load() && !late
	return noTunnel || dialFailed(err)
}

// accept makes resp the response of a.
func (a *attempt) accept(resp *http.Response) {
	a.response = resp
	a.major = resp.ProtoMajor
	switch {
	case resp.Body == nil || resp.Body == http.NoBody: // http.Client accepts nil, too
		resp.Body = http.NoBody
		a.end() // not every caller closes what is not there
	case resp.StatusCode == http.StatusSwitchingProtocols:
		a.cancel() // the connection is the caller's
	default:
		resp.Body = &body{ReadCloser: resp.Body, attempt: a}
	}
}

// end is called when the response has ended. Over HTTP/1 that ends the writing of the request, over HTTP/2 net/http goes
// on, and the attempt ends when its body is closed.
func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.major < 2 || a.uploads == 0:
		a.cancel()
	case !a.ended && a.call.timeout > 0:
		time.AfterFunc(a.call.timeout, a.cancel) // the server may not take the rest, and net/http not say that it has stopped
	}
	a.ended = true
}

// discard ends a, within discardTime, whatever the response's body does. It reads what is left of the body, so that
// its connection can be used again.
func (a *attempt) discard() {
	defer a.cancel()
	if a.response == nil {
		return
	}
	body := a.response.Body
	a.response = nil

	// One goroutine reads and then closes: a body that Base has wrapped need not be safe for both at once. (A pooled
	// gzip reader is not.)
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		io.CopyN(io.Discard, body, discardBytes)
		body.Close()
	}()

	limit, stop := context.WithTimeout(a.call.request.Context(), discardTime)
	defer stop()
	select {
	case bug := <-done:
		if bug != nil {
			panic(bug) // the body's, to the caller
		}
	case <-limit.Done():
	}
}

// A silence ends an attempt that makes no progress for as long as its timeout. Zero is no limit.
type silence struct {
	timeout time.Duration
	mu      sync.Mutex
	timer   *time.Timer
}

func (s *silence) start(timeout time.Duration, cancel context.CancelFunc) {
	s.timeout = timeout
	if timeout > 0 {
		s.timer = time.AfterFunc(timeout, cancel)
	}
}

// restart begins the timeout again, unless it is over or the attempt has ended.
func (s *silence) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && s.timer.Stop() {
		s.timer.Reset(s.timeout)
	}
}

// end ends the attempt's timeout, and reports whether it was over. It is called once.
func (s *silence) end() (late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timer != nil && !s.timer.Stop()
}

// timeoutError is the error of an attempt, or of a Read of a response's body, that has taken too long.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string   { return e.text }
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || target == context.DeadlineExceeded
}
