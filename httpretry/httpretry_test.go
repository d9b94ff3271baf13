package httpretry_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

func threeRetries() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }

// A script is a server on a loopback port that answers with one status after the other, and then
// with the last one forever. Status 0 cuts the connection.
type script struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	bodies   []string
}

func newScript(t *testing.T, header http.Header, statuses ...int) *script {
	s := new(script)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		status := statuses[min(s.requests, len(statuses)-1)]
		s.requests++
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		fmt.Fprint(w, strings.Repeat("answer ", 1000))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// send sends a request with the server's own connections.
func (s *script) send(transport *httpretry.Transport, request *http.Request) (*http.Response, error) {
	transport.Base = s.Client().Transport
	if transport.Policy == nil {
		transport.Policy = threeRetries
	}
	return transport.RoundTrip(request)
}

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, url, reader)
	require.NoError(t, err)
	return request
}

func TestStatuses(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504, 512, 520, 529, 599} {
		s := newScript(t, nil, status, status, 200)
		response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 3, s.count())
	}
	for _, status := range []int{200, 301, 400, 404, 501, 505, 511} {
		s := newScript(t, nil, status)
		response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
		require.NoError(t, err)
		require.Equal(t, status, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 1, s.count())
	}
}

func TestDroppedConnection(t *testing.T) {
	s := newScript(t, nil, 0, 0, 200)
	response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	require.NoError(t, response.Body.Close())

	s = newScript(t, nil, 0)
	_, err = s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 4, s.count())

	s = newScript(t, nil, 0)
	_, err = s.send(new(httpretry.Transport), newRequest(t, "PUT", s.URL, strings.Repeat("long ", 1<<20)))
	require.Error(t, err)
	require.Equal(t, 4, s.count())
}

// TestSent has all outcomes.
func TestRepeatable(t *testing.T) {
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "1") }
	for _, test := range []struct {
		name, method, body string
		change             func(*http.Request)
		after503, after429 int // how often it is sent
	}{
		{"GET", "GET", "", nil, 4, 4},
		{"empty method", "", "", nil, 4, 4},
		{"PUT", "PUT", "body", nil, 4, 4},
		{"DELETE", "DELETE", "", nil, 4, 4},
		{"HEAD", "HEAD", "", nil, 4, 4},
		{"OPTIONS", "OPTIONS", "", nil, 4, 4},
		{"TRACE", "TRACE", "", nil, 4, 4},
		{"PUT, NoBody", "PUT", "", func(r *http.Request) { r.Body = http.NoBody }, 4, 4},
		{"PUT, body once", "PUT", "body", func(r *http.Request) { r.GetBody = nil }, 1, 1},
		{"GET, upgrade", "GET", "", func(r *http.Request) {
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
		}, 1, 1},

		{"POST", "POST", "body", nil, 1, 4},
		{"POST without body", "POST", "", nil, 1, 4},
		{"PATCH", "PATCH", "body", nil, 1, 4},
		{"unknown method", "MERGE", "body", nil, 1, 4},
		{"method in lower case", "get", "", nil, 1, 4},
		{"POST, body once", "POST", "body", func(r *http.Request) { r.GetBody = nil }, 1, 1},

		{"key", "POST", "body", key, 4, 4},
		{"key, PATCH", "PATCH", "body", key, 4, 4},
		{"key, empty", "POST", "body", func(r *http.Request) { r.Header.Set("Idempotency-Key", "") }, 1, 4},
		{"key, no value", "POST", "body", func(r *http.Request) { r.Header["Idempotency-Key"] = []string{} }, 4, 4},
		{"key, nil", "POST", "body", func(r *http.Request) { r.Header["Idempotency-Key"] = nil }, 4, 4},
		{"X key", "POST", "body", func(r *http.Request) { r.Header.Set("X-Idempotency-Key", "1") }, 4, 4},
		{"X key, nil", "POST", "body", func(r *http.Request) { r.Header["X-Idempotency-Key"] = nil }, 4, 4},
		{"another key", "POST", "body", func(r *http.Request) { r.Header.Set("Key", "1") }, 1, 4},
		{"key, body once", "POST", "body", func(r *http.Request) {
			key(r)
			r.GetBody = nil
		}, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for status, want := range map[int]int{503: test.after503, 429: test.after429} {
				s := newScript(t, nil, status)
				request := newRequest(t, test.method, s.URL, test.body)
				request.Method = test.method
				if test.change != nil {
					test.change(request)
				}
				response, err := s.send(new(httpretry.Transport), request)
				require.NoError(t, err)
				require.Equal(t, status, response.StatusCode)
				require.NoError(t, response.Body.Close())
				require.Equal(t, want, s.count(), "after status %d", status)
				for _, body := range s.bodies {
					require.Equal(t, test.body, body)
				}
			}
		})
	}
}

// The mark of net/http, a key without values, does not reach the server.
func TestMarkNotSent(t *testing.T) {
	var keys []bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, key := r.Header["Idempotency-Key"]
		keys = append(keys, key)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	request := newRequest(t, "POST", server.URL, "body")
	request.Header["Idempotency-Key"] = nil
	response, err := (&httpretry.Transport{Policy: threeRetries}).RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, []bool{false, false, false, false}, keys)
}

