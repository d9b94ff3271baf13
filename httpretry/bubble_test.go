//go:build go1.25

package httpretry_test

import (
	"io"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff/examples/memory"
	"example.com/backoff/httpretry"
)

// only returns the protocols of a side that has HTTP/1 or HTTP/2 alone, without TLS.
func only(major int) *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(major == 1)
	protocols.SetUnencryptedHTTP2(major == 2)
	return protocols
}

// bubble calls f in simulated time, with a client of a server that runs handler, over HTTP/1 or HTTP/2.
func bubble(t *testing.T, major int, transport *httpretry.Transport, handler http.HandlerFunc, f func(t *testing.T, client *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		network := memory.Listen()
		server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), Protocols: only(major)}
		go server.Serve(network)
		transport.Base = &http.Transport{DialContext: network.Dial, Protocols: only(major)}
		client := &http.Client{Transport: transport}
		defer func() {
			client.CloseIdleConnections()
			server.Close()
			time.Sleep(time.Second) // until the server's connections have ended
		}()
		f(t, client)
	})
}

// silent is a handler that never answers.
func silent(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
	<-r.Context().Done()
}
