package compat_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The tests of github.com/sethgrid/pester, v1.2.0.
//
// pester can send a request several times at once and take the first answer. httpretry does not: its rows
// send as many requests at once instead, each on its own. pester counts attempts, and a row has a retry fewer.
//
// 25 rows: 17 pass, 8 differ on purpose.
//
// Not asked: TestFormatError (the lines of pester's log), and the twelve measurements of
// benchmarks/access_time_test.go.
func TestPester(t *testing.T) {
	runHTTPCases(t, tally{same: 17, differs: 8}, slices.Concat(pesterTogether, pesterAlone))
}

const (
	after429   = "429 is retried without being asked"
	afterward  = "Notify comes before each retry, and Done at the end"
	exactWaits = "a LinearBackOff has no jitter"
)

var pesterTogether = []httpCase{
	{
		name:     "TestConcurrentRequests",
		together: 3, retries: 2, wait: time.Second, server: "refused",
		attempts: 9, elapsed: 2 * time.Second, text: "connection refused",
	},
	{
		name: "TestConcurrentRequestsWith429DefaultClient", differs: after429,
		together: 3, retries: 2, wait: time.Second, server: "429", attempts: 9, elapsed: 2 * time.Second, status: 429,
	},
	{
		name:     "TestConcurrentRequestsWith400",
		together: 3, retries: 2, wait: time.Second, server: "400", attempts: 3, status: 400,
	},
	{
		name:     "TestConcurrentRequestsWith429",
		together: 3, retries: 2, wait: time.Second, server: "429", attempts: 9, elapsed: 2 * time.Second, status: 429,
	},
	{
		name: "TestMaxRetriesConcurrentRequestsWith429DefaultClient", differs: after429,
		together: 3, retries: 4, wait: time.Second, server: "429", attempts: 15, elapsed: 4 * time.Second, status: 429,
	},
	{
		name:     "TestMaxRetriesConcurrentRequestsWith400",
		together: 3, retries: 4, wait: time.Second, server: "400", attempts: 3, status: 400,
	},
	{
		name:     "TestMaxRetriesConcurrentRequestsWith429",
		together: 3, retries: 4, wait: time.Second, server: "429", attempts: 15, elapsed: 4 * time.Second, status: 429,
	},
	{name: "TestConcurrent2Retry0", together: 2, server: "refused", attempts: 2, text: "connection refused"},
	{name: "TestConcurrent2Retry0for429DefaultClient", together: 2, server: "429", attempts: 2, status: 429},
	{name: "TestConcurrent2Retry0for429", together: 2, server: "429", attempts: 2, status: 429},
	{
		name:     "TestConcurrentRequestsNotRacyAndDontLeak_FailedRequest", // a goroutine left behind fails a row
		together: 5, retries: 2, wait: time.Second, server: "200", attempts: 5, status: 200,
	},
	{
		name:     "TestConcurrentRequestsNotRacyAndDontLeak_SuccessfulRequest",
		together: 5, retries: 2, wait: time.Second, server: "refused",
		attempts: 15, elapsed: 2 * time.Second, text: "connection refused",
	},
}

