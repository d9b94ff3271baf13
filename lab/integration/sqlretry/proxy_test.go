//go:build unix

package sqlretry_test

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy forwards connections to a server until a client's packet has a word.
type proxy struct {
	listener net.Listener
	socket   string // of the server

	mu     sync.Mutex
	conns  map[net.Conn]net.Conn // from client to server
	fault  fault
	word   []byte        // in lower case; empty means none
	victim net.Conn      // whose packet had the word; nil before
	gate   chan struct{} // closed when it lets go
}

// A fault is what a proxy does from the word on.
type fault int

const (
	swallow fault = iota // everything, in both directions and on new connections too, until it lets go
	hold                 // what this client sends, until it lets go
	cut                  // ends this connection, instead of the server's answer
)

func newProxy(t *testing.T, socket string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	p := &proxy{listener: listener, socket: socket, conns: map[net.Conn]net.Conn{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// at lets the fault begin with the next packet of a client that has the word.
func (p *proxy) at(word string, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	p.word = []byte(word)
	p.victim = nil
	p.gate = make(chan struct{})
}

// release lets go what was swallowed or held. It is delivered, or all connections are closed.
func (p *proxy) release(deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !deliver {
		for client, server := range p.conns {
			client.Close()
			server.Close()
		}
	}
	p.word = nil
	p.victim = nil
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
}

// open returns how many connections there are.
func (p *proxy) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("unix", p.socket)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client] = server
	p.mu.Unlock()

	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client, client, true) })
	both.Go(func() { p.copy(client, server, client, false) })
	both.Wait()

	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
}

// copy copies until one side has ended, or the connection is cut, and ends the other.
func (p *proxy) copy(to, from, client net.Conn, fromClient bool) {
	defer to.Close()
	packet := make([]byte, 64<<10)
	for {
		n, err := from.Read(packet)
		if !p.pass(packet[:n], client, fromClient) {
			return
		}
		_, writeErr := to.Write(packet[:n])
		if err != nil || writeErr != nil {
			return
		}
	}
}

// pass returns when a packet may pass, and reports whether it may.
func (p *proxy) pass(packet []byte, client net.Conn, fromClient bool) bool {
	p.mu.Lock()
	if fromClient && len(p.word) > 0 && bytes.Contains(bytes.ToLower(packet), p.word) {
		p.word = nil
		p.victim = client
	}
	fault, gate := p.fault, p.gate
	begun, victim := p.victim != nil, p.victim == client
	p.mu.Unlock()

	switch {
	case victim && fault == cut:
		return fromClient
	case victim && fault == hold, begun && fault == swallow:
		<-gate
	}
	return true
}
