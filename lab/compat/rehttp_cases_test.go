package compat_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// The tests of github.com/PuerkitoBio/rehttp, v1.4.0, that show what httpretry's own do not.
//
// Its rules are functions of one attempt. Here they are a Retryable, and a row asks for all attempts of a
// request that are rows of their own there.
//
// 30 rows: 19 pass, 11 differ on purpose.
func TestRehttp(t *testing.T) {
	runHTTPCases(t, tally{same: 19, differs: 11}, rehttpCases)
}

var retry500 = retryStatuses(500)

var rehttpCases = []httpCase{
	{
		name:     "TestContextCancelOnRetry, during the retry",
		deadline: time.Second, retries: 1, server: "500 2s:200",
		attempts: 2, elapsed: time.Second, err: context.DeadlineExceeded,
	},
	{
		name: "TestContextCancelOnRetry, during the wait", differs: answeredAtOnce,
		deadline: time.Second, retries: 1, wait: 2 * time.Second, server: "500 2s:200",
		attempts: 1, status: 500,
	},
	{
		name:    "TestClientTimeoutSlowBody",
		timeout: time.Second, retries: 2, wait: time.Second, server: "drip",
		attempts: 1, elapsed: time.Second, status: 200, err: context.DeadlineExceeded, check: isTimeout,
	},
	{
		name:    "TestClientTimeoutOnRetry, during the retry",
		timeout: time.Second, retries: 1, server: "500 2s:200",
		attempts: 2, elapsed: time.Second, check: isTimeout,
	},
	{
		name: "TestClientTimeoutOnRetry, during the wait", differs: answeredAtOnce,
		timeout: time.Second, retries: 1, wait: 2 * time.Second, server: "500 2s:200",
		attempts: 1, status: 500,
	},
	{
		name:    "TestTransportTimeout",
		retries: 1, wait: time.Second, server: "2s:200",
		attempts: 2, elapsed: 3 * time.Second, text: "timeout awaiting response headers", check: isTimeout,
		setup: func(transport *httpretry.Transport) {
			transport.Base.(*caseServer).base.ResponseHeaderTimeout = time.Second
		},
	},
	{
		name:    "TestTransport_RoundTripTimeouts, each attempt too long",
		retries: 3, server: "100ms:429", setup: attemptTimeout(10 * time.Millisecond),
		attempts: 4, elapsed: 40 * time.Millisecond, check: isTimeout,
	},
	{
		name:     "TestTransport_RoundTripOverallTimeout",
		deadline: 1500 * time.Millisecond, retries: 3, server: "2s:429", setup: attemptTimeout(time.Second),
		attempts: 2, elapsed: 1500 * time.Millisecond, err: context.DeadlineExceeded,
	},
	{
		name:    "TestCancelReader", // the body may be read after the attempt's timeout
		retries: 1, server: "10ms:big", setup: attemptTimeout(100 * time.Millisecond),
		attempts: 1, elapsed: 10 * time.Millisecond, status: 200,
		check: func(t *testing.T, o *httpOutcome) { require.Greater(t, len(o.replies[0].body), 100<<10) },
	},
	{
		name: "TestClientRetryWithBody", differs: notBlindly,
		method: "POST", path: "/test", body: "body", retries: 1, server: "500 200", setup: retry500,
		attempts: 1, status: 500,
	},
	{
		name: "TestClientRetryWithHeaders",
		path: "/test", header: http.Header{"X-1": {"a"}, "X-2": {"b"}}, retries: 1, server: "500 200", setup: retry500,
		attempts: 2, status: 200,
		check: func(t *testing.T, o *httpOutcome) {
			require.Equal(t, "a", o.server.received[1].Header.Get("X-1"))
			require.Equal(t, "b", o.server.received[1].Header.Get("X-2"))
		},
	},
	{
		name:    "TestMockClientRetry",
		retries: 1, setup: failingWith(temporaryError{}), attempts: 2, err: temporaryError{},
	},
	{
		name: "TestMockClientFailBufferBody", differs: notBuffered,
		method: "POST", prepare: standardBody(func() io.Reader { return iotest.TimeoutReader(strings.NewReader("hello")) }),
		retries: 1, server: "200", attempts: 1, err: iotest.ErrTimeout,
	},
	{
		name: "TestMockClientRetryWithBody", differs: notBlindly,
		method: "POST", body: "hello", retries: 1, setup: failingWith(temporaryError{}),
		attempts: 1, err: temporaryError{},
	},
	{
		name:    "TestMockClientRetryTimeout",
		retries: 1, setup: failingWith(&net.OpError{Err: timeoutError{}}),
		attempts: 2, err: timeoutError{}, check: isTimeout,
	},
	{
		name:   "TestRedirects, no body, redirects",
		method: "POST", path: "/test", server: "307 307 200", attempts: 3, status: 200,
	},
	{
		name: "TestRedirects, body, redirects and retries", differs: notBlindly,
		method: "POST", path: "/test", body: "ok", retries: 4, server: "500 307 500 307 200", setup: retry500,
		attempts: 1, status: 500,
	},
	{
		name:   "TestRedirects, body without GetBody, redirects", // which the client does not follow then
		method: "POST", path: "/test", body: "ok", prepare: rewindless, server: "307 307 200", attempts: 1, status: 307,
	},
	{
		name:   "TestRedirects, body with GetBody, redirects",
		method: "POST", path: "/test", body: "ok", prepare: bodyOf(okReader), server: "307 307 200", attempts: 3, status: 200,
	},
	{
		name: "TestRedirects, body with GetBody, redirects and retries", differs: notBlindly,
		method: "POST", path: "/test", body: "ok", prepare: bodyOf(okReader),
		retries: 4, server: "307 500 307 500 200", setup: retry500,
		attempts: 2, status: 500,
	},
	{
		name: "TestRetryHTTPMethods, POST", differs: notBlindly,
		method: "POST", retries: 2, server: "500", setup: retryMethods("GET", "POST"), attempts: 1, status: 500,
	},
	{
		name: "TestRetryHTTPMethods, put", differs: "methods are case-sensitive: PUT is idempotent, put is not known",
		method: "put", retries: 2, server: "500", setup: retryMethods("GET", "POST", "PUT"), attempts: 1, status: 500,
	},
	{name: "TestRetryStatusInterval, 600", retries: 2, server: "600", setup: retry5xx, attempts: 1, status: 600},
	{name: "TestRetryStatuses, 401", retries: 1, server: "401", setup: retryStatuses(401, 500), attempts: 2, status: 401},
	{
		name:    "TestRetryTemporaryErr, temporary",
		retries: 1, setup: retryErrors(temporary, temporaryError{}),
		attempts: 2, err: temporaryError{},
	},
	{
		name:    "TestRetryTimeoutErr, timeout",
		retries: 1, setup: retryErrors(timedOut, timeoutError{}), attempts: 2, err: timeoutError{},
	},
	{
		name:    "Test_isTimeoutErr, a context's",
		retries: 1, setup: retryErrors(timedOut, context.DeadlineExceeded),
		attempts: 2, err: context.DeadlineExceeded,
	},
	{
		name:   "TestCombineRetryFn, DELETE 401",
		method: "DELETE", retries: 2, server: "401", setup: combined, attempts: 3, status: 401,
	},
	{
		name: "TestCombineRetryFn, POST 403", differs: notAsked,
		method: "POST", retries: 2, server: "403", setup: combined, attempts: 1, status: 403,
	},
	{
		name: "TestCombineRetryFn, POST 500", differs: notAsked,
		method: "POST", retries: 2, server: "500", setup: combined, attempts: 1, status: 500,
	},
}

