package httpretry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
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

// closeTime is how long a Read of a dropped response may go on after its context has ended.
const closeTime = 10 * time.Second

// An attempt is a request that is sent once. Its context lives until the response has ended and, over HTTP/2,
// the request's body is closed, which may be later.
type attempt struct {
	number   int
	original *http.Request
	request  *http.Request      // as it is sent
	response *http.Response     // nil if there is none, or none any more
	cancel   context.CancelFunc // ends the request's context

	silence   silence
	connected atomic.Bool // so bytes of the request may have been sent
	dropped   atomic.Bool // so the response's body is not read any more

	mu      sync.Mutex
	uploads []*upload // one, or more if net/http sends the request again by itself
	open    *upload   // the last of them, until it is closed
	ended   bool      // the response
	major   int       // version of its protocol
}

func newAttempt(req *http.Request, body io.ReadCloser, number int, timeout time.Duration) *attempt {
	ctx, cancel := context.WithCancel(req.Context())
	a := &attempt{number: number, original: req, cancel: cancel}
	a.silence.start(timeout, cancel)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { a.silence.restart() },
	})

	a.request = req.WithContext(ctx)
	a.request.Header = req.Header.Clone()
	url := *req.URL
	a.request.URL = &url
	if hasBody(req) {
		a.request.Body = a.upload(body)
		a.request.GetBody = a.getBody
	}
	return a
}

// getBody is called if net/http sends the request again by itself.
func (a *attempt) getBody() (io.ReadCloser, error) {
	body, err := a.original.GetBody()
	if err != nil {
		return nil, err
	}
	return a.upload(body), nil
}

// send sends the request. If it returns nil, a.response has a body.
func (a *attempt) send(base http.RoundTripper) error {
	resp, err := base.RoundTrip(a.request)
	late := a.silence.end()
	switch {
	case err == nil && resp != nil:
		a.accept(resp)
	case err == nil && !late:
		return backoff.Permanent(noResponse(base))
	}

	if late { // what came can no longer be read
		a.discard()
		return &timeoutError{a.silence.timeout, a.number}
	}
	return err
}

// noResponse returns the error of a base that returns neither a response nor an error. http.Client says the same.
func noResponse(base http.RoundTripper) error {
	return fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", base)
}

// accept makes resp the response of a.
func (a *attempt) accept(resp *http.Response) {
	a.response = resp
	a.major = resp.ProtoMajor
	if resp.Body == nil || resp.Body == http.NoBody { // http.Client accepts nil, too
		resp.Body = http.NoBody
		a.end() // not every caller closes what is not there
		return
	}
	resp.Body = &body{ReadCloser: resp.Body, attempt: a}
}

// end is called when the response has ended.
func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()

	// Over HTTP/1 the end of the response ends the writing of the request.
	if a.major < 2 || a.open == nil {
		a.cancel()
		return
	}
	// Over HTTP/2 net/http goes on. The limit is for a server that does not receive what is left. An attempt
	// that is never cut off has none; its context ends with its parent at the latest.
	if !a.ended && a.silence.timeout > 0 {
		time.AfterFunc(a.silence.timeout, a.cancel)
	}
	a.ended = true
}

// discard ends a, within discardTime, whatever the response's body does. It reads what is left of the body, so that
// its connection can be used again.
//
// One goroutine reads and then closes: a body that Base has wrapped need not be safe for both at once. (A pooled gzip
// reader is not.) Only a Read that goes on for closeTime, although its context has ended, is ended by Close.
func (a *attempt) discard() {
	defer a.cancel()
	if a.response == nil {
		return
	}
	body := a.response.Body
	a.response = nil
	limit, stop := context.WithTimeout(a.original.Context(), discardTime)
	defer stop()

	var closing atomic.Bool
	closeOnce := func() {
		if closing.CompareAndSwap(false, true) {
			body.Close()
		}
	}
	done := inBackground(func() {
		io.CopyN(io.Discard, body, discardBytes)
		a.cancel() // before Close, which over HTTP/2 otherwise waits for a Read of the request's body
		closeOnce()
	})
	select {
	case bug := <-done:
		if bug != nil {
			panic(bug)
		}
	case <-limit.Done():
		a.dropped.Store(true)
		time.AfterFunc(closeTime, func() { inBackground(closeOnce) })
	}
}

// inBackground calls f, and sends what f panics with, or nil.
func inBackground(f func()) <-chan any {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	return done
}

// A body is a response's body. A Read that fails or Close ends its attempt.
type body struct {
	io.ReadCloser
	attempt *attempt
}

func (b *body) Read(p []byte) (int, error) {
	if b.attempt.dropped.Load() {
		return 0, http.ErrBodyReadAfterClose // or discard could read it forever
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil { // not every caller closes what has ended
		b.attempt.end()
	}
	return n, err
}

func (b *body) Close() error {
	b.attempt.dropped.Store(true)
	defer b.attempt.end()
	return b.ReadCloser.Close()
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

// timeoutError is the error of an attempt that was silent for its timeout.
type timeoutError struct {
	timeout time.Duration
	attempt int
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no response within %v, attempt %d", e.timeout, e.attempt)
}

func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || target == context.DeadlineExceeded
}
