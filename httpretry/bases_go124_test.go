//go:build go1.24

package httpretry_test

import (
	"crypto/tls"
	"net/http"
	"time"
)

func init() {
	protocols := func(http1, http2 bool) *http.Protocols {
		p := new(http.Protocols)
		p.SetHTTP1(http1)
		p.SetHTTP2(http2)
		return p
	}
	bases = append(bases,
		base{"Protocols, HTTP/1", func(b *http.Transport) { b.Protocols = protocols(true, false) }},
		base{"Protocols, HTTP/1 and HTTP/2", func(b *http.Transport) { b.Protocols = protocols(true, true) }},
		base{"Protocols, HTTP/1 and HTTP/2, TLS config", func(b *http.Transport) {
			b.Protocols = protocols(true, true)
			b.TLSClientConfig = &tls.Config{RootCAs: trustedRoots}
		}},
		base{"HTTP2", func(b *http.Transport) { b.HTTP2 = &http.HTTP2Config{SendPingTimeout: time.Minute} }},
	)
}