func okReader() io.Reader { return io.LimitReader(strings.NewReader("ok"), 100) }

// temporaryError is an error that says that it passes.
type temporaryError struct{}

func (temporaryError) Error() string   { return "temporary" }
func (temporaryError) Temporary() bool { return true }

// timeoutError is an error that says that it is a timeout.
type timeoutError struct{}

func (timeoutError) Error() string { return "late" }
func (timeoutError) Timeout() bool { return true }

const notAsked = "about a POST Retryable is asked only after 429 and failed dials"

// retryMethods retries whatever comes after a request with one of the methods.
func retryMethods(methods ...string) func(*httpretry.Transport) {
	return retryIf(func(req *http.Request, _ *http.Response, _ error) bool {
		return slices.Contains(methods, strings.ToUpper(req.Method))
	})
}

var retry5xx = retryIf(func(_ *http.Request, resp *http.Response, _ error) bool {
	return resp != nil && resp.StatusCode/100 == 5
})

// retryErrors retries after an error that has a property. The Base returns err.
func retryErrors(property func(error) bool, err error) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) {
		failingWith(err)(transport)
		transport.Retryable = func(_ *http.Request, _ *http.Response, err error) bool { return property(err) }
	}
}

func temporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

func timedOut(err error) bool {
	var e interface{ Timeout() bool }
	return errors.As(err, &e) && e.Timeout()
}

// combined retries a GET, after 401 and 403, and a POST after 500.
var combined = retryIf(func(req *http.Request, resp *http.Response, _ error) bool {
	either := req.Method == "GET" || resp.StatusCode == 401 || resp.StatusCode == 403
	both := req.Method == "POST" && resp.StatusCode == 500
	return either || both
})