// A POST is sent again until something has been done with it, whatever comes first.
func TestPost(t *testing.T) {
	for _, test := range []struct {
		statuses []int
		want     int // status
		count    int
	}{
		{[]int{429, 429, 200}, 200, 3},
		{[]int{429, 503, 200}, 503, 2},
		{[]int{429, 409, 200}, 409, 2},
		{[]int{429}, 429, 4},
	} {
		s := newScript(t, nil, test.statuses...)
		response, err := s.send(new(httpretry.Transport), newRequest(t, "POST", s.URL, "body"))
		require.NoError(t, err)
		require.Equal(t, test.want, response.StatusCode)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Len(t, body, 7000)
		require.NoError(t, response.Body.Close())
		require.Equal(t, test.count, s.count(), test.statuses)
		for _, body := range s.bodies {
			require.Equal(t, "body", body)
		}
	}

	s := newScript(t, nil, 429, 0, 200)
	_, err := s.send(new(httpretry.Transport), newRequest(t, "POST", s.URL, "body"))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 2, s.count())
}

// A POST is sent again if there was no connection to send it on, to the server or to its proxy.
func TestDialFailed(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	closed := "http://" + listener.Addr().String()
	proxy := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(closed) }}

	for _, test := range []struct {
		name string
		base http.RoundTripper
		url  string
		want int
	}{
		{"server", new(http.Transport), closed, 4},
		{"server, TLS", new(http.Transport), strings.Replace(closed, "http", "https", 1), 4},
		{"proxy", proxy, "http://example.com", 4},
		{"proxy, TLS", proxy, "https://example.com", 4},
		{"wrapped", fails(fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: io.EOF})), "http://localhost", 4},
		{"unknown host", fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}), "http://localhost", 1},
		{"read", fails(&net.OpError{Op: "read", Err: io.EOF}), "http://localhost", 1},
		{"any other", fails(errors.New("dial")), "http://localhost", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport, attempts := counted(test.base.RoundTrip)
			_, err := transport.RoundTrip(newRequest(t, "POST", test.url, "body"))
			require.Error(t, err)
			require.Equal(t, test.want, *attempts)
		})
	}
}

// fails is a base of which each attempt fails with err.
func fails(err error) http.RoundTripper {
	return baseFunc(func(*http.Request) (*http.Response, error) { return nil, err })
}

// What net/http refuses to send is tried once, whatever Retryable says, and costs no token.
func TestInvalidRequest(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		server := httptest.NewUnstartedServer(readAll)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.EnableHTTP2 = true
		if proto == "HTTP/1.1" {
			server.Start()
		} else {
			server.StartTLS()
		}
		defer server.Close()

		for _, test := range []struct {
			name   string
			change func(*http.Request)
			want   string // in the error; if empty, the request is sent
		}{
			{"nothing", func(*http.Request) {}, ""},
			{"header name", func(r *http.Request) { r.Header["A name"] = []string{"value"} }, "invalid header"},
			{"header value", func(r *http.Request) { r.Header.Set("Name", "a value\n") }, "invalid header"},
			{"no header", func(r *http.Request) { r.Header = nil }, "nil Request.Header"},
			{"trailer name", func(r *http.Request) { r.Trailer = http.Header{"A name": nil} }, "invalid trailer"},
			{"trailer", func(r *http.Request) {
				r.ContentLength = -1
				r.Trailer = http.Header{"Content-Length": nil}
			}, "invalid Trailer"},
			{"method", func(r *http.Request) {
				r.Method = "A METHOD"
				r.Header["Idempotency-Key"] = nil
			}, "invalid method"},
			{"scheme", func(r *http.Request) { r.URL.Scheme = "ftp" }, "unsupported protocol scheme"},
			{"no scheme", func(r *http.Request) { r.URL.Scheme = "" }, "unsupported protocol scheme"},
			{"no host", func(r *http.Request) { r.URL.Host = "" }, "no Host"},
			{"longer body", func(r *http.Request) { r.ContentLength = 2 }, "ength"},
		} {
			for _, signer := range []bool{false, true} {
				if signer && test.name == "longer body" {
					continue // net/http finds out too late, now and then
				}
				t.Run(fmt.Sprintf("%s/%s/signer=%v", proto, test.name, signer), func(t *testing.T) {
					checkInvalidRequest(t, server, test.change, signer, test.want)
				})
			}
		}
	}
}

// readAll is a handler that reads a request's body.
var readAll = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })

// checkInvalidRequest makes a change to a request, or lets a base do that to a copy, and checks what becomes of it.
func checkInvalidRequest(t *testing.T, server *httptest.Server, change func(*http.Request), signer bool, want string) {
	base := &http.Transport{ // its own, since a connection for HTTP/2 is used again without some of the checks
		TLSClientConfig:   server.Client().Transport.(*http.Transport).TLSClientConfig.Clone(),
		ForceAttemptHTTP2: true,
	}
	defer base.CloseIdleConnections()
	transport, attempts := named(func(request *http.Request) (*http.Response, error) {
		if !signer {
			return base.RoundTrip(request)
		}
		request = request.Clone(request.Context())
		change(request)
		response, err := base.RoundTrip(request)
		if err != nil {
			err = fmt.Errorf("signed: %w", err)
		}
		return response, err
	}, want)
	transport.Budget = &backoff.Budget{Capacity: 100}
	transport.Retryable = func(_ *http.Request, response *http.Response, err error) bool { return err != nil }

	request := newRequest(t, "PUT", server.URL, "body")
	if !signer {
		change(request)
	}
	response, err := transport.RoundTrip(request)
	if want == "" {
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	} else {
		require.Contains(t, fmt.Sprint(err), want)
		require.False(t, httpretry.Retryable(nil, err))
	}
	require.Equal(t, 1, attempts.named)
	if attempts.others == 0 {
		require.Equal(t, 100, transport.Budget.Tokens())
	}
}

// Other invalid requests, each over the protocol that refuses it.
func TestInvalidRequestErrors(t *testing.T) {
	server := httptest.NewServer(readAll)
	defer server.Close()
	proxy := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(server.URL) }}
	http2 := httptest.NewUnstartedServer(readAll)
	http2.EnableHTTP2 = true
	http2.StartTLS()
	defer http2.Close()

	for _, test := range []struct {
		name   string
		base   http.RoundTripper
		url    string
		change func(*http.Request)
		want   string // in the error
	}{
		{"length without body", server.Client().Transport, server.URL, func(r *http.Request) {
			r.Body = nil
			r.ContentLength = 4
		}, "http: Request.ContentLength=4 with nil Body"},
		{"shorter body", server.Client().Transport, server.URL, func(r *http.Request) { r.ContentLength = 5 }, "http: ContentLength=5 with Body length 4"},
		{"long shorter body", server.Client().Transport, server.URL, func(r *http.Request) {
			r.GetBody = func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(strings.Repeat("long ", 1<<20))), nil
			}
			r.Body, _ = r.GetBody()
			r.ContentLength = 5<<20 + 1
		}, "http: ContentLength="},
		{"control character", server.Client().Transport, server.URL, func(r *http.Request) { r.URL.RawQuery = "\x01" }, "control character"},
		{"host, proxy", proxy, "http://example.com", func(r *http.Request) { r.Host = "a host" }, "invalid Host header"},
		{"host, HTTP/2", http2.Client().Transport, http2.URL, func(r *http.Request) { r.Host = "a host" }, "invalid Host header"},
		{"path, HTTP/2", http2.Client().Transport, http2.URL, func(r *http.Request) { r.URL.Opaque = "mail" }, "invalid request :path"},
		{"connection, HTTP/2", http2.Client().Transport, http2.URL, func(r *http.Request) { r.Header.Set("Connection", "x") }, "invalid Connection"},
		{"long header, HTTP/2", http2.Client().Transport, http2.URL, func(r *http.Request) {
			r.Header.Set("Long", strings.Repeat("long ", 1<<20))
		}, "request header list larger"},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := http2.Client().Get(http2.URL) // so that the server's limits are known
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())

			transport, attempts := named(test.base.RoundTrip, test.want)
			request := newRequest(t, "PUT", test.url, "body")
			test.change(request)
			_, err = transport.RoundTrip(request)
			require.Contains(t, fmt.Sprint(err), test.want)
			require.Equal(t, 1, attempts.named)
		})
	}
}

// What a server says is no error of the request.
func TestInvalidResponse(t *testing.T) {
	transport, attempts := counted(func(*http.Request) (*http.Response, error) {
		return nil, errors.New(`malformed HTTP response "net/http: invalid header"`)
	})
	_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
	require.Error(t, err)
	require.Equal(t, 4, *attempts)
}

// Middleware may take the body from a request, and leave GetBody.
func TestBodyTaken(t *testing.T) {
	for _, none := range []io.ReadCloser{nil, http.NoBody} {
		s := newScript(t, nil, 503, 503, 200)
		request := newRequest(t, "PUT", s.URL, "body")
		request.Body, request.ContentLength = none, 0
		response, err := s.send(new(httpretry.Transport), request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, []string{"", "", ""}, s.bodies)
	}
}

func TestGetBodyError(t *testing.T) {
	s := newScript(t, nil, 503)
	errRewind := errors.New("rewind")
	request := newRequest(t, "PUT", s.URL, "body")
	request.GetBody = func() (io.ReadCloser, error) { return nil, errRewind }
	parent := &counting{Context: context.Background(), done: make(chan struct{})}
	request = request.WithContext(parent)
	counted := 0
	_, err := s.send(&httpretry.Transport{Done: func(_ *http.Request, attempts int, _ error) { counted = attempts }}, request)
	require.Same(t, errRewind, err)
	require.Equal(t, 1, s.count())
	require.Equal(t, 1, counted, "the attempts that were made")
	require.Zero(t, parent.registered.Load())
}

