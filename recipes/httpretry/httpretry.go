// Package httpretry is an HTTP transport that retries, to import or to copy.
//
// A request is retried if sending it twice does no harm: if its method is idempotent (GET, HEAD,
// OPTIONS, TRACE, PUT, DELETE) or it has an Idempotency-Key header, and its body, if any, can be
// sent again (GetBody is set, as [http.NewRequest] does for a body in memory). Any other request,
// and one that asks for another protocol by an Upgrade header, is passed to the base as it is.
//
// An attempt is followed by another if it brought
//   - a status of [backoff.RetryableStatus], or any from 400 on with "X-Should-Retry: true", but
//     none with "X-Should-Retry: false", nor if the server asks for a wait above MaxRetryAfter;
//   - no response within AttemptTimeout;
//   - an error, unless it will be the same next time: a certificate that is not accepted, a TLS
//     handshake that the server refuses, plain HTTP in answer to TLS, a host name that does not
//     exist, an invalid port, or a request that net/http refuses to send (without a host, with an
//     invalid header, with a body that is not as long as ContentLength). To find that out, a body
//     of up to 1 MiB is read once more.
//
// The wait is at least what the server asks for by Retry-After-Ms or Retry-After; the former counts
// if there are both. A request whose Cancel channel is closed is not sent again; its context, unlike
// that channel, also ends a wait. Redirects are followed by [http.Client], above the transport: each
// hop is a request of its own, and the client's limit on them is not retried.
//
// Over HTTP/2 all attempts may use one connection, even one that is dead. Set SendPingTimeout and
// PingTimeout in the base's [http.HTTP2Config] below AttemptTimeout, so that it is found and replaced.
package httpretry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"example.com/backoff"
)

// Transport is an [http.RoundTripper] that retries requests. Use one for all requests to a service,
// so that its budget limits what retries add to the service's load. The zero value is ready to use.
// It is safe for concurrent use if its functions are. Its fields must not be changed, nor the
// Transport copied, after first use.
type Transport struct {
	// Base sends each attempt. It must heed the request's context. Nil means
	// [http.DefaultTransport]; a Transport that takes the place of that one must have a Base.
	Base http.RoundTripper

	// AttemptTimeout limits the time from the start of an attempt to its response's headers. It
	// covers sending the request's body, but not reading the response's. Zero means 30 s; it must
	// not be negative.
	AttemptTimeout time.Duration

	// MaxRetryAfter is the longest wait that a server may ask for. A response that asks for more is
	// returned at once. Zero means one minute; it must not be negative.
	MaxRetryAfter time.Duration

	// Policy returns a policy for one request. Nil means at most 4 retries, with full jitter.
	Policy func() backoff.BackOff

	// Budget pays for the retries. Share it with other clients of the same service. Nil means a
	// budget of the Transport's own, with the default values.
	Budget *backoff.Budget

	// Notify, if not nil, is called before the wait for each retry, with the reason for the retry.
	Notify func(request *http.Request, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each request that may be retried, with the number
	// of attempts. The error is nil after a success, and matches [backoff.ErrBudgetExhausted] if
	// the budget refused a retry, even if RoundTrip returns a response.
	Done func(request *http.Request, attempts int, err error)

	own backoff.Budget
}

// RoundTrip sends request, and again as long as that may help. If it gives up, it returns the last
// attempt's response, unread, or the last attempt's error. If the request's context has ended, it
// returns an error that matches the context's.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !repeatable(request) {
		return t.base().RoundTrip(request)
	}
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithJitter(backoff.FullJitter)), 4)
	if t.Policy != nil {
		policy = t.Policy()
	}
	policy = backoff.WithBudget(policy, cmp.Or(t.Budget, &t.own))
	attempts := 0
	var last *http.Response // of the last attempt; nil if it brought none
	err := backoff.RetryNotify(func() (err error) {
		attempts++
		last, err = t.attempt(request, attempts > 1)
		return err
	}, backoff.WithContext(policy, request.Context()), func(err error, wait time.Duration) {
		discard(last) // before the wait, so that other requests can use the connection
		last = nil
		if t.Notify != nil {
			t.Notify(request, err, wait)
		}
	})
	if t.Done != nil {
		t.Done(request, attempts, err)
	}
	ended := request.Context().Err() // it may have ended after the loop gave up for another reason
	if err == nil || last != nil && (ended == nil || !errors.Is(err, ended)) {
		return last, nil
	}
	discard(last)
	return nil, err
}

