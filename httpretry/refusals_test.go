package httpretry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A refusal is a way in which a server, a proxy or a resolver does not serve a client.
type refusal struct {
	name   string
	server func(*httptest.Server)                           // sets it up; nil for plain HTTP
	client func(t *testing.T, c *http.Transport, at string) // sets it up, for a server at this address; nil for nothing to do
	url    *url.URL                                         // nil for https and the server's address
	want   string                                           // in the error
	again  bool                                             // another attempt may help
}

var refusals = []refusal{
	{name: "certificate of an unknown authority", server: startTLS, client: func(_ *testing.T, c *http.Transport, _ string) {
		c.TLSClientConfig.RootCAs = nil
	}, want: "certificate"},
	{name: "certificate for another name", server: startTLS, client: func(_ *testing.T, c *http.Transport, _ string) {
		c.TLSClientConfig.ServerName = "other.test"
	}, want: "certificate is valid for"},
	{name: "certificate that has expired", server: startTLS, client: func(_ *testing.T, c *http.Transport, _ string) {
		c.TLSClientConfig.Time = func() time.Time { return time.Now().AddDate(1000, 0, 0) }
	}, want: "certificate has expired"},
	{name: "certificate that the client's own function refuses", server: startTLS, client: func(_ *testing.T, c *http.Transport, _ string) {
		c.TLSClientConfig.InsecureSkipVerify = true
		c.TLSClientConfig.VerifyConnection = func(state tls.ConnectionState) error { // crypto/tls does not wrap its error
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: x509.NewCertPool()})
			return fmt.Errorf("verify: %w", err)
		}
	}, want: "certificate signed by unknown authority"},
	{name: "proxy's certificate", server: startTLS, client: func(_ *testing.T, c *http.Transport, at string) {
		c.TLSClientConfig.RootCAs = nil
		c.Proxy = through("https://" + at)
	}, url: site, want: "certificate"},

	{name: "client without a certificate", server: func(s *httptest.Server) {
		s.TLS.ClientAuth = tls.RequireAnyClientCert
		s.StartTLS()
	}, want: "certificate required"},
	{name: "client without a certificate, TLS 1.2", server: func(s *httptest.Server) {
		s.TLS.ClientAuth = tls.RequireAnyClientCert
		s.TLS.MaxVersion = tls.VersionTLS12
		s.StartTLS()
	}, want: "remote error: tls: "},
	{name: "client that is too old", server: func(s *httptest.Server) {
		s.TLS.MinVersion = tls.VersionTLS13
		s.StartTLS()
	}, client: func(_ *testing.T, c *http.Transport, _ string) {
		c.TLSClientConfig.MaxVersion = tls.VersionTLS12
	}, want: "protocol version not supported"},
	{name: "name that the server does not have", server: func(s *httptest.Server) {
		s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return new(tls.Config), nil }
		s.StartTLS()
	}, want: "unrecognized name"},
	{name: "server in trouble", server: func(s *httptest.Server) {
		s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("trouble") }
		s.StartTLS()
	}, want: "internal error", again: true},

	{name: "plain HTTP", want: "first record does not look like a TLS handshake"},
	{name: "plain HTTP of a proxy", client: func(_ *testing.T, c *http.Transport, at string) {
		c.Proxy = through("https://" + at)
	}, url: site, want: "first record does not look like a TLS handshake"},
	{name: "no TLS and no HTTP", server: func(s *httptest.Server) {
		s.Config.ConnState = func(conn net.Conn, _ http.ConnState) { io.WriteString(conn, "busy, sorry\n") }
		s.Start()
	}, want: "first record does not look like a TLS handshake", again: true},

	{name: "403 of a proxy", server: answering403, client: func(_ *testing.T, c *http.Transport, at string) {
		c.Proxy = through("http://" + at)
	}, url: site, want: "Forbidden"},

	{name: "password of a SOCKS proxy", client: func(t *testing.T, c *http.Transport, _ string) {
		c.Proxy = through("socks5://user:wrong@" + socks(t, "\x05\x02", "\x01\x01"))
	}, url: site, want: "username/password authentication failed"},
	{name: "methods of a SOCKS proxy", client: func(t *testing.T, c *http.Transport, _ string) {
		c.Proxy = through("socks5://" + socks(t, "\x05\xff"))
	}, url: site, want: "no acceptable authentication methods"},
	{name: "rules of a SOCKS proxy", client: func(t *testing.T, c *http.Transport, _ string) {
		c.Proxy = through("socks5://" + socks(t, "\x05\x00", "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"))
	}, url: site, want: "connection not allowed by ruleset"},
	{name: "SOCKS proxy in trouble", client: func(t *testing.T, c *http.Transport, _ string) {
		c.Proxy = through("socks5://" + socks(t, "\x05\x00", "\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"))
	}, url: site, want: "general SOCKS server failure", again: true},

	{name: "invalid port", url: &url.URL{Scheme: "http", Host: "localhost:99999"}, want: "invalid port"},
	{name: "unknown port", url: &url.URL{Scheme: "http", Host: "localhost:unknown"}, want: "lookup"},
	{name: "unknown host", client: func(t *testing.T, c *http.Transport, _ string) {
		c.DialContext = resolving(t, noSuchName)
	}, url: site, want: "no such host"},
	{name: "unknown host of a proxy", client: func(t *testing.T, c *http.Transport, _ string) {
		c.DialContext = resolving(t, noSuchName)
		c.Proxy = through("http://proxy.test")
	}, url: site, want: "no such host"},
	{name: "resolver in trouble", client: func(t *testing.T, c *http.Transport, _ string) {
		c.DialContext = resolving(t, serverFailure)
	}, url: site, want: "server misbehaving", again: true},
}

