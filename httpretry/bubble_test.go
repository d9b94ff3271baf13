//go:build go1.25

package httpretry_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/backoff/httpretry"
)

// pipes is a listener whose connections are pipes in memory, which a synctest bubble can wait for.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return new(net.UnixAddr) }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

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
		listener := newPipes()
		server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), Protocols: only(major)}
		go server.Serve(listener)
		transport.Base = &http.Transport{DialContext: listener.dial, Protocols: only(major)}
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
