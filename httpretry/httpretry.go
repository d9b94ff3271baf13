// Package httpretry is an HTTP transport that retries. A client needs one field for it:
//
//	client := &http.Client{
//		Transport: &httpretry.Transport{},
//	}
//
// The client sends a request up to five times, with random waits in between: at first up to half a
// second, at last up to 1.7 s. A POST without an idempotency key is sent again only if the server has done
// nothing with it. Which failures are followed by another attempt depends on the request:
//
//   - GET, HEAD, OPTIONS, TRACE, PUT and DELETE: a network error, a status of 408, 429, 500, 502, 503,
//     504 or 512 to 599 ([backoff.RetryableStatus]), and a server that is silent for 30 s
//     ([Transport.AttemptTimeout]).
//   - POST, PATCH and any other method: status 429, and a failed dial, to the server or its proxy. After
//     any other failure, a failed TLS handshake included, the request is not sent again. No attempt is
//     cut off, however long it takes.
//   - POST, PATCH and any other method with an Idempotency-Key or X-Idempotency-Key header that is not
//     empty: the same as for a GET. So AttemptTimeout limits each attempt.
//
// [Transport.Idempotent] can decide which requests are repeated as a GET is.
//
// If a POST without a key ends with an error other than a failed dial or [backoff.ErrNoSlot], nobody knows
// whether the server has done the work: ask the server before you send it again.
//
// The body is sent again, whole, each time. For that the request needs a GetBody, which [http.NewRequest]
// sets for a [bytes.Buffer], a [bytes.Reader] or a [strings.Reader]. A request with a body and no GetBody is
// sent once. So is a request with an Upgrade header.
//
// # What comes back
//
// You get a response of any status, whose body you close, or an error, as without retries. If retries do not
// help, you get what the last attempt brought: its response, unread, such as a 503, or its error. The
// responses before it are closed by the Transport.
//
// The Transport gives up after five attempts, or earlier if
//
//   - a wait would end more than 15 minutes after the start;
//   - a wait would outlast the deadline of the request's context. (After an error, the first wait starts
//     nevertheless, as in [backoff.Retry], and ends with the context's error.);
//   - the server asks for a wait of more than a minute ([Transport.MaxRetryAfter]), or for no retry;
//   - there are no Slots, and the budget of the host cannot pay for a retry. A fresh budget pays for five
//     retries in all: if the service is down when the process starts, ten GETs make 15 requests; see
//     [Transport.Budget].
//
// If the context ends during a wait, you get an error that matches the context's, and no response.
//
// The Timeout of an [http.Client] limits all attempts together, with their waits and the reading of the
// last body.
//
// # Limit what is in progress
//
// Retries must not keep an overloaded service down. Slots limit how many requests to it are in progress at once:
//
//	client := &http.Client{
//		Transport: &httpretry.Transport{
//			AttemptTimeout: 2 * time.Second,
//			Slots:          backoff.NewSlots(20),
//		},
//	}
//
// [backoff.Slots] says how many to make. Use one such client for each service. A request that gets no slot in time
// is not sent, and its error matches [backoff.ErrNoSlot].
//
// A base with MaxConnsPerHost, or with a semaphore, is no such limit: an attempt would wait for its connection
// within its AttemptTimeout. If the attempt gets a connection late, it is cut off while the server still works on
// it, and is sent again.
//
// Without Slots, each host has a budget, which pays for the retries.
//
// # What a server says
//
// A wait is at least as long as the server asks for by Retry-After-Ms, or else by Retry-After. If an API says the
// wait in the body, a Base can copy it into one of these headers: example_post_test.go shows it.
//
// A response with "X-Should-Retry: false" is not followed by another attempt. A response with
// "X-Should-Retry: true" is followed by one, if its status is 400 or more and the request may be sent twice. For
// a POST without a key, the header can only prevent the attempt after a 429. The example LanguageModel
// has such POSTs repeated as a GET is.
//
// # Signers, redirects and errors
//
// Base sends each attempt, so a RoundTripper below the Transport, such as a signer, is called for each
// attempt, and one above it for each request. Let a signer return a [backoff.Permanent] where another
// attempt would not help.
//
// An [http.Client] follows a redirect by a request of its own, which has its own attempts. After status 307
// and 308 it sends the method and the body again, also those of a POST. A signer in Base signs that request too.
//
// Some errors will be the same next time and are returned immediately: a certificate that is not accepted, a
// TLS handshake that the server refuses, plain HTTP in answer to TLS, an unknown host name, an invalid port, a
// proxy's 403 or 407, an OAuth server's invalid_grant, and a request that net/http refuses to send, for example
// because of an invalid header or an unknown scheme.
//
// # Small print
//
// A key without values, as in req.Header["Idempotency-Key"] = nil, marks a request as safe to repeat and is not
// sent. Both are net/http's own rule.
//
// A response that is followed by another attempt is dropped, with its cookies. Each call of GetBody must return
// an independent body (open a file again, do not seek), since net/http may still read the previous one. The
// deprecated Cancel channel of a request ends an attempt and prevents the next one, but does not end a wait.
//
// Over HTTP/2 all attempts may use one connection, even one that is dead. Set SendPingTimeout and PingTimeout
// in the base's HTTP2 configuration below AttemptTimeout, so that such a connection is found and replaced.
package httpretry

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"example.com/backoff"
)

