package compat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The tests of github.com/gojek/heimdall, v8.0.0, that show what httpretry's own do not.
//
// 21 rows: 13 pass, 8 differ on purpose.
func TestHeimdall(t *testing.T) {
	runHTTPCases(t, tally{same: 13, differs: 8}, heimdallCases)
}

var languageHeader = http.Header{"Content-Type": {"application/json"}, "Accept-Language": {"en"}}

var heimdallCases = []httpCase{
	{
		name:   "TestHTTPClientPostSuccess",
		method: "POST", body: "{}", header: languageHeader, server: "200",
		attempts: 1, status: 200, check: languageSent,
	},
	{
		name:    "TestHTTPClientGetReturnsErrorOnClientCallFailure",
		prepare: addressed(""), server: "200", attempts: 1, text: "unsupported protocol scheme",
	},
	{
		name:    "TestPluginErrorMethodCalled",
		prepare: addressed("does_not_exist"), server: "200", attempts: 1, text: "unsupported protocol scheme",
		check: func(t *testing.T, o *httpOutcome) { require.ErrorContains(t, o.done[0], "unsupported protocol scheme") },
	},
	{
		name:   "TestResponseBodyStreaming",
		server: "10ms:big", attempts: 1, elapsed: 10 * time.Millisecond, status: 200,
		check: func(t *testing.T, o *httpOutcome) { require.Greater(t, len(o.replies[0].body), 100<<10) },
	},
	{
		name: "TestHTTPClientPostRetriesOnFailure", differs: notBlindly,
		method: "POST", body: "a=1", retries: 3, wait: time.Millisecond, server: "500", attempts: 1, status: 500,
	},
	{
		name:  "TestHTTPClientRetriesWithBudgetGetOnFailure5xx", // ten requests get four retries, ten get none
		times: 20, retries: 4, server: "500", attempts: 10*5 + 10, status: 500,
		setup: func(transport *httpretry.Transport) { transport.Budget = &backoff.Budget{Capacity: 40, RetryCost: 1} },
		check: func(t *testing.T, o *httpOutcome) {
			require.NotErrorIs(t, o.done[9], backoff.ErrBudgetExhausted)
			require.ErrorIs(t, o.done[10], backoff.ErrBudgetExhausted)
		},
	},
	{
		name: "TestHTTPClientMultiRetryOnTimeout", differs: oneLastError,
		retries: 3, wait: 4 * time.Millisecond, server: "10ms:200", setup: attemptTimeout(5 * time.Millisecond),
		attempts: 4, elapsed: 32 * time.Millisecond, err: os.ErrDeadlineExceeded,
	},
	{
		name:    "TestHTTPClientRetriesOnSpecificStatusCodes",
		retries: 3, server: "400 200", setup: retryStatuses(424, 400), attempts: 2, status: 200,
	},
	{
		name: "TestHystrixHTTPClientRetriesPostOnTimeout", differs: notBlindly,
		method: "POST", body: "a=1&b=2", retries: 3, server: "10ms:200", setup: attemptTimeout(2 * time.Millisecond),
		attempts: 1, elapsed: 2 * time.Millisecond, err: os.ErrDeadlineExceeded,
	},
	{
		name: "TestReqBodyResetForHTTPTimeoutHigherThanHystrix", differs: notBlindly,
		method: "POST", body: strings.Repeat("x", 40<<10),
		retries: 5, server: "100ms:200 100ms:200 200", setup: attemptTimeout(5 * time.Millisecond),
		attempts: 1, elapsed: 5 * time.Millisecond, err: os.ErrDeadlineExceeded,
	},
	{
		name:   "TestReqBodyResetForHTTPTimeoutHigherThanHystrix, with an Idempotency-Key",
		method: "POST", body: strings.Repeat("x", 40<<10), header: http.Header{"Idempotency-Key": {"1"}},
		retries: 5, server: "100ms:200 100ms:200 200", setup: attemptTimeout(5 * time.Millisecond),
		attempts: 3, elapsed: 10 * time.Millisecond, status: 200,
	},
	{
		name:     "TestHTTPClientContextTimeout",
		deadline: time.Millisecond, server: "100ms:200", attempts: 1, elapsed: time.Millisecond, err: context.DeadlineExceeded,
		check: func(t *testing.T, o *httpOutcome) {
			want := &url.Error{Op: "Get", URL: "http://www.example.com", Err: context.DeadlineExceeded}
			require.Equal(t, want, o.replies[0].err)
		},
	},
	{
		name: "TestHTTPClientDoContextCancelledDuringRetry", differs: bothErrors,
		cancel: 10 * time.Millisecond, retries: 3, wait: 100 * time.Millisecond, server: "500",
		attempts: 1, elapsed: 10 * time.Millisecond, err: context.Canceled, text: "500 Internal Server Error",
	},
	{
		name:   "TestHTTPClientDoContextCancelledBeforeRetry",
		cancel: time.Millisecond, policy: func() backoff.BackOff { return neverAsked{} }, server: "1s:500",
		attempts: 1, elapsed: time.Millisecond, err: context.Canceled,
	},
	{
		name: "TestHTTPClientDoContextTimeoutDuringRetry", differs: answeredAtOnce,
		deadline: 15 * time.Millisecond, retries: 3, wait: 100 * time.Millisecond, server: "500",
		attempts: 1, status: 500,
	},
	{
		name: "TestHystrixHTTPClientDoContextCancelled", differs: "a request that is canceled is not sent",
		cancel: -1, policy: func() backoff.BackOff { return neverAsked{} }, server: "100ms:200",
		err: context.Canceled,
	},
	{
		name:   "TestSetRequestGetBodySupportsNoBody",
		method: "POST", prepare: standardBody(func() io.Reader { return http.NoBody }),
		retries: 1, server: "429 200", attempts: 2, status: 200,
	},
	{
		name:   "TestSetRequestGetBodyKeepsExistingGetBody",
		method: "POST", body: "ok", prepare: bodyOf(okReader), retries: 1, server: "429 200", attempts: 2, status: 200,
	},
	{
		name: "TestSetRequestGetBodyMakesRequestBodyReplayable", differs: notBuffered,
		method: "POST", body: "payload", prepare: standardBody(func() io.Reader { return io.NopCloser(strings.NewReader("payload")) }),
		retries: 1, server: "429 200", attempts: 1, status: 429,
	},
	{
		name:   "TestCloneRequestReturnsErrorWhenGetBodyFails",
		method: "POST", body: "payload", retries: 1, server: "429 200", attempts: 1, err: errRead,
		prepare: func(req *http.Request) {
			req.GetBody = func() (io.ReadCloser, error) { return nil, errRead }
		},
	},
	{
		name:   "TestCloneRequestReturnsClonedRequestWithFreshBodyAndPreservedContext",
		method: "POST", body: "payload", header: http.Header{"X-Request-Id": {"123"}},
		retries: 1, server: "429 200", attempts: 2, status: 200,
		prepare: func(req *http.Request) {
			*req = *req.WithContext(context.WithValue(req.Context(), valueKey{}, "value"))
		},
		setup: func(transport *httpretry.Transport) {
			base := transport.Base
			transport.Base = caseBase(func(req *http.Request) (*http.Response, error) {
				if req.Context().Value(valueKey{}) != "value" {
					return nil, errors.New("the context's value is missing")
				}
				return base.RoundTrip(req)
			})
		},
		check: func(t *testing.T, o *httpOutcome) {
			require.Equal(t, "123", o.server.received[1].Header.Get("X-Request-Id"))
		},
	},
}

func languageSent(t *testing.T, o *httpOutcome) {
	require.Equal(t, "application/json", o.server.received[0].Header.Get("Content-Type"))
	require.Equal(t, "en", o.server.received[0].Header.Get("Accept-Language"))
}

// neverAsked is a policy that must not be asked for a wait.
type neverAsked struct{}

func (neverAsked) NextBackOff() time.Duration { panic("asked for a wait") }
func (neverAsked) Reset()                     {}

var errRead = errors.New("clone body failed")