// The last response is returned as it came: request, header and unread body.
func TestLastResponse(t *testing.T) {
	s := newScript(t, http.Header{"X-Reason": {"maintenance"}}, 503)
	request := newRequest(t, "GET", s.URL, "")
	response, err := s.send(new(httpretry.Transport), request)
	require.NoError(t, err)
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "maintenance", response.Header.Get("X-Reason"))
	require.Same(t, request, response.Request)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Len(t, body, 7000)
	require.NoError(t, response.Body.Close())
}

func TestRetryAfter(t *testing.T) {
	past := time.Now().Add(-24 * time.Hour).UTC() // a server whose clock is a day slow
	for _, test := range []struct {
		name   string
		header http.Header
		waits  []time.Duration // nil if the response is returned at once
	}{
		{"none", nil, []time.Duration{0}},
		{"zero", http.Header{"Retry-After": {"0"}}, []time.Duration{0}},
		{"malformed", http.Header{"Retry-After": {"soon"}}, []time.Duration{0}},
		{"seconds", http.Header{"Retry-After": {"40"}}, []time.Duration{40 * time.Second}},
		{"fraction", http.Header{"Retry-After": {"1.2"}}, []time.Duration{1200 * time.Millisecond}},
		{"more than allowed, fraction", http.Header{"Retry-After": {"60.1"}}, nil},
		{"negative", http.Header{"Retry-After": {"-1.2"}}, []time.Duration{0}},
		{"no number", http.Header{"Retry-After": {"NaN"}}, []time.Duration{0}},
		{"infinity", http.Header{"Retry-After": {"infinity"}}, []time.Duration{0}},
		{"Go's digits", http.Header{"Retry-After": {"1_0"}}, []time.Duration{0}},
		{"hexadecimal", http.Header{"Retry-After": {"0x1p5"}}, []time.Duration{0}},
		{"date", http.Header{
			"Date":        {past.Format(http.TimeFormat)},
			"Retry-After": {past.Add(40 * time.Second).Format(http.TimeFormat)},
		}, []time.Duration{40 * time.Second}},
		{"more than allowed", http.Header{"Retry-After": {"61"}}, nil},
		{"milliseconds", http.Header{"Retry-After-Ms": {"1500.5"}}, []time.Duration{1500500 * time.Microsecond}},
		{"milliseconds beside seconds", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1500"}}, []time.Duration{1500 * time.Millisecond}},
		{"zero milliseconds", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"0"}}, []time.Duration{2 * time.Second}},
		{"negative milliseconds", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"-1"}}, []time.Duration{2 * time.Second}},
		{"malformed milliseconds", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"NaN"}}, []time.Duration{2 * time.Second}},
		{"more milliseconds than allowed", http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"60001"}}, nil},
		{"endless milliseconds", http.Header{"Retry-After-Ms": {"1e999"}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var waits []time.Duration
			transport := &httpretry.Transport{Notify: func(_ *http.Request, _ int, _ error, wait time.Duration) {
				waits = append(waits, wait)
				cancel() // the wait is seen, and need not be waited for
			}}
			s := newScript(t, test.header, 503)
			response, err := s.send(transport, newRequest(t, "GET", s.URL, "").WithContext(ctx))
			require.Equal(t, test.waits, waits)
			require.Equal(t, 1, s.count())
			if test.waits == nil {
				require.NoError(t, err)
				require.Equal(t, test.header.Get("Retry-After"), response.Header.Get("Retry-After"))
				require.NoError(t, response.Body.Close())
			} else {
				require.ErrorIs(t, err, context.Canceled)
			}
		})
	}
}

// A server may say itself whether to try again.
func TestShouldRetry(t *testing.T) {
	for _, test := range []struct {
		value  string
		status int
		want   int
	}{
		{"true", 409, 4}, {"true", 400, 4}, {"true", 503, 4},
		{"false", 503, 1}, {"false", 429, 1}, {"false", 200, 1},
		{"true", 200, 1}, {"true", 304, 1}, // no failures
		{"maybe", 503, 4}, {"maybe", 409, 1},
	} {
		s := newScript(t, http.Header{"X-Should-Retry": {test.value}}, test.status)
		response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
		require.NoError(t, err)
		require.Equal(t, test.status, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, test.want, s.count(), test)
	}
	// Not within a wait that is longer than allowed, nor for a request that must not be repeated.
	s := newScript(t, http.Header{"X-Should-Retry": {"true"}, "Retry-After": {"61"}}, 409)
	response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, ""))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	response, err = s.send(new(httpretry.Transport), newRequest(t, "POST", s.URL, "body"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, s.count())

	s = newScript(t, http.Header{"X-Should-Retry": {"false"}}, 429)
	response, err = s.send(new(httpretry.Transport), newRequest(t, "POST", s.URL, "body"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 1, s.count())
}

// If the server asks for a wait past the request's deadline, its response is returned at once.
func TestDeadlineRefusal(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := newScript(t, http.Header{"Retry-After": {"60"}}, 503)
	response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, "").WithContext(ctx))
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Len(t, body, 7000)
	require.NoError(t, response.Body.Close())
}