// Defaults for the fields of [Transport].
const (
	defaultAttemptTimeout = 30 * time.Second
	defaultMaxRetryAfter  = time.Minute
)

// Transport is an [http.RoundTripper] that retries requests. The package comment says which requests it sends
// again, and when.
//
// With Slots, use one Transport for all requests to a service. Without, use one for all requests to
// whatever service: it has a budget for each host. Made anew for a request, it limits nothing.
//
// The zero value is ready to use. A Transport is safe for concurrent use if its functions are. It must not
// be changed or copied after first use.
//
// To send a request without retries, use a client whose Transport is the Base. To turn retries off for all,
// for example in a test, set MaxRetries to -1; AttemptTimeout and Slots still apply then.
type Transport struct {
	// Base sends each attempt. Nil means [http.DefaultTransport]. If you assign a Transport to
	// http.DefaultTransport, set its Base to the old value, or it would call itself.
	//
	// Base is called for each attempt, so it is the place for what each attempt needs anew, such as a
	// signature. It receives the values of the request's context, and a copy of the URL and the header,
	// which it may change. A counter among these values can tell it how often the request was sent before
	// (http.request.resend_count).
	//
	// Base must return when the request's context ends. A status 429 from it, or a failed dial (a
	// [net.OpError] with Op "dial") without a connection before it ([httptrace.ClientTrace.GotConn]), must
	// mean that the server has done nothing with the request, since a POST is then sent again.
	//
	// If Base is a Transport too, the attempts multiply: 5 × 5 by default, and AttemptTimeout limits
	// five of them together with their waits. If Base calls an [http.Client], let its CheckRedirect
	// return [http.ErrUseLastResponse], or redirects are followed within an attempt. The client's Timeout
	// also limits the reading of the response's body.
	Base http.RoundTripper

	// AttemptTimeout limits how long an attempt may make no progress: until the request is written, and from
	// then until the response's headers are there. Each part of the request's body that is read to be sent is
	// progress. Zero means 30 s: a GET whose answer takes 40 s is sent five times and fails. A negative value
	// means no limit.
	//
	// A long upload is not cut off if AttemptTimeout is longer than a few megabytes of it take: so much the
	// operating system may buffer, which counts as written, and while the buffer drains there is no progress to
	// see. With 2 s, 8 MB over loopback to a server that read 1 MB/s were cut off; 30 s were enough at 100 KB/s.
	//
	// AttemptTimeout limits only the attempts of requests that may be sent again after a timeout; see
	// Idempotent. A POST without an idempotency key may take as long as its context allows. Its dial is
	// limited by the base's dialer ([http.DefaultTransport]'s to 30 s).
	//
	// The error of such an attempt matches [os.ErrDeadlineExceeded] and [context.DeadlineExceeded], has a
	// method Timeout that returns true, and reads "no response within 2s, attempt 3".
	//
	// The reading of the response's body is limited by the request's context and the Timeout of an
	// [http.Client] alone. If a response over HTTP/2 ends before the request's body is sent, the rest of
	// that body may take up to another AttemptTimeout.
	AttemptTimeout time.Duration

	// Slots limits the requests in progress, to whatever host, also those that are sent once. A request holds a
	// slot from before its first attempt until RoundTrip returns, waits included, but not while its response's
	// body is read. Nil means no limit.
	//
	// A request waits for a slot only for as long as its deadline leaves it the whole AttemptTimeout; see
	// [backoff.Slots.Acquire]. If it gets none, the error matches [backoff.ErrNoSlot].
	//
	// Base and the functions below must not send requests through the same Slots: they would wait for the
	// slot that their own request holds.
	Slots *backoff.Slots

	// MaxRetries limits the retries of a request. Zero means 4, or as many as Policy allows if that is set;
	// a negative value means none.
	MaxRetries int

	// Policy returns the waits of one request: a new policy each time. If Policy is nil or returns nil, that is
	// a [backoff.ExponentialBackOff] with full jitter.
	//
	// For requests that can wait, set Slots, and let Policy return a policy without a limit of time.
	Policy func() backoff.BackOff

	// Retryable reports whether to try again after an attempt that brought resp, or err if resp is nil. Nil
	// means the function [Retryable], which it can call.
	//
	// Retryable is called after each attempt at an idempotent request. If it returns false, any response
	// counts as a success for Budget and Done. After an attempt at another request, such as a POST, it is
	// called only if the status is 429 or the dial failed. It is not called after an error that is returned
	// whatever it says: the request's context has ended, or net/http refuses to send the request.
	//
	// It may read the response's body if it puts one with the same content in its place; AttemptTimeout
	// does not limit that reading.
	Retryable func(req *http.Request, resp *http.Response, err error) bool

	// Idempotent reports whether req may be sent twice even if the server has done its work the first time.
	// AttemptTimeout limits the attempts of these requests alone. Nil means the requests whose method is GET,
	// HEAD, OPTIONS, TRACE, PUT or DELETE, and those with an Idempotency-Key or X-Idempotency-Key header that
	// is not empty.
	//
	// Idempotent is called once for each request that can be sent again. It does not change what net/http sends
	// again by itself, after an idle connection has failed.
	Idempotent func(req *http.Request) bool

	// Budget pays for the retries of all requests, to whatever host. Share it with other clients of the
	// same service. If the policy has the same budget already, a retry is paid for once.
	//
	// Nil means no budget if there are Slots, and otherwise a zero Budget for each host, that is for each
	// scheme, name and port. The Transport remembers at least the last 5,000.
	//
	// A fresh budget pays for five retries, whoever makes them. Then it refuses retries, and Done receives
	// an error that matches [backoff.ErrBudgetExhausted], until requests succeed again.
	// &backoff.Budget{RetryCost: -1} refuses nothing.
	Budget *backoff.Budget

	// MaxRetryAfter is the longest wait that a server may ask for. A response that asks for more is
	// returned immediately. Zero means one minute; with a negative value, each response that asks for a wait
	// is returned.
	MaxRetryAfter time.Duration

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which counts
	// from 1, the reason for the retry, and the wait.
	Notify func(req *http.Request, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each request, after its slot is released, with the number
	// of attempts. The number is 0 if nothing was sent: there was no slot, or the request's context had
	// ended. The error is nil if the last response is a success or an answer that asks for no retry, such as
	// a 404. It matches [backoff.ErrBudgetExhausted] if the budget refused a retry, even if RoundTrip returns
	// a response. If a function of the Transport panics, Done is not called.
	Done func(req *http.Request, attempts int, err error)

	hosts hosts
}

// RoundTrip sends req, and again as long as that may help. If the last attempt brought a response, RoundTrip
// returns that, even if the budget refused a retry or a wait would have been too long. Otherwise it returns an
// error that matches the last attempt's, and also [backoff.ErrBudgetExhausted] or [context.DeadlineExceeded] if
// that was the reason to give up. If the request's context ends, during an attempt or a wait, the error matches
// the context's. If there was no slot in time, it matches [backoff.ErrNoSlot], and nothing was sent.
//
// The response's body must be closed, even if it is empty.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := &call{transport: t, request: req}
	defer c.discard() // however the loop ends: a function of t's may panic

	err := c.run()
	if t.Done != nil {
		t.Done(req, c.attempts, err)
	}
	return c.result(err)
}

