// Package httpretry is an HTTP transport that retries. A client needs one field for it:
//
//	client := &http.Client{
//		Transport: &httpretry.Transport{},
//	}
//
// The client sends a request up to four times, with random waits of 0.25 to 1.7 s in between.
//
// # What is sent again
//
// A request can be sent again if it has no body or a GetBody, which [http.NewRequest] sets for a [bytes.Buffer], a
// [bytes.Reader] or a [strings.Reader], and if it has no Upgrade header. All others are sent once.
//
// A request is idempotent if its method is GET, HEAD, OPTIONS, TRACE, PUT or DELETE, or if its header has an
// Idempotency-Key or X-Idempotency-Key. It is sent again after
//
//   - a network error,
//   - a server that is silent for 30 s ([Transport.AttemptTimeout]),
//   - status 408, 429, 500, 502, 503, 504, and 512 to 599 ([backoff.RetryableStatus]).
//
// Any other request, such as a POST without a key, is sent again only if the server has done nothing with it: after
// status 429, or if no connection could be made, directly or through a proxy. After any other error nobody knows whether
// the server has done the work. Ask the server before you send such a request again.
//
// Some failures will be the same next time and are returned immediately: a certificate that is not accepted, a TLS
// handshake that the other side refuses, plain HTTP in answer to TLS, an unknown host name, an invalid port, a proxy's
// "403 Forbidden" or "407 Proxy Authentication Required", an OAuth server's invalid_grant, and a request that net/http
// refuses to send, for example because of an invalid header.
//
// A server can say it, too: a response with "X-Should-Retry: false" is returned, and after one with
// "X-Should-Retry: true" and a status of 400 or more an idempotent request is sent again.
//
// An [http.Client] follows a redirect by a request of its own, which has its own attempts. After status 307 and 308
// it sends the method and the body again, also those of a POST.
//
// # What comes back
//
// As without retries, you get a response of any status, whose body you close, or an error. If retries do not help, you
// get the last attempt's response, unread, such as a 503; or, if it brought none, its error, which also matches, by
// [errors.Is],
//
//   - [backoff.ErrRetriesExhausted] if no retries were left;
//   - [backoff.ErrBudgetExhausted] if the budget could not pay for a retry;
//   - [context.DeadlineExceeded] if another attempt would have come after the deadline of the request's context.
//
// If the request must not be sent again, the error is returned as it is. If there was no slot in time, and nothing was
// sent, the error matches [backoff.ErrNoSlot]. If the request's context ends where another attempt would follow, the
// error matches the context's, even if the last attempt brought a response.
//
// A response is dropped before the wait for another attempt. If that attempt is not made after all, you get an error:
// that of GetBody, or, if a long wait gave the slot back and none is free in time, one that matches
// [context.DeadlineExceeded].
//
// The deadline is that of the request's context or the Timeout of the [http.Client], whichever is earlier. It limits
// all attempts together, their waits, and the reading of the body.
//
// # Limit what is in progress
//
// Retries must not keep an overloaded service down. Slots limit how many requests to it are in progress at once:
//
//	client := &http.Client{
//		Transport: &httpretry.Transport{
//			AttemptTimeout: 2 * time.Second,
//			Slots:          backoff.NewSlots(20), // 3/4 × 13 requests a second × 2 s
//			Budget:         new(backoff.Budget),
//		},
//	}
//
// [backoff.Slots] explains the formula. Use one such client for each service.
//
// # HTTP/2
//
// Over HTTP/2 all attempts may use one connection, even one that is dead. In the field HTTP2 of an [http.Transport], set
// SendPingTimeout and PingTimeout to less than AttemptTimeout together, so that such a connection is found and replaced.
package httpretry

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"example.com/backoff"
)

// defaultAttemptTimeout is the limit of attempts that have one, if AttemptTimeout is zero.
const defaultAttemptTimeout = 30 * time.Second