func TestSharedBudget(t *testing.T) {
	budget := &backoff.Budget{Capacity: 10, RetryCost: 5}
	for _, want := range []int{3, 1} { // the first request takes it all
		var refusal error
		transport := &httpretry.Transport{Budget: budget, Done: func(_ *http.Request, _ int, err error) { refusal = err }}
		s := newScript(t, nil, 503)
		response, err := s.send(transport, newRequest(t, "GET", s.URL, ""))
		require.NoError(t, err)
		require.Equal(t, 503, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, s.count())
		require.ErrorIs(t, refusal, backoff.ErrBudgetExhausted)
	}
}

// If the policy has the same budget, a retry is paid for once.
func TestBudgetTwice(t *testing.T) {
	budget := &backoff.Budget{Capacity: 100}
	transport := &httpretry.Transport{Budget: budget, Policy: func() backoff.BackOff {
		return backoff.WithBudget(threeRetries(), budget)
	}}
	s := newScript(t, nil, 503)
	response, err := s.send(transport, newRequest(t, "GET", s.URL, ""))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 100-3*5, budget.Tokens())
}

// A fresh budget pays for five retries, whatever the policy allows.
func TestFreshBudget(t *testing.T) {
	for _, budget := range []*backoff.Budget{nil, new(backoff.Budget)} {
		var end error
		transport := &httpretry.Transport{
			Budget: budget,
			Policy: func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10) },
			Done:   func(_ *http.Request, _ int, err error) { end = err },
		}
		s := newScript(t, nil, 503)
		response, err := s.send(transport, newRequest(t, "GET", s.URL, ""))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 1+5, s.count())
		require.ErrorIs(t, end, backoff.ErrBudgetExhausted)
	}
}

// A response that tells of a failure puts nothing into the budget, even if it cannot be retried.
func TestBudgetPost(t *testing.T) {
	for status, want := range map[int]int{200: 1, 404: 1, 501: 1, 500: 0, 503: 0, 529: 0} {
		budget := &backoff.Budget{Capacity: 100}
		require.True(t, budget.Withdraw())
		var end error
		transport := &httpretry.Transport{Budget: budget, Done: func(_ *http.Request, _ int, err error) { end = err }}
		s := newScript(t, nil, status)
		response, err := s.send(transport, newRequest(t, "POST", s.URL, "body"))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, budget.Tokens()-95, status)
		require.Equal(t, want == 1, end == nil, status)
	}
}

// Each host has a budget, unless all have one. With one host down, and one in ten requests to another
// failing once, the other's are all retried.
func TestHosts(t *testing.T) {
	for _, test := range []struct {
		name   string
		budget *backoff.Budget
		failed bool
	}{{"each", nil, false}, {"all", new(backoff.Budget), true}} {
		down, sent, failed := 0, 0, 0
		client := http.Client{Transport: &httpretry.Transport{Budget: test.budget, Policy: threeRetries, Base: baseFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "down" {
				down++
				return nil, io.ErrUnexpectedEOF
			}
			if sent++; sent%10 == 0 {
				return &http.Response{StatusCode: 503}, nil
			}
			return &http.Response{StatusCode: 200}, nil
		})}}
		for range 300 {
			_, err := client.Get("http://down/path")
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			response, err := client.Get("http://good/path")
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if response.StatusCode != 200 {
				failed++
			}
		}
		require.Equal(t, test.failed, failed > 0, "%s: %d of 300 failed", test.name, failed)
		if test.budget == nil {
			require.Equal(t, 300+5, down, "its budget pays for five retries")
		}
	}
}

// A host is the scheme, name and port of a URL.
func TestHostKey(t *testing.T) {
	transport, calls := counted(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	send := func(url string) int {
		before := *calls
		_, err := transport.RoundTrip(newRequest(t, "GET", url, ""))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		return *calls - before
	}
	for _, host := range []string{"http://a", "https://a", "http://a:8080", "http://b", "http://a.b"} {
		require.Equal(t, 4, send(host+"/"), host)
		require.Equal(t, 3, send(host+"/path?query"), host)
		require.Equal(t, 1, send(host+"/path"), host)
	}
}

// The budgets of the hosts that were called last are kept. Those of 100,000 hosts take less than 8 MB, in
// any order, however long the names are.
func TestManyHosts(t *testing.T) {
	base := baseFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "down" {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: 200}, nil
	})
	down := 0
	transport := &httpretry.Transport{Base: base, Policy: threeRetries, Done: func(_ *http.Request, attempts int, err error) {
		if err != nil {
			down = attempts
		}
	}}
	request := newRequest(t, "GET", "http://localhost", "")
	send := func(host string) {
		request.URL.Host = host
		_, _ = transport.RoundTrip(request)
	}
	held := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before, most := held(), int64(0)
	send("down")
	send("down")
	for i := range 100_000 {
		send(fmt.Sprintf("host-%d.%s.example.com", i, strings.Repeat("long", 100)))
		if i%4_900 == 0 {
			send("down")
			require.Equal(t, 1, down, "its budget was forgotten")
			most = max(most, held()-before)
		}
	}
	t.Logf("%.2f MB", float64(most)/1e6)
	require.Less(t, most, int64(8e6))
	for i := range 10_000 {
		send(fmt.Sprint(i))
	}
	send("down")
	require.Equal(t, 4, down, "its budget was not forgotten")
	runtime.KeepAlive(transport)
}

