//go:debug x509usefallbackroots=1
package httpretry_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// trusted is a certificate for 127.0.0.1. A Base without a TLS config of its own trusts it, and nothing else.
var (
	trusted      tls.Certificate
	trustedRoots = x509.NewCertPool()
)

func init() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	trusted = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	trusted.Leaf, err = x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	trustedRoots.AddCert(trusted.Leaf)
	x509.SetFallbackRoots(trustedRoots) // instead of the system's, by the directive above
}

// A base is a way to set up an http.Transport.
type base struct {
	name  string
	setUp func(*http.Transport)
}

var bases = []base{
	{"nothing set", func(*http.Transport) {}},
	{"ForceAttemptHTTP2", func(b *http.Transport) { b.ForceAttemptHTTP2 = true }},
	{"TLS config", func(b *http.Transport) { b.TLSClientConfig = &tls.Config{RootCAs: trustedRoots} }},
	{"TLS config, ForceAttemptHTTP2", func(b *http.Transport) {
		b.TLSClientConfig = &tls.Config{RootCAs: trustedRoots}
		b.ForceAttemptHTTP2 = true
	}},
	{"DialContext", func(b *http.Transport) { b.DialContext = new(net.Dialer).DialContext }},
	{"DialContext, ForceAttemptHTTP2", func(b *http.Transport) {
		b.DialContext = new(net.Dialer).DialContext
		b.ForceAttemptHTTP2 = true
	}},
	{"DialTLSContext", func(b *http.Transport) { b.DialTLSContext = new(tls.Dialer).DialContext }},
	{"DialTLSContext, ForceAttemptHTTP2", func(b *http.Transport) {
		b.DialTLSContext = (&tls.Dialer{Config: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}}).DialContext
		b.ForceAttemptHTTP2 = true
	}},
	{"TLSNextProto emptied", func(b *http.Transport) {
		b.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}},
	{"TLSNextProto with a protocol", func(b *http.Transport) {
		b.TLSClientConfig = &tls.Config{RootCAs: trustedRoots, NextProtos: []string{"http/1.1"}}
		b.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
			"http/1.1": func(_ string, conn *tls.Conn) http.RoundTripper {
				return baseFunc(func(*http.Request) (*http.Response, error) {
					conn.Close()
					return &http.Response{StatusCode: 200, Status: "200 mine"}, nil
				})
			},
		}
	}},
	{"as http.DefaultTransport", func(b *http.Transport) { // whose clone has these fields
		b.ForceAttemptHTTP2 = true
		b.DialContext = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
		b.MaxIdleConns = 100
		b.IdleConnTimeout = 90 * time.Second
		b.TLSHandshakeTimeout = 10 * time.Second
		b.ExpectContinueTimeout = time.Second
	}},
	{"limits", func(b *http.Transport) {
		b.MaxIdleConnsPerHost = 100
		b.MaxConnsPerHost = 1
	}},
	{"OnProxyConnectResponse", func(b *http.Transport) {
		b.OnProxyConnectResponse = func(context.Context, *url.URL, *http.Request, *http.Response) error { return nil }
	}},
	{"protocol for another scheme", func(b *http.Transport) { b.RegisterProtocol("file", http.NewFileTransport(http.Dir("."))) }},
	{"protocol for https that leaves requests to the Transport", func(b *http.Transport) {
		b.RegisterProtocol("https", baseFunc(func(*http.Request) (*http.Response, error) { return nil, http.ErrSkipAltProtocol }))
	}},
}

// new returns a Transport that takes this proxy, or none.
func (b base) new(proxy *url.URL) *http.Transport {
	t := new(http.Transport)
	if proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
	}
	b.setUp(t)
	return t
}

// A tunneller is a proxy that counts what it is asked for.
type tunneller struct {
	password string // that it asks for, if not empty
	status   int    // of its refusals; zero if there are none
	connects atomic.Int32
}

func (p *tunneller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.connects.Add(1)
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+p.password))
	switch {
	case p.password != "" && r.Header.Get("Proxy-Authorization") != credentials:
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case p.status != 0:
		w.WriteHeader(p.status)
		return
	}

	server, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		server.Close()
		return
	}
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		defer client.Close()
		io.Copy(client, server)
	}()
	go func() {
		defer server.Close()
		io.Copy(server, client)
	}()
}

// A way leads to a site.
type way struct {
	name   string
	proxy  *tunneller // or nil
	secure bool       // the proxy's URL has the scheme https
	user   *url.Userinfo
	want   string // of an error
}

