// Package httpretry is an HTTP transport that retries, to import or to copy.
//
// A request is retried if sending it twice does no harm: if its method is idempotent (GET, HEAD,
// OPTIONS, TRACE, PUT, DELETE) or it has an Idempotency-Key header, and its body, if any, can be
// sent again (GetBody is set, as [http.NewRequest] does for a body in memory). Any other request,
// and one with an Upgrade header, is passed to the base as it is.
//
// An attempt is followed by another, as long as the policy, the budget and the request's context allow
// it, if it brought
//   - a status of [backoff.RetryableStatus], or any from 400 on with "X-Should-Retry: true", but
//     none with "X-Should-Retry: false" or a Retry-After above MaxRetryAfter;
//   - no response within AttemptTimeout;
//   - an error, unless it will be the same next time: a certificate that is not accepted, a TLS
//     handshake refused by the server, plain HTTP in answer to TLS, an unknown host name, an invalid
//     port. (A request that net/http refuses to send, say for an invalid header, is tried again, too.)
//
// The wait is at least what the server asks for by Retry-After-Ms, or else by Retry-After. A response
// that is followed by a retry is dropped, with its cookies. A request whose Cancel channel is closed is
// not sent again, but only its context also ends a wait. The Timeout of an [http.Client] limits all
// attempts together, with their waits and the reading of the last body.
//
// Over HTTP/2 all attempts may use one connection, even one that is dead. Set SendPingTimeout and
// PingTimeout in the base's [http.HTTP2Config] below AttemptTimeout, so that it is found and replaced.
package httpretry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/backoff"
)