// CloseIdleConnections closes the base's idle connections, if the base can do that.
func (t *Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.Base}).CloseIdleConnections()
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

func (t *Transport) attemptTimeout() time.Duration {
	return cmp.Or(t.AttemptTimeout, defaultAttemptTimeout)
}

func (t *Transport) idempotent(req *http.Request) bool {
	if t.Idempotent != nil {
		return t.Idempotent(req)
	}
	return idempotent(req)
}

func (t *Transport) retryable(req *http.Request, resp *http.Response, err error) bool {
	if t.Retryable != nil {
		return t.Retryable(req, resp, err)
	}
	return Retryable(resp, err)
}

// budget returns the budget that pays for retries at service, or nil if there is none.
func (t *Transport) budget(service *url.URL) *backoff.Budget {
	if t.Budget != nil || t.Slots != nil {
		return t.Budget
	}
	return t.hosts.budget(service)
}

// A call is a request with all its attempts.
type call struct {
	transport  *Transport
	request    *http.Request
	idempotent bool
	attempts   int
	last       *attempt // nil before the first attempt
}

// run sends the request, once it has a slot, until the outcome is an answer or there must not be another attempt.
func (c *call) run() error {
	t := c.transport
	retrier := backoff.Retrier{
		AttemptTimeout: t.attemptTimeout(), // says how long a request may wait for a slot; attempts have their own limit
		Slots:          t.Slots,
		MaxRetries:     t.MaxRetries,
		MaxRetryAfter:  t.MaxRetryAfter,
		Policy:         t.Policy,
		Budget:         t.budget(c.request.URL),
		Notify:         c.notify,
	}
	attempt := c.once
	if repeatable(c.request) {
		c.idempotent = t.idempotent(c.request)
	} else {
		retrier.MaxRetries = -1
		attempt = c.pass
	}
	err := retrier.Do(c.request.Context(), func(context.Context) error { return attempt() })
	if c.attempts == 0 {
		closeBody(c.request)
	}
	return err
}

