package compat_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The tests of github.com/hashicorp/go-retryablehttp, after v0.7.8, that show what httpretry's own do not.
//
// 32 rows: 21 pass, 11 differ on purpose.
func TestRetryableHTTP(t *testing.T) {
	runHTTPCases(t, tally{same: 21, differs: 11}, retryableHTTPCases)
}

// Two connections are refused, then the server answers 500 twice. The body arrives whole each time.
const untilHealthy = "refused refused 500 500 200"

var fooHeader = http.Header{"Foo": {"bar"}}

var retryableHTTPCases = []httpCase{
	{
		name:   "TestClient_Do, a function as body",
		method: "PUT", path: "/v1/foo", body: "hello", header: fooHeader,
		prepare: func(req *http.Request) {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil }
		},
		retries: 50, wait: 10 * time.Millisecond, server: untilHealthy,
		attempts: 5, elapsed: 40 * time.Millisecond, status: 200, check: fooEachTime,
	},
	{
		name:   "TestClient_Do, an io.ReadSeeker",
		method: "PUT", path: "/v1/foo", body: "hello", header: fooHeader,
		retries: 50, wait: 10 * time.Millisecond, server: untilHealthy,
		attempts: 5, elapsed: 40 * time.Millisecond, status: 200, check: fooEachTime,
	},
	{
		name: "TestClient_Do, an io.Reader", differs: notBuffered,
		method: "PUT", path: "/v1/foo", body: "hello", header: fooHeader,
		prepare: standardBody(func() io.Reader { return io.LimitReader(strings.NewReader("hello"), 5) }),
		retries: 50, wait: 10 * time.Millisecond, server: untilHealthy,
		attempts: 1, text: "connection refused",
	},
	{
		name:   "TestClient_RedirectWithBody, a body",
		method: "POST", path: "/redirect", body: `{"foo":"bar"}`, retries: 4, server: "307 201",
		attempts: 2, status: 201,
	},
	{
		name:    "TestClient_Do_WithResponseHandler, always fails, retryable",
		setup:   retryHandled(eachTime),
		retries: 2, wait: 10 * time.Millisecond, server: "200", attempts: 3, elapsed: 20 * time.Millisecond, status: 200,
	},
	{
		name:    "TestClient_Do_WithResponseHandler, fails once",
		setup:   retryHandled(firstTime),
		retries: 2, wait: 10 * time.Millisecond, server: "200", attempts: 2, elapsed: 10 * time.Millisecond, status: 200,
	},
	{
		name: "TestClient_Do_WithPrepareRetry, always fails, retryable", differs: headerStays,
		setup:   prepared(eachTime),
		retries: 2, wait: 10 * time.Millisecond, server: "200", attempts: 3, elapsed: 20 * time.Millisecond, status: 200,
		check: preparedFor("", "1", "2"),
	},
	{
		name: "TestClient_Do_WithPrepareRetry, fails once", differs: headerStays,
		setup:   prepared(firstTime),
		retries: 2, wait: 10 * time.Millisecond, server: "200", attempts: 2, elapsed: 10 * time.Millisecond, status: 200,
		check: preparedFor("", "1"),
	},
	{
		name: "TestClient_Do_fails, the default rule", differs: notBlindly,
		method: "POST", retries: 2, server: "500", attempts: 1, status: 500,
	},
	{
		name: "TestClient_Do_fails, the error names the status", differs: notBlindly,
		method: "POST", retries: 2, server: "500", attempts: 1, status: 500,
		check: func(t *testing.T, o *httpOutcome) {
			require.EqualError(t, o.done[0], "500 Internal Server Error")
		},
	},
	{
		name: "TestClient_RequestWithContext", differs: "a request that is canceled is not sent",
		cancel: -1, retries: 4, server: "200", text: "context canceled",
		setup: retryIf(func(*http.Request, *http.Response, error) bool { panic("asked") }),
	},
	{
		name: "TestClient_CheckRetry", differs: "Retryable says yes or no; the last response comes back",
		retries: 4, server: "500", attempts: 2, status: 500, setup: retryHandled(firstTime),
	},
	{
		name:    "TestClient_DefaultRetryPolicy_TLS",
		https:   true,
		retries: 4, server: "200", attempts: 1, text: "certificate signed by unknown authority",
	},
	{
		name:    "TestClient_DefaultRetryPolicy_redirects", // ten requests, with one attempt each
		retries: 4, server: "302", attempts: 10, text: "stopped after 10 redirects",
		check: func(t *testing.T, o *httpOutcome) { require.Empty(t, o.waits) },
	},
	{
		name:    "TestClient_BackoffCustom",
		policy:  func() backoff.BackOff { return backoff.WithMaxRetries(backoff.NewLinearBackOff(time.Millisecond), 4) },
		retries: 4, server: "500 500 500 500 200", attempts: 5, elapsed: 10 * time.Millisecond, status: 200,
		check: func(t *testing.T, o *httpOutcome) { require.Len(t, o.waits, 4) },
	},
	{
		name:    "TestRoundTripper_RoundTrip",
		retries: 4, server: "404 404 200", attempts: 3, status: 200, setup: retryStatuses(404),
	},
	{
		name:    "TestRoundTripper_TransportFailureErrorHandling",
		retries: 4, server: "unknown", attempts: 1, text: "no such host",
		check: func(t *testing.T, o *httpOutcome) {
			var dial *net.OpError
			require.True(t, errors.As(o.replies[0].err, &dial))
			require.Equal(t, &url.Error{Op: "Get", URL: "http://www.example.com", Err: dial}, o.replies[0].err)
		},
	},
	{
		name:   "TestClient_Post",
		method: "POST", path: "/foo/bar", body: `{"hello":"world"}`,
		header:  http.Header{"Content-Type": {"application/json"}},
		retries: 4, server: "200", attempts: 1, status: 200, check: called("POST", "application/json"),
	},
	{
		name: "TestClient_RequestLogHook", // a Base sees each attempt
		path: "/foo/bar", retries: 4, server: "500 200", attempts: 2, status: 200, setup: logging,
		check: func(t *testing.T, o *httpOutcome) {
			require.Equal(t, []string{"GET /foo/bar", "500 answer 1", "GET /foo/bar", "200"}, o.server.log)
		},
	},
	{
		name:    "TestClient_ResponseLogHook", // and may read the body of a failure
		retries: 15, wait: 10 * time.Millisecond, server: "500 500 200", attempts: 3, elapsed: 20 * time.Millisecond, status: 200,
		setup: logging,
		check: func(t *testing.T, o *httpOutcome) {
			require.Equal(t, []string{"GET /", "500 answer 1", "GET /", "500 answer 2", "GET /", "200"}, o.server.log)
		},
	},
	{
		name:  "TestRoundTripper_init",
		times: 2, server: "200", attempts: 2, status: 200,
		setup: func(transport *httpretry.Transport) {
			*transport = httpretry.Transport{Base: transport.Base} // the zero value, but for the Base
		},
	},
	retryAfterCase("TestParseRetryAfterHeader, seconds", 503, 2*time.Second, "2"),
	retryAfterCase("TestParseRetryAfterHeader, date", 503, 2*time.Second, inTwoSeconds),
	retryAfterCase("TestParseRetryAfterHeader, two-headers", 503, 2*time.Second, "2", "3"),
	retryAfterCase("TestParseRetryAfterHeader, bad-date", 503, 0, no32nd),
	retryAfterCase("TestParseRetryAfterHeader, bad-date-format", 503, 0, "badbadbad"),
	rateLimit("429 retry header", "", 429, 2, time.Second, time.Second),
	rateLimit("503 retry header", "", 503, 2, time.Second, time.Second),
	rateLimit("502 ignore retry header", anyStatus, 502, 2, time.Second, time.Second),
	rateLimit("429 retry header with jitter", spread, 429, 2, time.Second, 5*time.Second),
	rateLimit("429 retry header less than min", spread, 429, 2, 5*time.Second, 10*time.Second),
	rateLimit("429 retry header in range", spread, 429, 2, time.Second, 10*time.Second),
}

