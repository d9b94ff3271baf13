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
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

func TestZeroTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer server.Close()
	client := http.Client{Transport: new(httpretry.Transport)}
	resp, err := client.Do(newRequest(t, "PUT", server.URL, "echo"))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "echo", string(body))
	require.NoError(t, resp.Body.Close())
}

// Which requests are idempotent. TestSent has all outcomes.
func TestIdempotent(t *testing.T) {
	for _, test := range []struct {
		method string
		header http.Header
		want   int // attempts after status 503
	}{
		{"GET", nil, 4},
		{"", nil, 4},
		{"HEAD", nil, 4},
		{"OPTIONS", nil, 4},
		{"TRACE", nil, 4},
		{"PUT", nil, 4},
		{"DELETE", nil, 4},
		{"POST", nil, 1},
		{"PATCH", nil, 1},
		{"MERGE", nil, 1},
		{"get", nil, 1},
		{"POST", http.Header{"Idempotency-Key": {"1"}}, 4},
		{"POST", http.Header{"Idempotency-Key": {""}}, 1},
		{"POST", http.Header{"Idempotency-Key": {" \t"}}, 1}, // net/http sends it without the blanks
		{"POST", http.Header{"Idempotency-Key": {}}, 4},
		{"POST", http.Header{"Idempotency-Key": nil}, 4},
		{"POST", http.Header{"X-Idempotency-Key": {"1"}}, 4},
		{"POST", http.Header{"X-Idempotency-Key": nil}, 4},
		{"POST", http.Header{"Key": {"1"}}, 1},
	} {
		transport, attempts := answering(503)
		req := newRequest(t, "POST", "http://localhost", "body")
		req.Method = test.method
		req.Header = test.header
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, test.want, *attempts, test)
	}
}

// The field Retryable takes the place of the rule. For a POST it is asked only where nothing has been done.
func TestRetryable(t *testing.T) {
	errFatal := errors.New("fatal")
	always := func(*http.Request, *http.Response, error) bool { return true }
	never := func(*http.Request, *http.Response, error) bool { return false }
	for _, test := range []struct {
		name      string
		method    string
		retryable func(*http.Request, *http.Response, error) bool
		answers   []any
		want      any // a status or an error
		calls     int
	}{
		{"another status", "GET", func(_ *http.Request, resp *http.Response, err error) bool {
			return resp != nil && resp.StatusCode == 404 || httpretry.Retryable(resp, err)
		}, []any{404, 503, io.ErrUnexpectedEOF, 200}, 200, 4},
		{"another error", "GET", func(_ *http.Request, resp *http.Response, err error) bool {
			return err != errFatal && httpretry.Retryable(resp, err)
		}, []any{503, errFatal}, errFatal, 2},
		{"an error that is permanent by the rule", "GET", always, []any{http.ErrSchemeMismatch, 503}, 503, 4},
		{"a Permanent of the Base", "GET", always, []any{503, backoff.Permanent(errFatal)}, errFatal, 2},
		{"a success", "GET", always, []any{200}, 200, 4},
		{"never a status", "GET", never, []any{503}, 503, 1},
		{"never an error", "GET", never, []any{io.EOF}, io.EOF, 1},
		{"by method", "DELETE", func(req *http.Request, _ *http.Response, _ error) bool {
			return req.Method != "DELETE"
		}, []any{503}, 503, 1},

		{"POST, the rule", "POST", nil, []any{429, errDial, 200}, 200, 3},
		{"POST, then something is done", "POST", nil, []any{429, 409, 200}, 409, 2},
		{"POST, a status", "POST", always, []any{503}, 503, 1},
		{"POST, a success", "POST", always, []any{200}, 200, 1},
		{"POST, an error", "POST", always, []any{io.EOF}, io.EOF, 1},
		{"POST, nothing done", "POST", always, []any{429, errDial, 503}, 503, 3},
		{"POST, nothing done, never", "POST", never, []any{429}, 429, 1},
		{"POST, no connection, never", "POST", never, []any{errDial}, errDial, 1},
		{"POST, no token", "POST", always, []any{401, 407, 200}, 200, 3},
		{"POST, no token, the rule", "POST", nil, []any{401}, 401, 1},
		{"no answer at all", "GET", always, []any{nil}, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport, calls := answering(test.answers...)
			transport.Retryable = test.retryable
			resp, err := transport.RoundTrip(newRequest(t, test.method, "http://localhost", ""))
			switch want := test.want.(type) {
			case int:
				require.NoError(t, err)
				require.Equal(t, want, resp.StatusCode)
			case error:
				require.Equal(t, want, err)
			default: // as http.Client says it
				require.Contains(t, fmt.Sprint(err), "returned a nil *Response with a nil error")
			}
			require.Equal(t, test.calls, *calls)
		})
	}
}

