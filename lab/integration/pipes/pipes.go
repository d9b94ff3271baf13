// Package pipes has connections in memory, which a synctest bubble can wait for.
package pipes

import (
	"context"
	"net"
)

// A Listener is a listener whose connections are pipes.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

// Listen returns a new listener.
func Listen() Listener { return Listener{make(chan net.Conn), make(chan struct{})} }

// Accept waits for the next Dial.
func (l Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial.
func (l Listener) Close() error {
	close(l.closed)
	return nil
}

// Addr returns an address that says nothing.
func (l Listener) Addr() net.Addr { return new(net.UnixAddr) }

// Dial connects to l. It is a DialContext for an http.Transport.
func (l Listener) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