// The zero Transport's budgets are safe for concurrent use.
func TestHostsConcurrency(t *testing.T) {
	transport := &httpretry.Transport{Policy: threeRetries, Base: baseFunc(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Host, "0") {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: 200}, nil
	})}
	var failed atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range 6000 {
				request := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: fmt.Sprint("host-", i)}}
				if _, err := transport.RoundTrip(request); err != nil {
					failed.Add(1)
				}
			}
		}()
	}
	group.Wait()
	require.EqualValues(t, 8*600, failed.Load())
}

// The field Retryable takes the place of the rule.
func TestRetryable(t *testing.T) {
	errFatal := errors.New("fatal")
	errDial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, test := range []struct {
		name      string
		method    string
		retryable func(*http.Request, *http.Response, error) bool
		answers   []any // statuses and errors; the last one forever
		want      any
		calls     int
	}{
		{"another status", "GET", func(_ *http.Request, response *http.Response, err error) bool {
			return response != nil && response.StatusCode == 404 || httpretry.Retryable(response, err)
		}, []any{404, 503, io.ErrUnexpectedEOF, 200}, 200, 4},
		{"fewer statuses", "GET", func(_ *http.Request, response *http.Response, err error) bool {
			return (response == nil || response.StatusCode != 500) && httpretry.Retryable(response, err)
		}, []any{503, 500}, 500, 2},
		{"another error", "GET", func(_ *http.Request, response *http.Response, err error) bool {
			return err != errFatal && httpretry.Retryable(response, err)
		}, []any{503, errFatal}, errFatal, 2},
		{"an error that is permanent by the rule", "GET", func(_ *http.Request, _ *http.Response, err error) bool {
			return errors.Is(err, http.ErrSchemeMismatch)
		}, []any{http.ErrSchemeMismatch, 503}, 503, 2},
		{"a success", "GET", func(*http.Request, *http.Response, error) bool { return true }, []any{200}, 200, 4},
		{"never", "GET", func(*http.Request, *http.Response, error) bool { return false }, []any{503}, 503, 1},
		{"no error ever", "GET", func(*http.Request, *http.Response, error) bool { return false }, []any{io.EOF}, io.EOF, 1},
		{"by method", "DELETE", func(request *http.Request, _ *http.Response, _ error) bool {
			return request.Method != "DELETE"
		}, []any{503}, 503, 1},
		{"not to be sent twice", "POST", func(*http.Request, *http.Response, error) bool {
			panic("asked")
		}, []any{503}, 503, 1},
		{"a success, not to be sent twice", "POST", func(*http.Request, *http.Response, error) bool {
			panic("asked")
		}, []any{200}, 200, 1},
		{"an error, not to be sent twice", "POST", func(*http.Request, *http.Response, error) bool {
			panic("asked")
		}, []any{io.EOF}, io.EOF, 1},
		{"nothing done", "POST", func(*http.Request, *http.Response, error) bool { return true }, []any{429, errDial, 503}, 503, 3},
		{"nothing done, no", "POST", func(*http.Request, *http.Response, error) bool { return false }, []any{429}, 429, 1},
		{"no connection, no", "POST", func(*http.Request, *http.Response, error) bool { return false }, []any{errDial}, errDial, 1},
		{"no answer at all", "GET", func(*http.Request, *http.Response, error) bool { return true }, []any{nil}, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			transport, _ := counted(func(*http.Request) (*http.Response, error) {
				answer := test.answers[min(calls, len(test.answers)-1)]
				calls++
				switch answer := answer.(type) {
				case error:
					return nil, answer
				case int:
					return &http.Response{StatusCode: answer}, nil
				}
				return nil, nil
			})
			transport.Retryable = test.retryable
			response, err := transport.RoundTrip(newRequest(t, test.method, "http://localhost", ""))
			switch want := test.want.(type) {
			case int:
				require.NoError(t, err)
				require.Equal(t, want, response.StatusCode)
			case error:
				require.Equal(t, want, err)
			default:
				require.Contains(t, fmt.Sprint(err), "nil *Response")
			}
			require.Equal(t, test.calls, calls)
		})
	}
}

// The function may read a response's body, if it puts another in its place.
func TestRetryableBody(t *testing.T) {
	s := newScript(t, nil, 200)
	parent := &counting{Context: context.Background(), done: make(chan struct{})}
	transport := &httpretry.Transport{Retryable: func(_ *http.Request, response *http.Response, _ error) bool {
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body = io.NopCloser(strings.NewReader(string(body)))
		return strings.Contains(string(body), "answer")
	}}
	response, err := s.send(transport, newRequest(t, "GET", s.URL, "").WithContext(parent))
	require.NoError(t, err)
	require.Equal(t, 4, s.count())
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Len(t, body, 7000)
	require.NoError(t, response.Body.Close())
	require.Zero(t, parent.registered.Load())
}