// A 409 may say that the server still works on an earlier attempt, if it can tell by a key. What else a second attempt
// can meet of the first is returned.
func TestConflict(t *testing.T) {
	yes := func(*http.Request) bool { return true }
	only503 := func(_ *http.Request, resp *http.Response, _ error) bool { return resp.StatusCode == 503 }
	rule := func(_ *http.Request, resp *http.Response, err error) bool { return httpretry.Retryable(resp, err) }
	key := http.Header{"Idempotency-Key": {"1"}}
	for _, test := range []struct {
		name       string
		method     string
		header     http.Header
		idempotent func(*http.Request) bool
		retryable  func(*http.Request, *http.Response, error) bool
		answers    []any
		want       int // status
		calls      int
	}{
		{"a key", "POST", key, nil, nil, []any{503, 409, 409, 201}, 201, 4},
		{"after an error", "POST", key, nil, nil, []any{io.EOF, 409, 201}, 201, 3},
		{"the other key", "POST", http.Header{"X-Idempotency-Key": {"1"}}, nil, nil, []any{503, 409, 201}, 201, 3},
		{"a mark", "POST", http.Header{"Idempotency-Key": nil}, nil, nil, []any{503, 409, 201}, 201, 3},
		{"PUT, a key", "PUT", key, nil, nil, []any{503, 409, 201}, 201, 3},
		{"Idempotent alone says so", "POST", nil, yes, nil, []any{503, 409, 201}, 201, 3},
		{"no key", "PUT", nil, nil, nil, []any{503, 409}, 409, 2},
		{"no key, and Idempotent", "PUT", nil, yes, nil, []any{503, 409}, 409, 2},
		{"no key, nothing done", "POST", nil, nil, nil, []any{429, 409}, 409, 2},
		{"the first attempt", "POST", key, nil, nil, []any{409}, 409, 1},
		{"no attempts left", "POST", key, nil, nil, []any{503, 409}, 409, 4},
		{"the server says no", "POST", key, nil, nil, []any{503, http.Header{"X-Should-Retry": {"false"}}}, 409, 2},
		{"Retryable says no", "POST", key, nil, only503, []any{503, 409}, 409, 2},
		{"Retryable asks the rule", "POST", key, nil, rule, []any{503, 409, 201}, 201, 3},
		{"404", "DELETE", key, nil, nil, []any{503, 404}, 404, 2},
		{"410", "DELETE", key, nil, nil, []any{503, 410}, 410, 2},
		{"412", "PUT", key, nil, nil, []any{503, 412}, 412, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport, calls := answering(test.answers...)
			transport.Idempotent = test.idempotent
			transport.Retryable = test.retryable
			var end error
			transport.Done = func(_ *http.Request, _ int, err error) { end = err }
			req := newRequest(t, test.method, "http://localhost", "body")
			req.Header = test.header
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			require.Equal(t, test.want, resp.StatusCode)
			require.Equal(t, test.calls, *calls)
			require.Equal(t, test.calls, httpretry.Attempts(resp))
			require.Equal(t, test.name == "no attempts left", errors.Is(end, backoff.ErrRetriesExhausted))
			require.Equal(t, test.name == "no attempts left", end != nil)
		})
	}
}

