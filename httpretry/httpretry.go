// Package httpretry is an HTTP transport that retries. Take one for each service:
//
//	client := &http.Client{
//		Timeout: 15 * time.Second, // for all attempts, the waits and the body together
//		Transport: &httpretry.Transport{
//			AttemptTimeout: 3 * time.Second,    // the longest silence of an attempt
//			BodyTimeout:    2 * time.Second,    // and of a body
//			Slots:          new(backoff.Slots), // fewer requests at once while many time out
//		},
//	}
//
// The fields have the zero values of a [backoff.Retrier]'s, but for one: a zero AttemptTimeout does not limit what is not
// idempotent or cannot be sent again.
//
// # What is sent again
//
// A request can be sent again if it has no Upgrade header, and no body or a GetBody, which [http.NewRequest] sets for a
// [bytes.Buffer], [bytes.Reader] or [strings.Reader].
//
// It is idempotent if its method is GET, HEAD, OPTIONS, TRACE, PUT or DELETE, or its header has an Idempotency-Key or
// X-Idempotency-Key, which the server must know. Then it is sent again after a network error, AttemptTimeout, and status
// 408, 429, 500, 502, 503, 504, and 512 to 599.
//
// Another request, such as a POST without a key, is sent again only if the server has done nothing with it: after status
// 429, or if no connection was made, directly or through a proxy. After another failure, ask the server what it has done.
//
// Returned immediately are a certificate that is not accepted, a TLS handshake that is refused or answered in plain
// HTTP, an unknown host, an invalid port, a proxy's refusal with another status, such as 407, an OAuth error of RFC 6749
// but for server_error and temporarily_unavailable, and what net/http refuses to send.
//
// A server's "X-Should-Retry: false" ends the attempts. After its "true", with a status of 400 or more, an idempotent
// request is sent again.
//
// # What a second attempt can meet of the first
//
// If the answer to an attempt is lost, the next one meets its effect: a conditional PUT gets 412, a DELETE 404 or 410, a
// request that makes something new 409. If [Attempts] says more than one, that may be your own success.
//
// From the second attempt on, a 409 may also say that the server still works on the first. After it, a request with a key,
// or that only [Transport.Idempotent] calls idempotent, is sent again.
//
// # What comes back
//
// As without retries, you get a response of any status or an error. If retries do not help, that is the last attempt's
// response, unread, such as a 503, or its error with the reason, as from [backoff.Retrier.Do]. A response is dropped before
// the wait for another attempt. If that is not made after all, you get an error.
package httpretry

import (
	"cmp"
	"net/http"
	"time"

	"example.com/backoff"
)

// defaultAttemptTimeout is the limit of attempts that have one, if AttemptTimeout is zero.
const defaultAttemptTimeout = 30 * time.Second