func ways() []way {
	const unknown = "Proxy Authentication Required"
	return []way{
		{name: "direct"},
		{name: "proxy", proxy: new(tunneller)},
		{name: "proxy over TLS", proxy: new(tunneller), secure: true},
		{name: "password", proxy: &tunneller{password: "secret"}, user: url.UserPassword("user", "secret")},
		{name: "no password", proxy: &tunneller{password: "secret"}, want: unknown},
		{name: "wrong password", proxy: &tunneller{password: "secret"}, user: url.UserPassword("user", "guess"), want: unknown},
		{name: "refusal", proxy: &tunneller{status: http.StatusForbidden}, want: "Forbidden"},
	}
}

// start starts the proxy, if there is one, and returns its URL.
func (w way) start(t *testing.T) *url.URL {
	if w.proxy == nil {
		return nil
	}
	server := httptest.NewUnstartedServer(w.proxy)
	t.Cleanup(server.Close)
	proxy := &url.URL{Scheme: "http", Host: server.Listener.Addr().String(), User: w.user}
	if !w.secure {
		server.Start()
		return proxy
	}
	proxy.Scheme = "https"
	server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted}}
	server.StartTLS()
	return proxy
}

// exchange sends two requests, and returns what comes back, or the error, and how many CONNECTs the proxy has seen. On a busy
// machine, net/http may not keep a connection, since it waits for 50 ms only until the request has been written. So the
// fewest of three exchanges count, if there are more than one.
func (w way) exchange(t *testing.T, transport http.RoundTripper, site string) (answers string, connects int32) {
	if w.proxy == nil {
		return w.exchangeOnce(t, transport, site), 0
	}
	connects = math.MaxInt32
	for n := 0; n < 3 && connects > 1; n++ {
		w.proxy.connects.Store(0)
		answers = w.exchangeOnce(t, transport, site)
		connects = min(connects, w.proxy.connects.Load())
	}
	return answers, connects
}

func (w way) exchangeOnce(t *testing.T, transport http.RoundTripper, site string) string {
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	var answers strings.Builder
	for range 2 {
		resp, err := client.Get(site)
		if w.want != "" {
			require.Contains(t, fmt.Sprint(err), w.want)
			return w.want
		}
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		answers.WriteString(fmt.Sprintln(resp.Status, resp.Proto, string(body)))
	}
	return answers.String()
}

// A Base answers below this package as it does alone, and asks a proxy as often: as http.DefaultTransport, fresh, and
// after it has been used alone.
func TestBases(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
		site.Config.ErrorLog = log.New(io.Discard, "", 0)
		site.TLS = &tls.Config{Certificates: []tls.Certificate{trusted}}
		site.EnableHTTP2 = protocol == "HTTP/2.0"
		site.StartTLS()
		defer site.Close()

		for _, way := range ways() {
			proxy := way.start(t)
			for _, base := range bases {
				t.Run(protocol+"/"+way.name+"/"+base.name, func(t *testing.T) {
					used := base.new(proxy)
					want, connects := way.exchange(t, used, site.URL)

					defer func(old http.RoundTripper) { http.DefaultTransport = old }(http.DefaultTransport)
					http.DefaultTransport = base.new(proxy)
					for _, below := range []http.RoundTripper{nil, base.new(proxy), used} {
						got, n := way.exchange(t, &httpretry.Transport{Base: below, Policy: noWaits}, site.URL)
						require.Equal(t, want, got)
						require.Equal(t, connects, n)
					}
				})
			}
		}
	}
}

// A POST that a RoundTripper of TLSNextProto may have sent is not sent again. It need not tell of its connection.
func TestAlternative(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	for name, send := range map[string]func(req *http.Request){
		"traces": func(req *http.Request) { httptrace.ContextClientTrace(req.Context()).WroteHeaders() },
		"reads":  func(req *http.Request) { io.Copy(io.Discard, req.Body) },
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			base := site.Client().Transport.(*http.Transport).Clone()
			base.TLSClientConfig.NextProtos = []string{"http/1.1"}
			base.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
				"http/1.1": func(_ string, conn *tls.Conn) http.RoundTripper {
					return baseFunc(func(req *http.Request) (*http.Response, error) {
						sent++
						send(req)
						req.Body.Close()
						conn.Close()
						return nil, io.ErrUnexpectedEOF
					})
				},
			}
			_, err := (&httpretry.Transport{Base: base, Policy: noWaits}).RoundTrip(newRequest(t, "POST", site.URL, "body"))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Equal(t, 1, sent)
		})
	}
}