// Transport is an [http.RoundTripper] that retries requests. The package comment says which, and when.
//
// With Slots, use one Transport for all requests to a service. Without, use one for all requests to whatever
// service. Made anew for a request, it limits nothing.
//
// The zero value is ready to use. A Transport is safe for concurrent use if its functions are. It must not be changed
// or copied after first use.
//
// To send a request without retries, use a client whose Transport is the Base. To turn retries off for all, for
// example in a test, set MaxRetries to -1; AttemptTimeout and Slots still apply then.
type Transport struct {
	// Base sends each attempt. Nil means [http.DefaultTransport]. If you assign a Transport to
	// http.DefaultTransport, set its Base to the old value, or it would call itself.
	//
	// Base receives the values of the request's context, and a copy of the URL and the header, which it may change. So it
	// is the place for what each attempt needs anew, such as a signature or a token. (If it fetches a token with the
	// request's context, that connection counts as the request's: a POST that then gets none of its own is not sent
	// again.) It should return a [backoff.Permanent] where another attempt would not help.
	//
	// When the request's context ends, RoundTrip of Base must return, and so must a Read of the response's body. Whether
	// there was a connection, net/http tells by GetConn and GotConn of an [httptrace.ClientTrace]. A Base that calls
	// neither must return a [net.OpError] with Op "dial" or "proxyconnect" only if nothing was sent.
	//
	// If Base is a Transport too, the attempts multiply. If Base calls an [http.Client], let its CheckRedirect
	// return [http.ErrUseLastResponse], or redirects are followed within an attempt.
	Base http.RoundTripper

	// AttemptTimeout limits how long an attempt may make no progress. The time begins with the attempt, and again when
	// the connection is made, when a part of the request's body is read to be sent, when the request is written, and
	// when an answer of status 1xx comes (of which an attempt takes a thousand). It ends with the response's headers.
	//
	// Zero means 30 s; but without Slots, no limit for requests that are not idempotent or cannot be sent again. A value
	// above zero limits all requests, a negative value none.
	//
	// The error of such an attempt matches [os.ErrDeadlineExceeded] and [context.DeadlineExceeded], has a
	// method Timeout that returns true, and reads "no response within 2s, attempt 3".
	//
	// What the operating system buffers of a long upload counts as written. So AttemptTimeout should be longer
	// than the network takes for a few megabytes. And where a Read of the request's body blocks, as that of an [io.Pipe]
	// may, net/http waits for it over HTTP/1, whatever the limit and the request's context.
	AttemptTimeout time.Duration

	// BodyTimeout limits how long a Read of the response's body may block, for example where the stream of a
	// language model stalls. The time between two Reads does not count. Zero or negative means no limit.
	//
	// The error of such a Read matches what AttemptTimeout's does, and reads "no data within 30s, after 1234 bytes of
	// the response's body". The request is not sent again. The body of a response with status 101 has no limit.
	BodyTimeout time.Duration

	// Slots limits the requests in progress, to whatever host, also those that are sent once. A request holds a slot
	// in its attempts and in waits that are, apart from what the server asks for, shorter than AttemptTimeout, but not
	// while its response's body is read: streams are not counted. Nil means no limit.
	//
	// Base and the functions below must not send requests through the same Slots: they would wait for the slot that
	// their own request holds.
	Slots *backoff.Slots

	// MaxRetries limits the retries of a request, whatever Policy is. Zero means 3, a negative value none.
	MaxRetries int

	// MaxRetryAfter is the longest wait that a server may ask for, by the header Retry-After-Ms or else Retry-After. No
	// wait is shorter than what it asks for. A response that asks for more than MaxRetryAfter is returned immediately.
	// Zero means one minute; with a negative value, each response that asks for a wait is returned. If an API says the
	// wait in the body, a Base can copy it into the header: see the example Post.
	MaxRetryAfter time.Duration

	// Policy returns the waits of one request: a new policy each time. If Policy is nil or returns nil, they are those
	// of a [backoff.Retrier].
	Policy func() backoff.BackOff

	// Retryable reports whether to try again after an attempt that brought resp, or err if resp is nil. Nil means the
	// function [Retryable], which it can call.
	//
	// It is called for requests that can be sent again. For an idempotent one it is called after each attempt; for
	// another one only after status 429, 401 or 407, or if no connection was made. After 401 and 407, say yes if Base has
	// a new token for the next attempt. After an error it is not called if the request's context has ended, or if
	// net/http refuses to send the request.
	//
	// If it returns false, any response counts as a success for Budget and Done. It may read the response's body if it
	// puts one with the same content in its place.
	Retryable func(req *http.Request, resp *http.Response, err error) bool

	// Idempotent reports whether req may be sent again even if the server has done its work. It is called once for each
	// request that can be sent again. Nil means the methods and the keys that the package comment names. An empty key
	// is none. A key without values, as in req.Header["Idempotency-Key"] = nil, counts but is not sent, as in net/http.
	Idempotent func(req *http.Request) bool

	// Budget pays for the retries of all requests, to whatever host. Share it with other clients of the same service.
	//
	// Nil means no budget if there are Slots, and otherwise a zero Budget for each host, that is for each scheme, name
	// and port as the URL spells them. The Transport remembers at least the last 5,000 hosts. Such a budget pays for
	// five retries at first: if a host is down when the process starts, ten GETs make 15 requests.
	// &backoff.Budget{RetryCost: -1} refuses nothing.
	Budget *backoff.Budget

	// Notify, if not nil, is called before each wait, with the number of the attempt that failed, which counts from 1,
	// the reason for the retry, and the wait. The response of the attempt has been dropped.
	Notify func(req *http.Request, attempt int, err error, wait time.Duration)

	// Done, if not nil, is called once at the end of each request, after its slot is released, with the number of
	// attempts: 0 if Base was not called. The error is nil if the last response is a success or an answer that asks for
	// no retry, such as a 404. Otherwise it says why there was no other attempt, even if RoundTrip returns a response. If
	// a function of the Transport panics, Done is not called.
	Done func(req *http.Request, attempts int, err error)

	hosts hosts
}

// RoundTrip sends req, and again as long as that may help. The package comment says what it returns. The response's
// body must be closed, even if it is empty. When that body has ended, the rest of the request's is not sent, not even
// over HTTP/2. The request's Cancel channel is not heeded; cancel its context.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := call{transport: t, request: req}
	defer c.end()
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

// attemptTimeout returns the limit of an attempt, or 0 if there is none.
func (t *Transport) attemptTimeout(idempotent bool) time.Duration {
	if t.AttemptTimeout == 0 && (idempotent || t.Slots != nil) {
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

// slots returns those of a request to service, or nil if it has none.
func (t *Transport) slots(service *url.URL) *backoff.Slots {
	if t.Slots != nil || service == nil {
		return t.Slots
	}
	return t.hosts.slots(service)
}
