// Package memory is a network in memory, for the tests of the other examples and of httpretry. While its connections are
// silent, the time of a testing/synctest bubble passes.
package memory

import (
	"context"
	"net"
	"sync/atomic"
)

// A Listener accepts the connections that its Dial makes.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	dials  atomic.Int64
}

// Listen returns a Listener. In a synctest bubble, call it inside.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial makes a connection, whatever its parameters are. It fails if the listener has been closed. It is for the field
// DialContext of an [net/http.Transport].
func (l *Listener) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.dials.Add(1)
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Dials returns how often Dial was called.
func (l *Listener) Dials() int { return int(l.dials.Load()) }

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and Dial fail. It must be called once.
func (l *Listener) Close() error {
	close(l.closed)
	return nil
}

// Addr returns the loopback address.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
