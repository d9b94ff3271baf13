// Package httpretry is an HTTP transport that retries, to import or to copy. It is a plain
// [http.RoundTripper], under the MIT license, and depends on the standard library and backoff alone.
//
// A request is retried if sending it twice does no harm: if its method is idempotent (GET, HEAD,
// OPTIONS, TRACE, PUT, DELETE) or it has an Idempotency-Key header, and its body, if any, can be
// sent again (GetBody is set, as [http.NewRequest] does for a body in memory). Any other request,
// and one with an Upgrade header, is passed to the base as it is. The bodies that GetBody returns must
// share nothing: let it open a file again, not seek in one, for net/http may still read the last body.
//
// An attempt is followed by another, as long as the policy, the budget and the request's context allow
// it, if it brought one of the following (the field Retryable takes the place of this rule):
//   - a status of [backoff.RetryableStatus], or any from 400 on with "X-Should-Retry: true", but
//     none with "X-Should-Retry: false";
//   - no response within AttemptTimeout;
//   - an error, unless it will be the same next time: a certificate that is not accepted, a TLS
//     handshake refused by the server, plain HTTP in answer to TLS, an unknown host name, an invalid
//     port. (A request that net/http refuses to send, say for an invalid header, is tried again, too.)
//
// The wait is at least what the server asks for by Retry-After-Ms, or else by Retry-After. A response
// that asks for more than MaxRetryAfter is returned instead. One that is followed by a retry is dropped,
// with its cookies. A request whose Cancel channel is closed is not sent again, but only its context
// also ends a wait. The Timeout of an [http.Client] limits all attempts together, with their waits and
// the reading of the last body.
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
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/backoff"
)

// Transport is an [http.RoundTripper] that retries requests. Use one for all requests, so that its
// budgets limit what retries add to the load of each service. The zero value is ready to use. It is safe
// for concurrent use if its functions are. It must not be changed or copied after first use.
type Transport struct {
	// Base sends each attempt. It must heed the request's context. (An [http.Transport] does, but first
	// waits for a Read of the request's body that it has called.) Nil means [http.DefaultTransport]; a
	// Transport that takes the place of that one must have a Base.
	//
	// Base is the place for what each attempt needs anew, such as a signature. It receives the values of
	// the request's context, and a copy of the header, which it may change. A counter among these values
	// can tell it how often the request was sent before (http.request.resend_count).
	//
	// If Base is a Transport too, the attempts multiply: 5 × 5 by default, and AttemptTimeout limits
	// five of them together with their waits. If Base calls an [http.Client], redirects are followed
	// within an attempt, and the client's Timeout also limits the reading of the response's body.
	Base http.RoundTripper

	// AttemptTimeout limits the time from the start of an attempt to its response's headers. Zero means
	// 30 s, so that a request whose answer takes 40 s is sent five times and fails. It must not be
	// negative. It does not limit the reading of the response's body; the request's context and the
	// Timeout of an [http.Client] do. Over HTTP/2 a response may end before the request's body is sent.
	// Then the rest may take as long again.
	AttemptTimeout time.Duration

	// MaxRetryAfter is the longest wait that a server may ask for. A response that asks for more is
	// returned immediately. Zero means one minute; it must not be negative.
	MaxRetryAfter time.Duration

	// Retryable reports whether to try again after an attempt that brought response, or err if response
	// is nil. False makes any response a success. It may read the response's body, without a time limit,
	// if it puts one with the same content in its place. It is not called for a request that must not be
	// sent twice, nor for an error after the request's context has ended. Nil means the function
	// [Retryable], which it can call.
	Retryable func(request *http.Request, response *http.Response, err error) bool

	// Policy returns a policy for one request. Nil means at most 4 retries within 15 minutes, with full
	// jitter. For requests that can wait, let it return one without a limit of time, make few of them at
	// once, and set Budget to &backoff.Budget{RetryCost: -1}, which refuses nothing.
	Policy func() backoff.BackOff

	// Budget pays for the retries of all requests, to whatever host. Share it with other clients of the
	// same service. Nil means a zero Budget for each host: for each scheme, name and port, as the
	// requests' URLs have them. A host is forgotten after 5,000 to 10,000 others have been called.
	Budget *backoff.Budget

	// Notify, if not nil, is called before the wait for each retry, with the reason for the retry.
	Notify func(request *http.Request, err error, wait time.Duration)

	// Done, if not nil, is called at the end of each request that may be retried, with the number
	// of attempts. The error is nil if the last response did not ask for a retry, whatever its status.
	// It matches [backoff.ErrBudgetExhausted] if the budget refused a retry, even if RoundTrip
	// returns a response.
	Done func(request *http.Request, attempts int, err error)

	hosts hosts
}

