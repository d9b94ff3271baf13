package compat_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The tests of github.com/sethgrid/pester, v1.2.0, that show what httpretry's own do not.
//
// pester can send a request several times at once and take the first answer. httpretry does not: its rows
// send as many requests at once instead, each on its own. pester counts attempts, and a row has a retry fewer.
//
// 10 rows: 6 pass, 4 differ on purpose.
func TestPester(t *testing.T) {
	runHTTPCases(t, tally{same: 6, differs: 4}, pesterCases)
}

const (
	after429   = "429 is retried without being asked"
	afterward  = "Notify comes before each retry, and Done at the end"
	exactWaits = "a LinearBackOff has no jitter"
)

var pesterCases = []httpCase{
	{
		name:     "TestConcurrentRequests",
		together: 3, retries: 2, wait: time.Second, server: "refused",
		attempts: 9, elapsed: 2 * time.Second, text: "connection refused",
	},
	{
		name:     "TestConcurrentRequestsWith429",
		together: 3, retries: 2, wait: time.Second, server: "429", attempts: 9, elapsed: 2 * time.Second, status: 429,
	},
	{
		name:     "TestConcurrentRequestsNotRacyAndDontLeak_FailedRequest", // a goroutine left behind fails a row
		together: 5, retries: 2, wait: time.Second, server: "200", attempts: 5, status: 200,
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