// standardBody gives a request the body that http.NewRequest makes of a reader.
func standardBody(reader func() io.Reader) func(*http.Request) {
	return func(req *http.Request) {
		standard, _ := http.NewRequest(req.Method, req.URL.String(), reader())
		req.Body, req.GetBody, req.ContentLength = standard.Body, standard.GetBody, standard.ContentLength
	}
}

// bodyOf gives a request a body of unknown length that can be read again.
func bodyOf(reader func() io.Reader) func(*http.Request) {
	return func(req *http.Request) {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(reader()), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = -1
	}
}

func fooEachTime(t *testing.T, o *httpOutcome) {
	require.Len(t, o.server.received, 3, "what was not refused")
	for _, r := range o.server.received {
		require.Equal(t, "bar", r.Header.Get("Foo"))
		require.Equal(t, "/v1/foo", r.RequestURI)
	}
}

func eachTime(int) bool          { return true }
func firstTime(attempt int) bool { return attempt == 1 }

// retryHandled retries after the attempts for which fails reports true, though all are answered with 200.
func retryHandled(fails func(attempt int) bool) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) {
		var attempt atomic.Int32
		transport.Retryable = func(_ *http.Request, resp *http.Response, err error) bool {
			if fails == nil {
				return httpretry.Retryable(resp, err)
			}
			return fails(int(attempt.Add(1)))
		}
	}
}

