package compat_test

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
	"example.com/backoff/lab/integration/pipes"
)

// An httpCase is a request that an http.Client sends through httpretry to a server, and what comes of it. Time is
// simulated and exact.
type httpCase struct {
	name    string // of the peer's test, and what is new in it
	differs string // why, in a few words; empty if httpretry does what the peer does

	method   string // of the request; empty means GET
	body     string
	header   http.Header
	deadline time.Duration // of the request's context; 0 means none

	retries int           // at most, after constant waits of wait
	wait    time.Duration // before each retry
	setup   func(o *httpOutcome)

	// What each request meets: a status, or a status after a delay, as in "2s:500". The last one is for all that
	// follow. The body is "answer 3" for the third request; 302 and 307 have a Location.
	server string
	reply  http.Header // of each response

	attempts int
	elapsed  time.Duration
	status   int    // of the response that comes back; 0 means an error
	text     string // a part of the error's text
	check    func(t *testing.T, o *httpOutcome)
}

// An httpOutcome is what a case brought.
type httpOutcome struct {
	client    *http.Client
	base      *http.Transport
	transport *httpretry.Transport

	received []*http.Request // by the server, with bodies that are read
	bodies   []string        // of these
	log      []string        // that a case keeps
	err      error           // that came back
}

// TestPeers has the cases of other HTTP clients' tests that show what httpretry's own tests do not. The code is our own.
//
// Of each peer's tests that can be asked of a RoundTripper, in rows of such a table, the others are held by httpretry's
// own tests, also where httpretry does something else, or by those of the policies, or show what net/http does:
//
//   - github.com/hashicorp/go-retryablehttp, after v0.7.8: 63, of which 3 are rows here
//   - github.com/PuerkitoBio/rehttp, v1.4.0: 67, of which 2
//   - github.com/gojek/heimdall, v8.0.0: 39, of which one
//   - github.com/sethgrid/pester, v1.2.0: 25, of which one
//
// Their tests of waits, 16 rows, are held by the policies' tests too.
//
// 7 rows: 6 pass, 1 differs on purpose.
func TestPeers(t *testing.T) {
	same := 0
	for _, c := range httpCases {
		if c.differs == "" {
			same++
		}
		t.Run(c.name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
	require.Equal(t, [2]int{7, 6}, [2]int{len(httpCases), same}, "the counts in the comment above this test, and here")
}

var httpCases = []httpCase{
	{
		name:    "go-retryablehttp: TestClient_ResponseLogHook", // a Base may read the body of a failure
		retries: 15, wait: 10 * time.Millisecond, server: "500 500 200", setup: logging,
		attempts: 3, elapsed: 20 * time.Millisecond, status: 200,
		check: func(t *testing.T, o *httpOutcome) { require.Equal(t, []string{"answer 1", "answer 2"}, o.log) },
	},
	{
		name:    "go-retryablehttp: TestParseRetryAfterHeader, two-headers",
		retries: 1, server: "503 200", reply: http.Header{"Retry-After": {"2", "3"}},
		attempts: 2, elapsed: 2 * time.Second, status: 200,
	},
	{
		name:    "go-retryablehttp: TestBackoff_RateLimitLinearJitterBackoff, 502 ignore retry header",
		differs: "Retry-After counts with any status that is retried",
		retries: 1, wait: time.Second, server: "502 200", reply: http.Header{"Retry-After": {"2"}},
		attempts: 2, elapsed: 2 * time.Second, status: 200,
	},

	{
		name:    "rehttp: TestTransportTimeout",
		retries: 1, wait: time.Second, server: "2s:200",
		setup:    func(o *httpOutcome) { o.base.ResponseHeaderTimeout = time.Second },
		attempts: 2, elapsed: 3 * time.Second, text: "timeout awaiting response headers",
		check: func(t *testing.T, o *httpOutcome) { require.True(t, o.err.(*url.Error).Timeout()) },
	},
	{
		name:   "rehttp: TestRedirects, body with GetBody, redirects and retries, with an Idempotency-Key",
		method: "POST", body: "ok", header: http.Header{"Idempotency-Key": {"1"}},
		retries: 4, server: "307 500 307 500 200", attempts: 5, status: 200,
	},

	{
		name:     "heimdall: TestHTTPClientContextTimeout",
		deadline: time.Millisecond, server: "100ms:200", attempts: 1, elapsed: time.Millisecond,
		check: func(t *testing.T, o *httpOutcome) {
			want := &url.Error{Op: "Get", URL: "http://www.example.com/", Err: context.DeadlineExceeded}
			require.Equal(t, want, o.err)
		},
	},

	{
		name:    "pester: TestCookiesJarPersistence, over a redirect and a retry",
		retries: 2, server: "302 500 200", reply: http.Header{"Set-Cookie": {"mah-cookie=nomnomnom"}},
		setup:    func(o *httpOutcome) { o.client.Jar, _ = cookiejar.New(nil) },
		attempts: 3, status: 200,
		check: func(t *testing.T, o *httpOutcome) {
			for _, r := range o.received[1:] {
				require.Equal(t, "mah-cookie=nomnomnom", r.Header.Get("Cookie"))
			}
		},
	},
}

// logging sets a Base that logs the bodies of failures.
func logging(o *httpOutcome) {
	o.transport.Base = roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := o.base.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusInternalServerError {
			body, _ := io.ReadAll(resp.Body)
			o.log = append(o.log, string(body))
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (c httpCase) run(t *testing.T) {
	o := c.start(t)
	ctx := t.Context()
	if c.deadline > 0 {
		timed, cancel := context.WithTimeout(ctx, c.deadline)
		defer cancel()
		ctx = timed
	}
	req, err := http.NewRequestWithContext(ctx, c.method, "http://www.example.com/", strings.NewReader(c.body))
	require.NoError(t, err)
	maps.Copy(req.Header, c.header)

	start := time.Now()
	resp, err := o.client.Do(req)
	elapsed := time.Since(start)
	o.err = err
	if err == nil {
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		require.Equal(t, "answer "+strconv.Itoa(c.attempts), string(body), "the last response, unread")
		require.Equal(t, c.status, resp.StatusCode)
	} else {
		require.Zero(t, c.status, "%v", err)
		require.ErrorContains(t, err, c.text)
	}
	synctest.Wait() // until the server has seen what was cut off

	require.Len(t, o.received, c.attempts)
	require.Equal(t, c.elapsed, elapsed, "simulated time")
	for i, body := range o.bodies {
		if o.received[i].Method == c.method { // otherwise it is a redirect
			require.Equal(t, c.body, body, "the body is sent whole each time")
		}
	}
	if c.check != nil {
		c.check(t, o)
	}
}

// start makes the client that the case asks for, and its server in memory.
func (c httpCase) start(t *testing.T) *httpOutcome {
	o := new(httpOutcome)
	listener := pipes.Listen()
	server := &http.Server{Handler: c.handler(o), ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })

	o.base = &http.Transport{DialContext: listener.Dial, DisableKeepAlives: true}
	o.transport = &httpretry.Transport{
		Base:       o.base,
		MaxRetries: math.MaxInt,
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(c.wait), uint64(c.retries))
		},
	}
	o.client = &http.Client{Transport: o.transport}
	if c.setup != nil {
		c.setup(o)
	}
	return o
}

// handler returns the server's, which gives one answer after the other.
func (c httpCase) handler(o *httpOutcome) http.HandlerFunc {
	answers := strings.Fields(c.server)
	return func(w http.ResponseWriter, r *http.Request) {
		answer := answers[min(len(o.received), len(answers)-1)]
		body, _ := io.ReadAll(r.Body)
		o.received = append(o.received, r)
		o.bodies = append(o.bodies, string(body))
		number := len(o.received)

		if delay, after, found := strings.Cut(answer, ":"); found {
			wait, _ := time.ParseDuration(delay)
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
			answer = after
		}
		maps.Copy(w.Header(), c.reply)
		status, _ := strconv.Atoi(answer)
		if status/100 == 3 {
			w.Header().Set("Location", "/next")
		}
		w.WriteHeader(status)
		io.WriteString(w, "answer "+strconv.Itoa(number))
	}
}
