//go:build unix

package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// startProxy starts a proxy that sends each request to the next of the servers, and returns what its address is, and
// what ends it.
func startProxy(servers []*child) (address string, end func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	transport.Proxy = nil

	var requests atomic.Int64
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0), // clients that have left are no news
		Rewrite: func(r *httputil.ProxyRequest) {
			next := servers[int(requests.Add(1))%len(servers)]
			r.SetURL(&url.URL{Scheme: "http", Host: next.address})
		},
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(listener)
	return listener.Addr().String(), server.Close, nil
}