// The number of attempts is that of the request that the response answers, and of the outermost Transport.
func TestAttempts(t *testing.T) {
	answers := []int{503, 503, 302, 503, 200}
	inner := &httpretry.Transport{MaxAttempts: 1, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: answers[0], Header: http.Header{"Location": {"/next"}}}
		answers = answers[1:]
		return resp, nil
	})}
	var seen []int
	client := &http.Client{
		Transport: &httpretry.Transport{
			Base:   inner,
			Policy: noWaits,
			Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
				seen = append(seen, httpretry.Attempts(resp))
				return httpretry.Retryable(resp, err)
			},
		},
		CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			require.Equal(t, 3, httpretry.Attempts(req.Response))
			return nil
		},
	}
	resp, err := client.Get("http://localhost")
	require.NoError(t, err)
	require.Equal(t, 2, httpretry.Attempts(resp))
	require.Equal(t, []int{1, 2, 3, 1, 2}, seen)

	require.Zero(t, httpretry.Attempts(nil))
	require.Zero(t, httpretry.Attempts(new(http.Response)))
	again := resp.Request.Clone(resp.Request.Context()) // for a client without retries
	require.Zero(t, httpretry.Attempts(&http.Response{Request: again}))
}

// The function may read a response's body, if it puts another in its place.
func TestRetryableBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not yet") }))
	defer server.Close()
	transport, calls := counted(server.Client().Transport.RoundTrip)
	transport.Retryable = func(_ *http.Request, resp *http.Response, _ error) bool {
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
		return string(body) == "not yet"
	}
	parent := newCounting()
	resp, err := transport.RoundTrip(newRequest(t, "GET", server.URL, "").WithContext(parent))
	require.NoError(t, err)
	require.Equal(t, 4, *calls)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "not yet", string(body))
	require.Zero(t, parent.registered.Load())
}

// Errors that will be the same next time, and others.
func TestErrors(t *testing.T) {
	text := func(s string) error { return fmt.Errorf("attempt: %w", errors.New(s)) }
	for _, test := range []struct {
		err  error
		want int
	}{
		{io.ErrUnexpectedEOF, 4},
		{text("http: server closed idle connection"), 4},
		{errDial, 4},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, 4},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, 1},
		{&net.OpError{Op: "dial", Err: &net.AddrError{Err: "invalid port", Addr: "99999"}}, 1},
		{http.ErrSchemeMismatch, 1},
		{&tls.CertificateVerificationError{Err: errors.New("unknown authority")}, 1},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, 1},
		{&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}}, 1},
		{&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "read", Err: io.EOF}}, 4},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, 4},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")}, 4},
		{text(`http: invalid header field name "A name"`), 1}, // of an http.ClientConn
		{text("Forbidden"), 1}, // of a proxy
		{text("Proxy Authentication Required"), 1},
		{text("Service Unavailable"), 4},
		{text(`oauth2: "invalid_grant" "Token has been expired or revoked."`), 1},
		{text(`oauth2: "access_denied"`), 1},
		{text("oauth2: cannot fetch token: 400 Bad Request\nResponse: {\n\"error\" : \"invalid_grant\"}"), 1},
		{text("oauth2: token expired and refresh token is not set"), 1},
		{text(`oauth2: "server_error" "invalid_grant"`), 4},
		{text(`oauth2: "temporarily_unavailable"`), 4},
		{text(`oauth2: "slow_down"`), 4}, // no code of RFC 6749
		{text("oauth2: cannot fetch token: 503 Service Unavailable\nResponse: busy"), 4},
		{text("oauth2: cannot fetch token: 503 Service Unavailable\nResponse: {\"error\":\"server_error\"}"), 4},
		{text(`malformed HTTP response "invalid_grant"`), 4},
		{text(`malformed HTTP response "net/http: invalid header"`), 4},
	} {
		transport, calls := answering(test.err)
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.ErrorIs(t, err, test.err)
		require.Equal(t, test.want, *calls, test.err)
		require.Equal(t, test.want == 4, errors.Is(err, backoff.ErrRetriesExhausted), test.err)
	}
}

