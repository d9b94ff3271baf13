package httpretry

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"sync"

	"example.com/backoff"
)

// tunnels sends https requests through a proxy. net/http tells the status of a proxy's refusal to OnProxyConnectResponse
// alone; its error has the words, and a proxy may choose these. Since the field must not be set in a Transport that others
// may be using, a copy of it sends these requests.
type tunnels struct {
	mu   sync.Mutex
	base *http.Transport // whose copy it is, or nil
	copy *http.Transport
}

// proxyToAsk returns the proxy through which base would send req, if req is for https, or nil.
func proxyToAsk(base *http.Transport, req *http.Request) *url.URL {
	if base.Proxy == nil || req.URL == nil || req.URL.Scheme != "https" {
		return nil
	}
	proxy, err := base.Proxy(req)
	if err != nil {
		return nil // base asks again
	}
	return proxy
}

type proxyKey struct{}

// withProxy returns req with a context that tells proxyOf the proxy. If the copy asked base's Proxy again, it might have
// another answer: some take one proxy after the other.
func withProxy(req *http.Request, proxy *url.URL) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), proxyKey{}, proxy))
}

// proxyOf is the Proxy of a copy.
func proxyOf(req *http.Request) (*url.URL, error) {
	proxy, _ := req.Context().Value(proxyKey{}).(*url.URL)
	return proxy, nil
}

// through returns the copy of base.
func (t *tunnels) through(base *http.Transport) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base != base { // the first request, or http.DefaultTransport has been replaced
		t.base = base
		t.copy = copyOf(base)
	}
	return t.copy
}

// copyOf returns a copy of base that takes the proxy of withProxy, and reports with which status that one refuses.
//
// Clone has base decide whether it speaks HTTP/2, which it writes into its own fields. From these, the copy would decide
// otherwise: a TLS config that net/http has made looks like a user's, with which HTTP/2 is off (golang/go#67284).
func copyOf(base *http.Transport) *http.Transport {
	c := base.Clone()
	if c.TLSNextProto == nil { // otherwise it is the user's, and base and the copy go by that
		speaksHTTP2 := base.TLSNextProto["h2"] != nil
		c.ForceAttemptHTTP2 = speaksHTTP2
		if !speaksHTTP2 {
			c.TLSNextProto = make(map[string]func(string, *tls.Conn) http.RoundTripper) // an empty one turns it off
		}
	}
	c.Proxy = proxyOf
	c.OnProxyConnectResponse = connectStatus(base)
	return c
}

func (t *tunnels) closeIdle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copy != nil {
		t.copy.CloseIdleConnections()
	}
}

// connectStatus returns an OnProxyConnectResponse that returns a connectError, unless that of base returns an error.
func connectStatus(base *http.Transport) func(context.Context, *url.URL, *http.Request, *http.Response) error {
	return func(ctx context.Context, proxy *url.URL, req *http.Request, resp *http.Response) error {
		if base.OnProxyConnectResponse != nil {
			err := base.OnProxyConnectResponse(ctx, proxy, req, resp)
			if err != nil {
				return err
			}
		}
		if resp.StatusCode != http.StatusOK {
			return &connectError{resp.StatusCode, backoff.RetryAfter(statusError(resp), retryAfter(resp.Header))}
		}
		return nil
	}
}

// A connectError tells of a proxy that has refused to CONNECT, with the wait that it asks for.
type connectError struct {
	status int
	error
}

func (e *connectError) Unwrap() error { return e.error }