// pass leaves a request that cannot be sent again to the base as it is.
func (c *call) pass() error {
	c.attempts++
	base := c.transport.base()
	resp, err := base.RoundTrip(c.request)
	switch {
	case err != nil:
		return err
	case resp == nil:
		return noResponse(base)
	}
	c.last = &attempt{original: c.request, response: resp, cancel: func() {}}
	if Retryable(resp, nil) {
		return statusError(resp)
	}
	return nil
}

// once makes an attempt. It returns nil if the outcome is an answer, and otherwise an error for the loop.
func (c *call) once() error {
	if canceled(c.request) {
		if c.attempts == 0 {
			closeBody(c.request)
		}
		return backoff.Permanent(errors.New("request canceled before an attempt"))
	}

	body, err := c.body()
	if err != nil {
		return backoff.Permanent(err)
	}

	c.attempts++
	c.last = newAttempt(c.request, body, c.attempts, c.timeout())
	if err := c.last.send(c.transport.base()); err != nil {
		return c.checkError(err)
	}
	return c.checkResponse(c.last.response)
}

// body returns the request's body for the next attempt.
func (c *call) body() (io.ReadCloser, error) {
	if c.last == nil || !hasBody(c.request) {
		return c.request.Body, nil
	}
	c.last.endUploads()
	return c.request.GetBody()
}

// timeout returns the time limit of an attempt, or 0 if there is none.
func (c *call) timeout() time.Duration {
	if !c.idempotent {
		return max(0, c.transport.AttemptTimeout) // by default it is not cut off, since it would not be sent again
	}
	return max(0, c.transport.attemptTimeout())
}

// checkError returns err, marked as permanent if there must not be another attempt after it.
func (c *call) checkError(err error) error {
	if c.request.Context().Err() != nil {
		return err // the loop ends, and says why
	}

	notSent := dialFailed(err) && !c.last.connected.Load()
	mayRepeat := c.idempotent || notSent
	hopeless := invalidRequest(err) || canceled(c.request)
	if !mayRepeat || hopeless || !c.transport.retryable(c.request, nil, err) {
		return backoff.Permanent(err)
	}
	return err
}

// checkResponse returns nil if resp is an answer, and an error if it tells of a failure: with the wait
// that the server asks for, or marked as permanent if there must not be another attempt after it.
func (c *call) checkResponse(resp *http.Response) error {
	mayRepeat := c.idempotent || resp.StatusCode == http.StatusTooManyRequests
	if !mayRepeat {
		if Retryable(resp, nil) {
			return backoff.Permanent(statusError(resp)) // nil would be a success for the budget
		}
		return nil
	}

	if !c.transport.retryable(c.request, resp, nil) {
		return nil
	}
	wait := retryAfter(resp.Header)
	if wait > max(0, cmp.Or(c.transport.MaxRetryAfter, defaultMaxRetryAfter)) {
		return backoff.Permanent(statusError(resp))
	}
	return backoff.RetryAfter(statusError(resp), wait)
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

// seed is that of all hashes of hosts.
var seed = maphash.MakeSeed()

// hosts holds a budget for each host. It remembers the last 5,000 hosts, and at most 10,000. A hash of the
// host's name takes as little memory for a long name as for a short one.
type hosts struct {
	mu     sync.Mutex
	recent map[uint64]*backoff.Budget
	old    map[uint64]*backoff.Budget
}

func (h *hosts) budget(service *url.URL) *backoff.Budget {
	key := maphash.String(seed, service.Scheme+"://"+service.Host)

	h.mu.Lock()
	defer h.mu.Unlock()
	if budget := h.recent[key]; budget != nil {
		return budget
	}

	if h.recent == nil || len(h.recent) == 5000 {
		h.old = h.recent
		h.recent = make(map[uint64]*backoff.Budget)
	}
	budget := cmp.Or(h.old[key], new(backoff.Budget))
	h.recent[key] = budget
	return budget
}