// RoundTrip sends request, and again as long as that may help. If it gives up, it returns the last
// attempt's response, unread, or an error that matches the last attempt's, and
// [backoff.ErrBudgetExhausted] if the budget refused a retry. If the request's context has ended, the
// error matches the context's; if a wait would have outlasted its deadline, [context.DeadlineExceeded].
// The response's body must be closed, even if it is empty.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !repeatable(request) {
		return t.base().RoundTrip(request)
	}
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithJitter(backoff.FullJitter)), 4)
	if t.Policy != nil {
		policy = t.Policy()
	}
	budget := t.Budget
	if budget == nil {
		budget = t.hosts.budget(request.URL)
	}
	attempts := 0
	var last *attempt                 // nil before the first, and during a wait
	defer func() { last.discard() }() // however the loop ends: a function of t's may panic
	err := backoff.RetryNotify(func() (err error) {
		last, err = newAttempt(request, attempts > 0, cmp.Or(t.AttemptTimeout, 30*time.Second))
		if err != nil {
			return backoff.Permanent(err)
		}
		attempts++
		err = last.send(t.base())
		return t.check(request, last.response, err)
	}, backoff.WithContext(backoff.WithBudget(policy, budget), request.Context()), func(err error, wait time.Duration) {
		last.discard() // before the wait, so that other requests can use the connection
		last = nil
		if t.Notify != nil {
			t.Notify(request, err, wait)
		}
	})
	if t.Done != nil {
		t.Done(request, attempts, err)
	}
	ended := request.Context().Err() // it may have ended after the loop gave up for another reason
	if last != nil && last.response != nil && (ended == nil || !errors.Is(err, ended)) {
		response := last.response
		response.Request = request
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

// attempt is a request that is sent once. Its context lives until the response has ended and, over HTTP/2,
// the request's body is written, which may be later.
type attempt struct {
	request  *http.Request
	response *http.Response // nil if there is none
	timeout  time.Duration
	cancel   context.CancelFunc // ends the context
	writing  atomic.Bool        // the request's body
	ended    atomic.Bool        // the response
}

// newAttempt returns an attempt at request, or an error if it cannot be sent again.
func newAttempt(request *http.Request, again bool, timeout time.Duration) (*attempt, error) {
	if again && canceled(request) {
		return nil, errors.New("request canceled before a retry")
	}
	body := request.Body
	if again && hasBody(request) { // it is repeatable: there is a GetBody
		var err error
		if body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(request.Context())
	a := &attempt{timeout: timeout, cancel: cancel}
	if hasBody(request) {
		// A wrapper of the body would know, too, but net/http writes a body that it knows more cheaply.
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { a.writing.Store(true) }, // net/http may send it again by itself
			WroteRequest: func(httptrace.WroteRequestInfo) {
				if a.writing.Store(false); a.ended.Load() {
					cancel()
				}
			},
		})
	}
	a.request = request.WithContext(ctx)
	a.request.Header = request.Header.Clone()
	a.request.Body = body
	return a, nil
}