// Transport is an [http.RoundTripper] that retries requests. Use one for all requests to a service,
// so that its budget limits what retries add to the load. The zero value is ready to use. It is safe
// for concurrent use if its functions are. It must not be changed or copied after first use.
type Transport struct {
	// Base sends each attempt. It must heed the request's context. (An [http.Transport] does, but first
	// waits for a Read of the request's body that it has called.) Nil means [http.DefaultTransport]; a
	// Transport that takes the place of that one must have a Base.
	Base http.RoundTripper

	// AttemptTimeout limits the time from the start of an attempt to its response's headers. It does
	// not limit the reading of the response's body; the request's context and the Timeout of an
	// [http.Client] do. Zero means 30 s; it must not be negative.
	AttemptTimeout time.Duration

	// MaxRetryAfter is the longest wait that a server may ask for. A response that asks for more is
	// returned immediately. Zero means one minute; it must not be negative.
	MaxRetryAfter time.Duration

	// Policy returns a policy for one request. Nil means at most 4 retries, with full jitter. For
	// requests that can wait, let it use [backoff.WithBudgetWait] with a budget that they share, and
	// set Budget to &backoff.Budget{RetryCost: -1}, which refuses nothing. Such a request that gives up
	// while it waits for its turn returns an error, for the last response is closed before a wait.
	Policy func() backoff.BackOff

	// Budget pays for the retries. Share it with other clients of the same service. Nil means a
	// zero Budget of the Transport's own.
	Budget *backoff.Budget

	// Notify, if not nil, is called before the wait for each retry, with the reason for the retry.
	Notify func(request *http.Request, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each request that may be retried, with the number
	// of attempts. The error is nil if the last response did not ask for a retry, whatever its status.
	// It matches [backoff.ErrBudgetExhausted] if the budget refused a retry, even if RoundTrip
	// returns a response.
	Done func(request *http.Request, attempts int, err error)

	own backoff.Budget
}

// RoundTrip sends request, and again as long as that may help. If it gives up, it returns the last
// attempt's response, unread, or an error that matches the last attempt's, and
// [backoff.ErrBudgetExhausted] if the budget refused a retry. If the request's context has ended, the
// error matches the context's; if a wait would have outlasted its deadline, [context.DeadlineExceeded].
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
	var last *http.Response          // of the last attempt; nil if it brought none
	defer func() { discard(last) }() // however the loop ends: a function of t's may panic
	err := backoff.RetryNotify(func() (err error) {
		last, err = t.attempt(request, &attempts)
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
	if last != nil && (ended == nil || !errors.Is(err, ended)) {
		response := last
		last = nil
		return response, nil
	}
	return nil, err
}

// CloseIdleConnections closes the base's idle connections, if the base can do that.
func (t *Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.Base}).CloseIdleConnections()
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// attempt sends request once, and counts it among the attempts. It returns a response and an error if
// the status is a reason to retry.
func (t *Transport) attempt(request *http.Request, attempts *int) (*http.Response, error) {
	if *attempts > 0 && canceled(request) {
		return nil, backoff.Permanent(errors.New("request canceled before a retry"))
	}
	clone, cancel, release, err := cloneOf(request, *attempts > 0)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	*attempts++
	timer := time.AfterFunc(cmp.Or(t.AttemptTimeout, 30*time.Second), cancel)
	response, err := t.base().RoundTrip(clone)
	timely := timer.Stop()
	if err == nil && response == nil { // http.Client says the same
		err = backoff.Permanent(fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", t.base()))
	}
	if err == nil && timely {
		return t.received(response, request, cancel, release)
	}
	cancel()
	if err == nil && response.Body != nil { // the response came too late: its body can no longer be read
		response.Body.Close()
	}
	if !timely {
		return nil, os.ErrDeadlineExceeded
	}
	if canceled(request) || permanent(err) {
		return nil, backoff.Permanent(err)
	}
	return nil, err
}

// cloneOf returns request with a context that cancel ends. So does release, but not while the request's
// body is being written. The body is that of request, or another if it has to be sent again.
func cloneOf(request *http.Request, again bool) (clone *http.Request, cancel, release func(), err error) {
	ctx, cancel := context.WithCancel(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return request.WithContext(ctx), cancel, cancel, nil
	}
	var mu sync.Mutex
	var writing, released bool
	update := func(state *bool, value bool) {
		mu.Lock()
		defer mu.Unlock()
		if *state = value; released && !writing {
			cancel()
		}
	}
	release = func() { update(&released, true) }
	// A wrapper of the body would know, too, but net/http writes a body that it knows more cheaply.
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { update(&writing, true) }, // net/http may send it again by itself
		WroteRequest: func(httptrace.WroteRequestInfo) { update(&writing, false) },
	}
	clone = request.WithContext(httptrace.WithClientTrace(ctx, trace))
	if again { // request is repeatable: there is a GetBody
		if clone.Body, err = request.GetBody(); err != nil {
			cancel()
		}
	}
	return clone, cancel, release, err
}

// received returns the response, and an error if its status is a reason to retry. It sees to the end of
// the attempt's context.
func (t *Transport) received(response *http.Response, request *http.Request, cancel, release func()) (*http.Response, error) {
	response.Request = request
	err := t.check(response)
	end := release // over HTTP/2 a response may end while request's body is being written
	if err != nil {
		end = cancel // and is not worth it
	}
	if response.Body == nil || response.Body == http.NoBody { // http.Client accepts nil, too
		response.Body = http.NoBody
		end() // not every caller closes what is not there
	} else {
		response.Body = &body{response.Body, cancel, end}
	}
	return response, err
}

// check returns an error if the response is a reason to try again.
func (t *Transport) check(response *http.Response) error {
	header := response.Header
	should := header.Get("X-Should-Retry")
	retryable := backoff.RetryableStatus(response.StatusCode) || should == "true" && response.StatusCode >= 400
	if !retryable || should == "false" {
		return nil
	}
	date, _ := http.ParseTime(header.Get("Date")) // a date in Retry-After is by the server's clock, too
	wait, _ := backoff.ParseRetryAfter(header.Get("Retry-After"), cmp.Or(date, time.Now()))
	if ms, _ := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); ms > 0 { // +Inf if out of range
		wait = time.Duration(min(ms*float64(time.Millisecond), 1<<62))
	}
	status := fmt.Sprint(response.StatusCode, " ", http.StatusText(response.StatusCode)) // if the base leaves Status out
	err := errors.New(cmp.Or(response.Status, status))
	if wait > cmp.Or(t.MaxRetryAfter, time.Minute) {
		return backoff.Permanent(err)
	}
	return backoff.RetryAfter(err, wait)
}

// body is a response's body. Its attempt's context lives until it is closed, or read to its end.
type body struct {
	io.ReadCloser
	cancel func()
	end    func() // after a Read that has failed, or Close
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil { // not every caller closes what has ended
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
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
	idempotent := []string{"", "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}
	harmless := slices.Contains(idempotent, request.Method) || request.Header.Get("Idempotency-Key") != ""
	rewindable := request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
	return harmless && rewindable && request.Header.Get("Upgrade") == ""
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

// passing reports whether a TLS alert tells of a fault that passes, in the server or on the way.
func passing(alert error) bool {
	return slices.Contains([]string{"tls: internal error", "tls: bad record MAC"}, alert.Error())
}

// permanent reports whether the next attempt would fail with err, too.
func permanent(err error) bool {
	var name *net.DNSError
	var operation *net.OpError
	return errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, &operation) && operation.Op == "remote error" && !passing(operation.Err) || // a TLS alert
		errors.Is(err, http.ErrSchemeMismatch) ||
		errors.As(err, &name) && name.IsNotFound ||
		errors.As(err, new(*net.AddrError)) // an invalid port
}