// prepared does the same, and has a Base that numbers the retries in a header.
func prepared(fails func(attempt int) bool) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) {
		retryHandled(fails)(transport)
		server := transport.Base.(*caseServer)
		transport.Base = caseBase(func(req *http.Request) (*http.Response, error) {
			if server.attempts > 0 {
				req.Header.Set("Foo", string(rune('0'+server.attempts)))
			}
			return server.RoundTrip(req)
		})
	}
}

// preparedFor checks the header of each attempt, and that the caller's request has none.
func preparedFor(foo ...string) func(*testing.T, *httpOutcome) {
	return func(t *testing.T, o *httpOutcome) {
		var got []string
		for _, r := range o.server.received {
			got = append(got, r.Header.Get("Foo"))
		}
		require.Equal(t, foo, got)
		require.NotContains(t, o.request.Header, "Foo")
		require.Len(t, o.waits, len(foo)-1, "Notify is called before each retry")
	}
}

func called(method, contentType string) func(*testing.T, *httpOutcome) {
	return func(t *testing.T, o *httpOutcome) {
		require.Equal(t, method, o.server.received[0].Method)
		require.Equal(t, "/foo/bar", o.server.received[0].RequestURI)
		require.Equal(t, contentType, o.server.received[0].Header.Get("Content-Type"))
	}
}

// logging has a Base that logs the requests, and the responses with the bodies of failures.
func logging(transport *httpretry.Transport) {
	server := transport.Base.(*caseServer)
	add := func(line string) { server.log = append(server.log, line) }
	transport.Base = caseBase(func(req *http.Request) (*http.Response, error) {
		add(req.Method + " " + req.URL.RequestURI())
		resp, err := server.RoundTrip(req)
		switch {
		case err != nil:
			add(err.Error())
		case resp.StatusCode == 500:
			body, _ := io.ReadAll(resp.Body)
			add("500 " + string(body))
		default:
			add(strconv.Itoa(resp.StatusCode))
		}
		return resp, err
	})
}

// The simulated time begins in the year 2000.
const (
	inTwoSeconds = "Sat, 01 Jan 2000 00:00:02 GMT"
	aMinuteAgo   = "Fri, 31 Dec 1999 23:59:00 GMT"
	no32nd       = "Sat, 32 Jan 2000 00:00:02 GMT"
)

// retryAfterCase is a request whose first response has a status and the values of Retry-After, with a retry
// after wait, to which the policy adds nothing.
func retryAfterCase(name string, status int, wait time.Duration, values ...string) httpCase {
	return httpCase{
		name: name, retries: 1, server: fmt.Sprint(status, " 200"), reply: http.Header{"Retry-After": values},
		attempts: 2, elapsed: wait, status: 200,
	}
}

const (
	anyStatus = "Retry-After counts with any status that is retried"
	spread    = "clients that are told the same wait come back at different moments, none too early"
)

// rateLimit is a request whose first response may ask for a wait in seconds. The policy's waits are between
// from and to.
func rateLimit(name, differs string, status, asked int, from, to time.Duration) httpCase {
	c := httpCase{
		name: "TestBackoff_RateLimitLinearJitterBackoff, " + name, differs: differs,
		server: fmt.Sprint(status, " 200"), attempts: 2, status: 200,
	}
	wait := from
	if asked > 0 {
		c.reply = http.Header{"Retry-After": {fmt.Sprint(asked)}}
		wait = max(from, time.Duration(asked)*time.Second)
	}

	c.elapsed = wait
	c.upTo = wait + (to - from)
	c.policy = func() backoff.BackOff {
		return backoff.WithMaxRetries(backoff.NewExponentialBackOff(
			backoff.WithInitialInterval((from+to)/2),
			backoff.WithRandomizationFactor(float64(to-from)/float64(to+from)),
		), 1)
	}
	return c
}