// CloseIdleConnections closes the base's idle connections, if the base can do that. The method of
// the same name of [http.Client] calls it.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// attempt sends request once. It returns both a response and an error if the status is a reason to
// try again.
func (t *Transport) attempt(request *http.Request, again bool) (*http.Response, error) {
	if again && canceled(request) {
		return nil, backoff.Permanent(errors.New("request canceled before a retry"))
	}
	ctx, cancel := context.WithCancel(request.Context())
	clone := request.WithContext(ctx)
	if again && request.GetBody != nil {
		var err error
		if clone.Body, err = request.GetBody(); err != nil {
			cancel()
			return nil, backoff.Permanent(err)
		}
	}
	timer := time.AfterFunc(cmp.Or(t.AttemptTimeout, 30*time.Second), cancel)
	response, err := t.base().RoundTrip(clone)
	timely := timer.Stop()
	if err == nil && timely {
		response.Request = request
		if response.Body == nil || response.Body == http.NoBody { // http.Client accepts nil, too
			response.Body = http.NoBody
			cancel() // not every caller closes what is not there
		} else {
			response.Body = &body{response.Body, cancel}
		}
		return response, t.check(response)
	}
	cancel()
	if err == nil && response.Body != nil { // the response came too late: its body can no longer be read
		response.Body.Close()
	}
	if !timely {
		return nil, os.ErrDeadlineExceeded
	}
	if canceled(request) || permanent(request, err) {
		return nil, backoff.Permanent(err)
	}
	return nil, err
}

// check returns an error if the response is a reason to try again.
func (t *Transport) check(response *http.Response) error {
	should := backoff.RetryableStatus(response.StatusCode)
	if word := response.Header.Get("X-Should-Retry"); word == "true" || word == "false" {
		should = word == "true" && response.StatusCode >= 400
	}
	if !should {
		return nil
	}
	err, wait := errors.New(response.Status), asked(response.Header)
	if wait > cmp.Or(t.MaxRetryAfter, time.Minute) {
		return backoff.Permanent(err)
	}
	return backoff.RetryAfter(err, wait)
}

// asked returns the wait that the server asks for, or 0.
func asked(header http.Header) time.Duration {
	ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64)
	if ms >= 0 && !errors.Is(err, strconv.ErrSyntax) { // a value out of range is +Inf
		return time.Duration(min(ms*float64(time.Millisecond), 1<<62))
	}
	now := time.Now()
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date // by the server's clock, as the date in Retry-After is
	}
	wait, _ := backoff.ParseRetryAfter(header.Get("Retry-After"), now)
	return wait
}

// body is a response's body. Its attempt's context lives until it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// discard reads what is left of the response's body, so that its connection can be used again. If
// the body is long or slow, a new connection costs less.
func discard(response *http.Response) {
	if response == nil || response.Body == http.NoBody {
		return
	}
	defer response.Body.Close()
	defer time.AfterFunc(100*time.Millisecond, response.Body.(*body).cancel).Stop()
	io.CopyN(io.Discard, response.Body, 64<<10)
}

// repeatable reports whether request can be sent again without harm.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
	default:
		if request.Header.Get("Idempotency-Key") == "" {
			return false
		}
	}
	once := request.Body != nil && request.Body != http.NoBody && request.GetBody == nil
	return !once && request.Header.Get("Upgrade") == ""
}

// canceled reports whether request's Cancel channel is closed.
func canceled(request *http.Request) bool {
	select {
	case <-request.Cancel: //lint:ignore SA1019 net/http heeds it
		return true
	default:
		return false
	}
}

// permanent reports whether the next attempt of request would fail like the one that failed with err.
func permanent(request *http.Request, err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		port        *net.AddrError
		name        *net.DNSError
		operation   *net.OpError
	)
	return errors.As(err, &certificate) || errors.As(err, &port) || errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &name) && name.IsNotFound ||
		errors.As(err, &operation) && operation.Op == "remote error" || // a TLS alert
		unsendable(request)
}

// unsendable reports whether net/http refuses to send request, to whatever server. The error does not
// tell: now and then it is that of a connection which was closed on account of the request.
func unsendable(request *http.Request) bool {
	for _, header := range []http.Header{request.Header, request.Trailer} {
		for name, values := range header {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(strings.Join(values, "")) {
				return true
			}
		}
	}
	u := request.URL
	if request.Header == nil || u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		!httpguts.ValidHeaderFieldName(cmp.Or(request.Method, http.MethodGet)) {
		return true
	}
	// The rest shows when it is written, to nowhere, with no more of its body than that needs.
	probe := request.WithContext(context.Background())
	if request.GetBody != nil {
		b, err := request.GetBody()
		if err != nil {
			return false
		}
		defer b.Close()
		if probe.Body = http.NoBody; request.ContentLength <= 1<<20 {
			probe.Body = io.NopCloser(io.LimitReader(b, max(0, request.ContentLength)+1))
		}
	}
	return probe.Write(io.Discard) != nil
}