// What the context ends, it explains, whatever the function says.
func TestRetryableContext(t *testing.T) {
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	transport, calls := counted(func(*http.Request) (*http.Response, error) {
		cancel(errGone)
		return nil, errGone // as net/http does
	})
	transport.Retryable = func(*http.Request, *http.Response, error) bool { return false }
	_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errGone)
	require.Equal(t, 1, *calls)
}

// A signer signs each attempt, and may do so in place.
func TestSigner(t *testing.T) {
	var signatures []string
	transport, _ := counted(func(r *http.Request) (*http.Response, error) {
		r.Header.Add("Signature", fmt.Sprint("of attempt ", len(signatures)+1))
		signatures = append(signatures, strings.Join(r.Header["Signature"], ", "))
		if len(signatures) < 3 {
			return &http.Response{StatusCode: 503}, nil
		}
		return &http.Response{StatusCode: 200}, nil
	})
	request := newRequest(t, "GET", "http://localhost", "")
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	require.Same(t, request, response.Request)
	require.Equal(t, []string{"of attempt 1", "of attempt 2", "of attempt 3"}, signatures)
	require.Empty(t, request.Header)
}

// A Transport as a Transport's base multiplies the attempts.
func TestNested(t *testing.T) {
	inner, calls := counted(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	inner.Budget = &backoff.Budget{RetryCost: -1}
	outer := &httpretry.Transport{Base: inner, Policy: threeRetries}
	_, err := outer.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, 4*4, *calls)
}

// An http.Client as a base follows redirects within an attempt.
func TestClientAsBase(t *testing.T) {
	s := newScript(t, nil, 503, 503, 200)
	from := httptest.NewServer(http.RedirectHandler(s.URL, http.StatusFound))
	defer from.Close()
	transport, calls := counted(from.Client().Do)
	response, err := transport.RoundTrip(newRequest(t, "GET", from.URL, ""))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, 3, *calls)
	require.Equal(t, 3, s.count())
}

// A request without a URL is the base's to refuse.
func TestNoURL(t *testing.T) {
	_, err := new(httpretry.Transport).RoundTrip(&http.Request{})
	require.Contains(t, fmt.Sprint(err), "nil Request.URL")
}

type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// counted returns a transport that makes three retries on base, and the count of its attempts.
func counted(base baseFunc) (*httpretry.Transport, *int) {
	calls := new(int)
	return &httpretry.Transport{Policy: threeRetries, Base: baseFunc(func(r *http.Request) (*http.Response, error) {
		*calls++
		return base(r)
	})}, calls
}

// An outcomes counts the attempts whose error has a text, and the others. Once in 100,000 attempts or so, net/http
// reports that the connection has ended in place of what ended it, and then the request is sent again.
type outcomes struct{ named, others int }

// named is counted, for a base that net/http's own transport is part of.
func named(base baseFunc, text string) (*httpretry.Transport, *outcomes) {
	counts := new(outcomes)
	return &httpretry.Transport{Policy: threeRetries, Base: baseFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := base(r)
		if strings.Contains(fmt.Sprint(err), text) {
			counts.named++
		} else {
			counts.others++
		}
		return resp, err
	})}, counts
}

// A response without a body and a status, as a base made for tests may return, is accepted as
// http.Client accepts it.
func TestBareResponse(t *testing.T) {
	for _, test := range []struct {
		code         int
		status, want string
	}{
		{503, "503 Busy", "503 Busy"},
		{503, "", "503 Service Unavailable"},
		{599, "", "599 "},
	} {
		base := baseFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: test.code, Status: test.status, Header: http.Header{"X-Should-Retry": {"true"}}}, nil
		})
		var reasons []string
		client := http.Client{Transport: &httpretry.Transport{Policy: threeRetries, Base: base, Notify: func(_ *http.Request, _ int, err error, _ time.Duration) {
			reasons = append(reasons, err.Error())
		}}}
		response, err := client.Do(newRequest(t, "GET", "http://localhost", ""))
		require.NoError(t, err)
		require.Equal(t, test.code, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.Equal(t, []string{test.want, test.want, test.want}, reasons)
	}
}

// A base that returns neither a response nor an error fails as it does without a Transport.
func TestNoResponse(t *testing.T) {
	transport, calls := counted(func(*http.Request) (*http.Response, error) { return nil, nil })
	_, want := (&http.Client{Transport: transport.Base}).Get("http://localhost")
	require.Error(t, want)
	*calls = 0
	_, err := (&http.Client{Transport: transport}).Get("http://localhost")
	require.Equal(t, want, err)
	require.Equal(t, 1, *calls)
}

// If the context ends only after the loop has given up, the last response is returned all the same.
func TestLateCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newScript(t, nil, 503)
	transport := &httpretry.Transport{Done: func(*http.Request, int, error) { cancel() }}
	response, err := s.send(transport, newRequest(t, "GET", s.URL, "").WithContext(ctx))
	require.NoError(t, err)
	require.Equal(t, 503, response.StatusCode)
	require.NoError(t, response.Body.Close())
}