// site is a URL that only a proxy or a resolver is asked for.
var site = &url.URL{Scheme: "https", Host: "site.test"}

func startTLS(s *httptest.Server) { s.StartTLS() }

func answering403(s *httptest.Server) {
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	s.Start()
}

// socks returns the address of a SOCKS proxy that gives these answers.
func socks(t *testing.T, answers ...string) string {
	return listen(t, func(conn net.Conn) {
		for _, answer := range answers {
			_, err := conn.Read(make([]byte, 1<<10))
			if err != nil {
				return
			}
			io.WriteString(conn, answer)
		}
	})
}

// through returns a Proxy of an http.Transport.
func through(proxy string) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
}

// What a DNS server answers.
const (
	serverFailure = 2
	noSuchName    = 3
)

// resolving returns a DialContext which asks a DNS server that answers every question with code.
func resolving(t *testing.T, code byte) func(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := net.ListenPacket("udp", "localhost:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		message := make([]byte, 1<<10)
		for {
			_, client, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			const header, typeAndClass = 12, 4
			end := header
			for message[end] != 0 { // a label of the name
				end += 1 + int(message[end])
			}
			end += 1 + typeAndClass
			copy(message[2:header], []byte{0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0}) // a response with one question
			server.WriteTo(message[:end], client)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("udp", server.LocalAddr().String())
	}}
	return (&net.Dialer{Resolver: resolver}).DialContext
}

// What will be the same next time is returned immediately. The errors are those of net/http over real connections: what
// a caller of http.Client sees may be another error than what a Transport does.
func TestRefusals(t *testing.T) {
	for _, test := range refusals {
		for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
			t.Run(fmt.Sprint(protocol, "/", test.name), func(t *testing.T) { test.check(t, protocol == "HTTP/2") })
		}
	}
}