var pesterAlone = []httpCase{
	{
		name:    "TestDefaultBackoff",
		retries: 2, wait: time.Second, server: "refused",
		attempts: 3, elapsed: 2 * time.Second, text: "connection refused",
	},
	{
		name: "TestCustomLogHook", differs: afterward,
		retries: 4, wait: 10 * time.Microsecond, server: "refused",
		attempts: 5, elapsed: 40 * time.Microsecond, text: "connection refused", check: notified(4),
	},
	{
		name: "TestCustomContextLogHook", differs: afterward,
		retries: 4, wait: 10 * time.Microsecond, server: "refused",
		attempts: 5, elapsed: 40 * time.Microsecond, text: "connection refused", check: notified(4),
		prepare: func(req *http.Request) {
			*req = *req.WithContext(context.WithValue(req.Context(), valueKey{}, "value"))
		},
		setup: func(transport *httpretry.Transport) {
			notify := transport.Notify
			transport.Notify = func(req *http.Request, attempt int, err error, wait time.Duration) {
				if req.Context().Value(valueKey{}) == "value" {
					notify(req, attempt, err, wait)
				}
			}
		},
	},
	{
		name:    "TestDefaultLogHook",
		retries: 4, wait: 10 * time.Microsecond, server: "refused",
		attempts: 5, elapsed: 40 * time.Microsecond, text: "connection refused",
		setup: func(transport *httpretry.Transport) { transport.Notify, transport.Done = nil, nil },
	},
	{
		name: "TestLinearJitterBackoff", differs: exactWaits,
		policy: func() backoff.BackOff { return backoff.WithMaxRetries(backoff.NewLinearBackOff(time.Second), 2) },
		server: "refused", attempts: 3, elapsed: 3 * time.Second, text: "connection refused",
	},
	{
		name:   "TestExponentialBackoff",
		policy: doubling(2*time.Second, 3),
		server: "refused", attempts: 4, elapsed: 14 * time.Second, text: "connection refused",
	},
	{
		name:  "TestCookiesJarPersistence",
		times: 2, retries: 2, server: "200", reply: http.Header{"Set-Cookie": {"mah-cookie=nomnomnom"}},
		attempts: 2, status: 200,
		client: func(client *http.Client) { client.Jar, _ = cookiejar.New(nil) },
		check: func(t *testing.T, o *httpOutcome) {
			require.Equal(t, "mah-cookie=nomnomnom", o.server.received[1].Header.Get("Cookie"))
		},
	},
	{
		name:    "TestEmbeddedClientTimeout",
		timeout: time.Second, retries: 2, wait: time.Second, server: "2s:200",
		attempts: 1, elapsed: time.Second, check: isTimeout,
	},
	{
		name:   "TestRetriesNotAttemptedIfContextIsCancelled",
		cancel: time.Millisecond, policy: doubling(2*time.Second, 9), server: "1s:200",
		attempts: 1, elapsed: time.Millisecond, err: context.Canceled,
	},
	{
		name: "TestRetriesContextCancelledDuringWait", differs: bothErrors,
		cancel: 100 * time.Millisecond, timeout: 6 * time.Second, retries: 1, wait: 5 * time.Second,
		setup:    failingWith(errAlways),
		attempts: 1, elapsed: 100 * time.Millisecond, err: context.Canceled,
		check: func(t *testing.T, o *httpOutcome) { require.ErrorIs(t, o.replies[0].err, errAlways) },
	},
	{
		name: "TestRetriesWithBodies_Do", differs: notBlindly,
		method: "POST", body: "TestRetriesWithBodies_Do", retries: 3, server: "500", attempts: 1, status: 500,
	},
	{
		name: "TestRetriesWithBodies_POST", differs: notBlindly,
		method: "POST", body: "TestRetriesWithBodies_POST", retries: 3, server: "500", attempts: 1, status: 500,
	},
	{
		name:   "TestRetriesWithBodies_POST, with an Idempotency-Key",
		method: "POST", body: "TestRetriesWithBodies_POST", header: http.Header{"Idempotency-Key": {"1"}},
		retries: 3, server: "500", attempts: 4, status: 500,
	},
}

var errAlways = errors.New("always fails")

type valueKey struct{}

// notified checks how often Notify was called, and that Done was called once.
func notified(times int) func(*testing.T, *httpOutcome) {
	return func(t *testing.T, o *httpOutcome) {
		require.Len(t, o.waits, times)
		require.Len(t, o.done, 1)
	}
}

// doubling returns a policy without jitter, whose waits double.
func doubling(interval time.Duration, retries uint64) func() backoff.BackOff {
	return func() backoff.BackOff {
		return backoff.WithMaxRetries(backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(interval),
			backoff.WithMultiplier(2),
			backoff.WithJitter(backoff.NoJitter),
		), retries)
	}
}