// A request whose Cancel channel is closed, during an attempt or a wait, is not sent again.
func TestCancelChannel(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		cancel, attempts, retries := make(chan struct{}), 0, 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !waiting {
				close(cancel)
				<-r.Context().Done()
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		base := baseFunc(func(r *http.Request) (*http.Response, error) {
			attempts++
			return http.DefaultTransport.RoundTrip(r)
		})
		transport := httpretry.Transport{Base: base, Policy: threeRetries, Notify: func(*http.Request, int, error, time.Duration) {
			retries++
			close(cancel)
		}}
		request := newRequest(t, "GET", server.URL, "")
		request.Cancel = cancel //lint:ignore SA1019 it is what is tested
		_, err := transport.RoundTrip(request)
		require.Contains(t, fmt.Sprint(err), "request canceled")
		server.Close()
		require.Equal(t, 1, attempts)
		require.Equal(t, waiting, retries == 1)
	}
}

// counting is a context that counts what is registered on it.
type counting struct {
	context.Context
	done       chan struct{}
	registered atomic.Int64
}

func (c *counting) Done() <-chan struct{} { return c.done }

func (c *counting) AfterFunc(func()) (stop func() bool) {
	c.registered.Add(1)
	var once sync.Once
	return func() bool {
		once.Do(func() { c.registered.Add(-1) })
		return true
	}
}

// Closing the body, even unread, ends the attempt's context.
func TestBodyContext(t *testing.T) {
	var attempt context.Context
	transport := httpretry.Transport{Base: baseFunc(func(r *http.Request) (*http.Response, error) {
		attempt = r.Context()
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("body"))}, nil
	})}
	response, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
	require.NoError(t, err)
	require.NoError(t, attempt.Err())
	require.NoError(t, response.Body.Close())
	require.ErrorIs(t, attempt.Err(), context.Canceled)
}

// A response without a body leaves nothing behind, even if nobody closes it.
func TestNoBody(t *testing.T) {
	for method, status := range map[string]int{"HEAD": 200, "GET": 204, "PUT": 503} {
		s := newScript(t, nil, status)
		if status == 503 {
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		}
		parent := &counting{Context: context.Background(), done: make(chan struct{})}
		for range 100 {
			response, err := s.send(new(httpretry.Transport), newRequest(t, method, s.URL, "").WithContext(parent))
			require.NoError(t, err)
			require.Equal(t, status, response.StatusCode)
		}
		require.Zero(t, parent.registered.Load(), method)
	}
}

// Nor does a response whose body was read to its end.
func TestReadBody(t *testing.T) {
	s := newScript(t, nil, 200)
	parent := &counting{Context: context.Background(), done: make(chan struct{})}
	for range 100 {
		response, err := s.send(new(httpretry.Transport), newRequest(t, "GET", s.URL, "").WithContext(parent))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
	}
	require.Zero(t, parent.registered.Load())
}

type idleBase struct {
	http.RoundTripper
	closed int
}

func (b *idleBase) CloseIdleConnections() { b.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	base := new(idleBase)
	(&http.Client{Transport: &httpretry.Transport{Base: base}}).CloseIdleConnections()
	require.Equal(t, 1, base.closed)
	require.NotPanics(t, (&httpretry.Transport{Base: baseFunc(nil)}).CloseIdleConnections)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{io.ErrUnexpectedEOF, 4},
		{errors.New("http: server closed idle connection"), 4},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, 4},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, 4},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, 1},
		{&net.OpError{Op: "dial", Err: &net.AddrError{Err: "invalid port", Addr: "99999"}}, 1},
		{http.ErrSchemeMismatch, 1},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, 1},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")}, 4},
	} {
		transport, calls := counted(func(*http.Request) (*http.Response, error) { return nil, test.err })
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.Equal(t, test.err, err)
		require.Equal(t, test.want, *calls, test.err)
	}
}

func TestTLS(t *testing.T) {
	for _, test := range []struct {
		name    string
		config  *tls.Config
		client  func(*httptest.Server) *http.Client
		message string
	}{
		{"unknown authority", nil, func(*httptest.Server) *http.Client {
			return &http.Client{Transport: new(http.Transport)}
		}, "failed to verify certificate"},
		{"client certificate required", &tls.Config{ClientAuth: tls.RequireAnyClientCert}, (*httptest.Server).Client,
			"certificate required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.TLS = test.config
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			defer server.Close()
			client := test.client(server)
			transport, attempts := named(client.Transport.RoundTrip, test.message)
			client.Transport = transport
			_, err := client.Get(server.URL)
			require.Contains(t, fmt.Sprint(err), test.message)
			require.Equal(t, 1, attempts.named)
		})
	}
}

// A server that fails within a handshake may not fail in the next.
func TestTLSInternalError(t *testing.T) {
	var handshakes atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if handshakes.Add(1) == 1 {
			return nil, errors.New("not yet")
		}
		return nil, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	transport, calls := counted(server.Client().Transport.RoundTrip)
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, *calls)
}

func TestZeroTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer server.Close()
	client := http.Client{Transport: new(httpretry.Transport)}
	response, err := client.Do(newRequest(t, "PUT", server.URL, "echo"))
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "echo", string(body))
	require.NoError(t, response.Body.Close())
}