// Transport is an [http.RoundTripper] that retries. The zero value is ready to use. Make it once, not for each request. A
// Transport is safe for concurrent use if its functions are. It must not be changed or copied after first use.
type Transport struct {
	// AttemptTimeout is the longest silence of an attempt before the response's headers. It begins again with a connection,
	// a part of the request's body that is read, the end of writing, and a status 1xx. Over HTTP/1, a Read of the request's
	// body that blocks has no limit. The response's body has BodyTimeout, and the client's Timeout.
	//
	// Zero means 30 s, but no limit for what is not idempotent or cannot be sent again. A negative value means no limit.
	// Make it at least four times what an answer usually takes.
	//
	// The error, "no response within 2s, attempt 3", matches [os.ErrDeadlineExceeded] and [context.DeadlineExceeded]. It
	// contains Base's, if that says that nothing was sent.
	AttemptTimeout time.Duration

	// BodyTimeout limits how long a Read of the response's body may block. Zero means no limit; status 101 has none. The
	// error, "no data within 30s, after 1234 bytes of the response's body", matches the same. Nothing is sent again.
	BodyTimeout time.Duration

	// Slots limits how many requests are in progress, each until its headers have come. Nil means no limit.
	// new(backoff.Slots) limits only while many attempts time out or are answered 504, and only requests with an
	// AttemptTimeout or a deadline.
	//
	// Who sets Slots takes one Transport for each service: a host that hangs takes the slots of all. So do not copy a
	// Retrier's into a Transport that talks to many.
	Slots *backoff.Slots

	// MaxAttempts limits the attempts, whatever Policy says. Zero means 4, one no retries, a negative value no limit.
	MaxAttempts int

	// MaxRetryAfter is the longest wait that a server may ask for, by Retry-After-Ms or else Retry-After. No wait is
	// shorter than asked for; a response that asks for more is returned. Zero means one minute, a negative value no limit.
	MaxRetryAfter time.Duration

	// Policy returns a new policy for each request. If it is nil, or returns nil, the waits are those of a
	// [backoff.Retrier].
	Policy func() backoff.BackOff

	// Idempotent reports whether a request that can be sent again is idempotent. Nil means the package comment's rule. In
	// it, a key without values, which net/http does not send, is a key; an empty one is none, and only sent with a request
	// that is idempotent otherwise.
	//
	// Even after a no, net/http may send a GET, or a request with a key, again by itself: when a connection that it had
	// kept ends without an answer.
	Idempotent func(req *http.Request) bool

	// Retryable reports whether to try again after resp, or after err if resp is nil. Nil means the function [Retryable].
	//
	// It is asked after each attempt of an idempotent request, and after one of another that can be sent again if no
	// connection was made or the status is 429, 401 or 407 (say yes to these two if Base has a new token, as examples/token
	// does). It is not asked about an error if the context has ended or net/http refuses the request. A response that it
	// refuses, but for a 504, is a success for Budget and Done. It may read the body if it puts the same in its place.
	Retryable func(req *http.Request, resp *http.Response, err error) bool

	// Budget limits the retries of all requests that share it. Nil means no limit.
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, first with attempt 1. It must not send requests through the same
	// Transport: a log that is sent so would log its own failures without end.
	Notify func(req *http.Request, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once before RoundTrip returns, unless a function panics. attempts is 0 if Base was not
	// called. err is nil after a success or an answer such as a 404; otherwise it says why there was no other attempt, even
	// if there is a response. Like Notify, it must not send requests through the same Transport.
	Done func(req *http.Request, attempts int, err error)

	// Base sends each attempt. Nil means [http.DefaultTransport]; a Transport that takes that place needs the old value.
	//
	// A copy of an [http.Transport] sends the https requests that go through a proxy, without what RegisterProtocol has
	// added for https. With another Base, a proxy's 403 or 407 is known by its usual text alone. If OnProxyConnectResponse
	// returns an error for such a status, mark it with [backoff.Permanent].
	//
	// If the network swallows connections that Base has kept, attempts run out of time one after the other. Over HTTP/1, let
	// Notify close the idle ones, as in the example of dead connections. Over HTTP/2, from Go 1.24 on, set the
	// [http.Transport]'s HTTP2: &http.HTTP2Config{SendPingTimeout: 3 * time.Second, PingTimeout: time.Second}.
	//
	// A Base of your own may change the URL, the header and the trailer, which are copies. If it fetches a token with the
	// request's context, that connection counts as the request's. It must close the request's body: the next attempt
	// begins after that, or after a tenth of a second. It must neither retry nor follow redirects, nor, like the functions
	// above, send requests through the same Slots. It should return a [backoff.Permanent] where another attempt would not
	// help.
	//
	// When the context ends, RoundTrip and Reads of the response's body must return. A Base that waits before it sends,
	// such as a rate limiter, returns a [net.OpError] with Op "dial" then, so that a POST is sent again too. If it calls
	// neither GetConn nor GotConn of an [httptrace.ClientTrace], it must return that Op, or "proxyconnect", only if nothing
	// was sent.
	Base http.RoundTripper

	tunnels tunnels
}

// RoundTrip sends req, and repeats it as the package comment says. Close the response's body, even an empty one: when it
// has ended, the rest of the request's is not sent. The response's Request is a copy of req, whose context is for [Attempts].
// Its field Cancel, which is deprecated, has no effect: end its context.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := call{transport: t, request: req}
	defer c.end()
	err := c.run()
	if t.Done != nil {
		t.Done(req, c.attempts, err)
	}
	return c.result(err)
}

// Attempts returns how many attempts it took to get resp, or 0 if it does not come from a Transport of this package. It
// counts it as another attempt if net/http has sent the request again by itself, which Done and Notify do not.
func Attempts(resp *http.Response) int { return historyOf(resp).attempts }

// CloseIdleConnections closes the idle connections of Base.
func (t *Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.Base}).CloseIdleConnections()
	t.tunnels.closeIdle()
}

// base returns what sends req, which is an attempt's, and req as that takes it.
func (t *Transport) base(req *http.Request) (http.RoundTripper, *http.Request) {
	transport, ok := t.standardBase()
	if !ok {
		return cmp.Or(t.Base, http.DefaultTransport), req
	}
	proxy := proxyToAsk(transport, req)
	if proxy == nil {
		return transport, req
	}
	return t.tunnels.through(transport), withProxy(req, proxy)
}

// standardBase returns Base if it is net/http's own, and reports whether it is.
func (t *Transport) standardBase() (*http.Transport, bool) {
	transport, ok := cmp.Or(t.Base, http.DefaultTransport).(*http.Transport)
	return transport, ok
}

// attemptTimeout returns the limit of an attempt, or 0 if there is none.
func (t *Transport) attemptTimeout(idempotent bool) time.Duration {
	if t.AttemptTimeout == 0 && idempotent {
		return defaultAttemptTimeout
	}
	return max(0, t.AttemptTimeout)
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