// An outcomes counts the attempts whose error has a text, and the others. Once in 100,000 attempts or so, net/http
// reports that the connection has ended in place of what ended it, and then the request is sent again.
type outcomes struct{ named, others int }

// named is counted, for a base that net/http's own transport is part of.
func named(base baseFunc, text string) (*httpretry.Transport, *outcomes) {
	counts := new(outcomes)
	return &httpretry.Transport{Policy: noWaits, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := base(req)
		if strings.Contains(fmt.Sprint(err), text) {
			counts.named++
		} else {
			counts.others++
		}
		return resp, err
	})}, counts
}

// What net/http refuses to send is tried once, whatever Retryable says, and costs no token.
func TestInvalidRequest(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		want   string // in the error
	}{
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
		{"HTTP/1: control character", func(r *http.Request) { r.URL.RawQuery = "\x01" }, "control character"},
		{"HTTP/1: length without body", func(r *http.Request) { r.Body = nil }, "http: Request.ContentLength=4 with nil Body"},
		{"HTTP/1: shorter body", func(r *http.Request) { r.ContentLength = 5 }, "http: ContentLength=5 with Body length 4"},
		{"HTTP/2: host", func(r *http.Request) { r.Host = "a host" }, "invalid Host header"},
		{"HTTP/2: path", func(r *http.Request) { r.URL.Opaque = "mail" }, "invalid request :path"},
		{"HTTP/2: connection", func(r *http.Request) { r.Header.Set("Connection", "x") }, "invalid Connection"},
		{"HTTP/2: long header", func(r *http.Request) {
			r.Header.Set("Long", strings.Repeat("long ", 1<<20))
		}, "request header list larger"},
	} {
		for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
			only, _, found := strings.Cut(test.name, ":")
			if found && only != protocol {
				continue
			}
			t.Run(protocol+"/"+test.name, func(t *testing.T) { checkInvalid(t, protocol, test.change, test.want) })
		}
	}
}

func checkInvalid(t *testing.T, protocol string, change func(*http.Request), want string) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Method == "PUT" { // it has arrived before net/http has seen what is wrong with it
			<-r.Context().Done()
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = protocol == "HTTP/2"
	if server.EnableHTTP2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	if strings.HasPrefix(want, "request header list") { // the server's limit must be known
		resp, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}

	transport, attempts := named(server.Client().Transport.RoundTrip, want)
	transport.Budget = &backoff.Budget{Capacity: 100}
	transport.Retryable = func(_ *http.Request, _ *http.Response, err error) bool { return err != nil }
	req := newRequest(t, "PUT", server.URL, "body")
	change(req)
	_, err := transport.RoundTrip(req)
	require.Contains(t, fmt.Sprint(err), want)
	require.False(t, httpretry.Retryable(nil, err))
	require.Equal(t, 1, attempts.named)
	if attempts.others == 0 {
		require.Equal(t, 100, transport.Budget.Tokens())
	}
}