func (r refusal) check(t *testing.T, http2 bool) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = http2
	server.TLS = new(tls.Config)
	if r.server == nil {
		r.server = (*httptest.Server).Start
	}
	r.server(server)
	defer server.Close()

	base := &http.Transport{ForceAttemptHTTP2: http2, TLSClientConfig: new(tls.Config)}
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig
	if trusted != nil {
		base.TLSClientConfig.RootCAs = trusted.RootCAs
	}
	at := server.Listener.Addr().String()
	if r.client != nil {
		r.client(t, base, at)
	}
	transport, attempts := named(base.RoundTrip, r.want)
	req := newRequest(t, "GET", "https://"+at, "")
	if r.url != nil {
		req.URL = r.url
	}

	// Over HTTP/2, net/http may use a connection before it has read the alert that ends it. Then nobody sees the alert,
	// and the attempts say nothing about what is tested here.
	var err error
	for range 100 {
		_, err = transport.RoundTrip(req)
		unseen := strings.Contains(fmt.Sprint(err), "http2: client conn could not be established") ||
			errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
		if !http2 || !unseen {
			break
		}
	}
	require.Contains(t, fmt.Sprint(err), r.want)
	want := 1
	if r.again {
		want = 4
	}
	require.Equal(t, want, attempts.named, err)
	require.Equal(t, r.again, errors.Is(err, backoff.ErrRetriesExhausted))
}

// A proxy that refuses to CONNECT is known by its status, whatever its words are. It has reached no server, so that a POST
// is sent again too. A Base of net/http's keeps its own function.
func TestProxyStatus(t *testing.T) {
	errMine := errors.New("mine")
	for _, test := range []struct {
		status string
		mine   error // of Base's OnProxyConnectResponse
		want   int   // attempts
	}{
		{"403 Forbidden", nil, 1},
		{"403 Access denied by policy", nil, 1},
		{"407 Proxy Authentication Required", nil, 1},
		{"407 authenticationrequired", nil, 1},
		{"407 ", nil, 1},
		{"400 Bad Request", nil, 1},
		{"502 Bad Gateway", nil, 4},
		{"503 Forbidden", nil, 4},
		{"429 Slow down", nil, 4},
		{"407 Proxy Authentication Required", errMine, 4},
		{"407 Proxy Authentication Required", backoff.Permanent(errMine), 1},
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(fmt.Sprint(test.status, "/", test.mine, "/", method), func(t *testing.T) {
				proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					conn, _, err := http.NewResponseController(w).Hijack()
					require.NoError(t, err)
					io.WriteString(conn, "HTTP/1.1 "+test.status+"\r\n\r\n")
					conn.Close()
				}))
				defer proxy.Close()
				base := &http.Transport{Proxy: through(proxy.URL)}
				if test.mine != nil {
					base.OnProxyConnectResponse = func(context.Context, *url.URL, *http.Request, *http.Response) error { return test.mine }
				}
				attempts := 0
				transport := &httpretry.Transport{Base: base, Policy: noWaits}
				transport.Done = func(_ *http.Request, n int, _ error) { attempts = n }
				_, err := transport.RoundTrip(newRequest(t, method, "https://site.test", "body"))
				require.Equal(t, test.want, attempts, "%v", err)
				if test.mine != nil {
					require.ErrorIs(t, err, errMine)
				} else {
					require.Contains(t, fmt.Sprint(err), strings.TrimSpace(test.status))
				}
			})
		}
	}
}

// A tunnel through a proxy is kept for the next request, until CloseIdleConnections.
func TestTunnel(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tunnels.Add(1)
		server, err := net.Dial("tcp", site.Listener.Addr().String())
		require.NoError(t, err)
		client, _, err := http.NewResponseController(w).Hijack()
		require.NoError(t, err)
		io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			defer client.Close()
			io.Copy(client, server)
		}()
		go func() {
			defer server.Close()
			io.Copy(server, client)
		}()
	}))
	defer proxy.Close()

	base := site.Client().Transport.(*http.Transport).Clone()
	base.Proxy = through(proxy.URL)
	client := &http.Client{Transport: &httpretry.Transport{Base: base}}
	for _, want := range []int32{1, 1, 2} {
		if want == 2 {
			client.CloseIdleConnections()
		}
		resp, err := client.Post(site.URL, "text/plain", strings.NewReader("body"))
		require.NoError(t, err)
		io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, tunnels.Load())
	}
	client.CloseIdleConnections()
}