// send sends the request. If it returns nil, a.response has a body.
func (a *attempt) send(base http.RoundTripper) error {
	timer := time.AfterFunc(a.timeout, a.cancel)
	response, err := base.RoundTrip(a.request)
	timely := timer.Stop()
	if err == nil && response == nil { // http.Client says the same
		return backoff.Permanent(fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", base))
	}
	if !timely {
		a.cancel()
		if err == nil && response.Body != nil { // it came too late: its body can no longer be read
			response.Body.Close()
		}
		return os.ErrDeadlineExceeded
	}
	if err != nil {
		return err
	}
	a.response = response
	if response.Body == nil || response.Body == http.NoBody { // http.Client accepts nil, too
		response.Body = http.NoBody
		a.end() // not every caller closes what is not there
	} else {
		response.Body = &body{response.Body, a}
	}
	return nil
}

// end says that the response has ended.
func (a *attempt) end() {
	a.ended.Store(true)
	// Over HTTP/1 the end of the response ends the writing, though net/http does not always say so. Over
	// HTTP/2 net/http goes on, and says nothing if it fails while it writes the header: hence the limit.
	if a.response.ProtoMajor > 1 && a.writing.Load() {
		time.AfterFunc(a.timeout, a.cancel)
		return
	}
	a.cancel()
}

// body is a response's body. A Read that fails or Close ends its attempt.
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

// discard ends a, which may be nil. It reads what is left of the response's body, so that its connection
// can be used again. If the body is long or slow, a new connection costs less.
func (a *attempt) discard() {
	if a == nil {
		return
	}
	if a.response != nil {
		defer a.response.Body.Close()
		timer := time.AfterFunc(100*time.Millisecond, a.cancel)
		io.CopyN(io.Discard, a.response.Body, 64<<10)
		timer.Stop()
	}
	a.cancel() // before Close, which over HTTP/2 otherwise waits for a Read of the request's body
}

// check returns nil if an attempt's outcome is no reason to try again, and otherwise an error for the loop.
func (t *Transport) check(request *http.Request, response *http.Response, err error) error {
	if err != nil && request.Context().Err() != nil {
		return err // the loop ends, and says why
	}
	var again bool
	if t.Retryable != nil {
		again = t.Retryable(request, response, err)
	} else {
		again = Retryable(response, err)
	}
	if err != nil && (!again || canceled(request)) {
		return backoff.Permanent(err)
	} else if err != nil || !again {
		return err
	}
	header := response.Header
	date, _ := http.ParseTime(header.Get("Date")) // a date in Retry-After is by the server's clock, too
	wait, _ := backoff.ParseRetryAfter(header.Get("Retry-After"), cmp.Or(date, time.Now()))
	if ms, _ := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); ms > 0 { // +Inf if out of range
		wait = time.Duration(min(ms*float64(time.Millisecond), 1<<62))
	}
	status := fmt.Sprint(response.StatusCode, " ", http.StatusText(response.StatusCode)) // if the base leaves Status out
	err = errors.New(cmp.Or(response.Status, status))
	if wait > cmp.Or(t.MaxRetryAfter, time.Minute) {
		return backoff.Permanent(err)
	}
	return backoff.RetryAfter(err, wait)
}

// Retryable is the rule that decides whether to try again after an attempt that brought response, or
// err if response is nil. The package comment says what it is.
func Retryable(response *http.Response, err error) bool {
	if response == nil {
		return !permanent(err)
	}
	should := response.Header.Get("X-Should-Retry")
	retryable := backoff.RetryableStatus(response.StatusCode) || should == "true" && response.StatusCode >= 400
	return retryable && should != "false"
}

// repeatable reports whether request can be sent again without harm.
func repeatable(request *http.Request) bool {
	idempotent := []string{"", "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}
	harmless := slices.Contains(idempotent, request.Method) || request.Header.Get("Idempotency-Key") != ""
	rewindable := !hasBody(request) || request.GetBody != nil
	return harmless && rewindable && request.Header.Get("Upgrade") == "" && request.URL != nil
}

func hasBody(request *http.Request) bool { return request.Body != nil && request.Body != http.NoBody }

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

// seed is that of all hashes of hosts.
var seed = maphash.MakeSeed()

// hosts holds a budget for each host, by a hash of its name, which takes as little memory for a long
// name as for a short one. It remembers the last 5,000 hosts, and at most 10,000.
type hosts struct {
	mu          sync.Mutex
	recent, old map[uint64]*backoff.Budget
}

func (h *hosts) budget(service *url.URL) *backoff.Budget {
	key := maphash.String(seed, service.Scheme+"://"+service.Host)
	h.mu.Lock()
	defer h.mu.Unlock()
	if budget := h.recent[key]; budget != nil {
		return budget
	}
	if h.recent == nil || len(h.recent) == 5000 {
		h.recent, h.old = make(map[uint64]*backoff.Budget), h.recent
	}
	budget := cmp.Or(h.old[key], new(backoff.Budget))
	h.recent[key] = budget
	return budget
}