// A POST is sent again if there was no connection to send it on, to the server or through its proxy.
func TestNotSent(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	closed := "http://" + listener.Addr().String()
	via := func(proxy string) baseFunc {
		return (&http.Transport{Proxy: through(proxy)}).RoundTrip
	}
	answers := func(status int) string {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(proxy.Close)
		return proxy.URL
	}
	hangsUp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			conn.Close()
		}
	}))
	defer hangsUp.Close()
	fails := func(err error) baseFunc {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}

	for _, test := range []struct {
		name string
		base baseFunc
		url  string
		want int
	}{
		{"server", new(http.Transport).RoundTrip, closed, 4},
		{"server, TLS", new(http.Transport).RoundTrip, strings.Replace(closed, "http", "https", 1), 4},
		{"proxy", via(closed), "http://example.com", 4},
		{"proxy, TLS", via(closed), "https://example.com", 4},
		{"proxy does not connect", via(answers(503)), "https://example.com", 4},
		{"proxy connects, and the server hangs up", via(hangsUp.URL), "https://example.com", 4},
		{"proxy connects, and the server speaks plain HTTP", via(answers(200)), "https://example.com", 1},
		{"proxy refuses the client", via(answers(403)), "https://example.com", 1},
		{"proxy wants a password", via(answers(407)), "https://example.com", 1},
		{"by the text alone", fails(errors.New("Service Unavailable")), "https://example.com", 1},
		{"proxy, by another Base", fails(&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}), "http://localhost", 4},
		{"wrapped", fails(fmt.Errorf("send: %w", errDial)), "http://localhost", 4},
		{"read", fails(&net.OpError{Op: "read", Err: io.EOF}), "http://localhost", 1},
		{"after a connection", func(req *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(req.Context())
			trace.GetConn("localhost:80")
			trace.GotConn(httptrace.GotConnInfo{})
			return nil, errDial // of the request's body, say
		}, "http://localhost", 1},
		{"by a Base that dials itself", func(req *http.Request) (*http.Response, error) {
			conn, err := new(net.Dialer).DialContext(req.Context(), "tcp", strings.TrimPrefix(answers(200), "http://"))
			require.NoError(t, err)
			conn.Close()
			return nil, errors.New("no answer")
		}, "http://localhost", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport, attempts := counted(test.base)
			_, err := transport.RoundTrip(newRequest(t, "POST", test.url, "body"))
			require.Error(t, err)
			require.Equal(t, test.want, *attempts, err)
		})
	}
}

// refused is the wait after a response that is returned.
const refused = time.Duration(-1)

// A server's wait is at least what it asks for, unless that is longer than MaxRetryAfter.
func TestRetryAfter(t *testing.T) {
	past := time.Now().Add(-24 * time.Hour).UTC() // a server whose clock is a day slow
	for _, test := range []struct {
		header http.Header
		want   time.Duration
	}{
		{nil, 0},
		{http.Header{"Retry-After": {"0"}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 0},
		{http.Header{"Retry-After": {"40"}}, 40 * time.Second},
		{http.Header{"Retry-After": {"61"}}, refused},
		{http.Header{"Retry-After": {"2.0"}}, 2 * time.Second},
		{http.Header{"Retry-After": {"1.2"}}, 1200 * time.Millisecond},
		{http.Header{"Retry-After": {"1e1"}}, 0},
		{http.Header{"Retry-After": {"60.1"}}, refused},
		{http.Header{"Retry-After": {"-1.2"}}, 0},
		{http.Header{"Retry-After": {"NaN"}}, 0},
		{http.Header{"Retry-After": {"infinity"}}, 0},
		{http.Header{"Retry-After": {"1_0"}}, 0},
		{http.Header{"Retry-After": {"0x1p5"}}, 0},
		{http.Header{
			"Date":        {past.Format(http.TimeFormat)},
			"Retry-After": {past.Add(40 * time.Second).Format(http.TimeFormat)},
		}, 40 * time.Second},
		{http.Header{"Retry-After-Ms": {"1500.5"}}, 1500500 * time.Microsecond},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"0"}}, 2 * time.Second},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"-1"}}, 2 * time.Second},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"NaN"}}, 2 * time.Second},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"60001"}}, refused},
		{http.Header{"Retry-After-Ms": {"1e999"}}, refused},
	} {
		requireWait(t, 0, test.header, test.want)
	}

	ninety := http.Header{"Retry-After": {"90"}}
	requireWait(t, 0, ninety, refused)
	requireWait(t, 90*time.Second, ninety, 90*time.Second)
	requireWait(t, 89*time.Second, ninety, refused)
	requireWait(t, -1, ninety, 90*time.Second)
}

// requireWait requires that a 503 with this header is followed by a wait, if MaxRetryAfter is limit.
func requireWait(t *testing.T, limit time.Duration, header http.Header, want time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	transport, calls := counted(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Header: header}, nil
	})
	transport.MaxRetryAfter = limit
	wait := refused
	transport.Notify = func(_ *http.Request, _ int, _ error, w time.Duration) {
		wait = w
		cancel() // the wait is seen, and need not be waited for
	}
	resp, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
	require.Equal(t, want, wait, header)
	require.Equal(t, 1, *calls)
	if wait == refused {
		require.NoError(t, err)
		require.Equal(t, 503, resp.StatusCode)
	} else {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// A server may say itself whether to try again. A POST without a key is not sent again for that.
func TestShouldRetry(t *testing.T) {
	for _, test := range []struct {
		method string
		value  string
		status int
		want   int
	}{
		{"GET", "true", 409, 4},
		{"GET", "true", 400, 4},
		{"GET", "true", 401, 4},
		{"GET", "true", 200, 1}, // no failure
		{"GET", "true", 304, 1},
		{"GET", "false", 503, 1},
		{"GET", "false", 429, 1},
		{"GET", "maybe", 503, 4},
		{"GET", "maybe", 409, 1},
		{"POST", "true", 409, 1},
		{"POST", "true", 401, 1},
		{"POST", "false", 429, 1},
	} {
		transport, calls := counted(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: test.status, Header: http.Header{"X-Should-Retry": {test.value}}}, nil
		})
		resp, err := transport.RoundTrip(newRequest(t, test.method, "http://localhost", ""))
		require.NoError(t, err)
		require.Equal(t, test.status, resp.StatusCode)
		require.Equal(t, test.want, *calls, test)
	}
}

// The last response is returned as it came: request, header and unread body.
func TestLastResponse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Reason", "maintenance")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "until noon")
	}))
	defer server.Close()
	var end error
	ctx, cancel := context.WithCancel(context.Background())
	transport, calls := counted(server.Client().Transport.RoundTrip)
	transport.Done = func(_ *http.Request, attempts int, err error) {
		require.Equal(t, 4, attempts)
		end = err
		cancel() // too late to matter for what is returned
	}
	req := newRequest(t, "GET", server.URL, "").WithContext(ctx)
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "maintenance", resp.Header.Get("X-Reason"))
	require.Same(t, req.URL, resp.Request.URL)
	require.Equal(t, req.Header, resp.Request.Header)
	require.Equal(t, 4, *calls)
	require.ErrorIs(t, end, backoff.ErrRetriesExhausted)
	require.Contains(t, fmt.Sprint(end), "503 Service Unavailable")
	require.NoError(t, resp.Body.Close())
}

// A response without a body and a status, as a base made for tests may return, is accepted as http.Client accepts it.
func TestBareResponse(t *testing.T) {
	for _, test := range []struct {
		code         int
		status, want string
		body         io.ReadCloser
	}{
		{503, "503 Busy", "503 Busy", nil},
		{503, "", "503 Service Unavailable", http.NoBody},
		{599, "", "599 ", nil},
	} {
		transport, _ := counted(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: test.code, Status: test.status, Body: test.body}, nil
		})
		var reasons []string
		transport.Notify = func(_ *http.Request, _ int, err error, _ time.Duration) { reasons = append(reasons, err.Error()) }
		resp, err := (&http.Client{Transport: transport}).Get("http://localhost")
		require.NoError(t, err)
		require.Equal(t, test.code, resp.StatusCode)
		require.Equal(t, http.NoBody, resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, []string{test.want, test.want, test.want}, reasons)
	}
}

// A request without a URL is the base's to refuse.
func TestNoURL(t *testing.T) {
	_, err := new(httpretry.Transport).RoundTrip(&http.Request{})
	require.Contains(t, fmt.Sprint(err), "nil Request.URL")
}

// A signer signs each attempt, and may do so in place.
func TestSigner(t *testing.T) {
	var signatures []string
	transport, _ := counted(func(req *http.Request) (*http.Response, error) {
		req.Header.Add("Signature", fmt.Sprint("of attempt ", len(signatures)+1))
		req.Trailer.Set("Signature", "of the body")
		req.URL.RawQuery += "&signed"
		signatures = append(signatures, strings.Join(req.Header["Signature"], ", ")+req.URL.RawQuery)
		return &http.Response{StatusCode: 503}, nil
	})
	transport.MaxAttempts = 2
	req := newRequest(t, "GET", "http://localhost", "")
	req.Trailer = http.Header{"Signature": nil}
	_, err := transport.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, []string{"of attempt 1&signed", "of attempt 2&signed"}, signatures)
	require.Empty(t, req.Header)
	require.Empty(t, req.Trailer.Get("Signature"))
	require.Empty(t, req.URL.RawQuery)
}

// What ctx ends, it explains, whatever Retryable says.
func TestContextError(t *testing.T) {
	errGone := errors.New("gone")
	for _, getBody := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(context.Background())
		transport, calls := counted(func(*http.Request) (*http.Response, error) {
			cancel(errGone)
			return nil, errGone // as net/http does
		})
		transport.Retryable = func(*http.Request, *http.Response, error) bool { return false }
		req := newRequest(t, "PUT", "http://localhost", "body").WithContext(ctx)
		if !getBody {
			req.GetBody = nil
		}
		_, err := transport.RoundTrip(req)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errGone)
		require.Equal(t, 1, *calls)
	}
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

// A fresh budget pays for five retries, and Done receives the reason of a refusal. Without a budget, each request has
// all its retries.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		budget *backoff.Budget
		want   int // attempts of ten requests
	}{
		{nil, 10 * 4},
		{new(backoff.Budget), 10 + 5},
	} {
		transport, sent := answering(503)
		transport.Budget = test.budget
		var end error
		transport.Done = func(_ *http.Request, _ int, err error) { end = err }
		for range 10 {
			resp, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.NoError(t, err)
			require.Equal(t, 503, resp.StatusCode)
		}
		require.Equal(t, test.want, *sent)
		require.Equal(t, test.budget != nil, errors.Is(end, backoff.ErrBudgetExhausted))
	}
}

// A response that tells of a failure puts nothing into the budget, even if it cannot be retried.
func TestBudgetPost(t *testing.T) {
	for status, want := range map[int]int{200: 1, 404: 1, 501: 1, 500: 0, 503: 0, 529: 0} {
		transport, _ := answering(status)
		transport.Budget = &backoff.Budget{Capacity: 100}
		require.True(t, transport.Budget.Withdraw())
		var end error
		transport.Done = func(_ *http.Request, _ int, err error) { end = err }
		_, err := transport.RoundTrip(newRequest(t, "POST", "http://localhost", "body"))
		require.NoError(t, err)
		require.Equal(t, want, transport.Budget.Tokens()-95, status)
		require.Equal(t, want == 1, end == nil, status)
	}
}

// A response that Retryable refuses is a success, whatever its status; but for a 504, since somebody behind it goes on
// working.
func TestBudgetRefused(t *testing.T) {
	for status, want := range map[int]string{200: "<nil>", 429: "<nil>", 503: "<nil>", 504: "504 Gateway Timeout"} {
		transport, sent := answering(status)
		transport.Budget = &backoff.Budget{Capacity: 100}
		require.True(t, transport.Budget.Withdraw())
		transport.Retryable = func(*http.Request, *http.Response, error) bool { return false }
		var end error
		transport.Done = func(_ *http.Request, _ int, err error) { end = err }
		resp, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.NoError(t, err)
		require.Equal(t, status, resp.StatusCode)
		require.Equal(t, 1, *sent)
		require.Equal(t, want, fmt.Sprint(end))
		require.Equal(t, want == "<nil>", transport.Budget.Tokens() == 96)
	}
}
