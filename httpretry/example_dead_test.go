package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// newPooledClient returns a client that keeps many connections over HTTP/1. If the network swallows them without closing
// them, one attempt runs out of time, and the next has a new connection. The price: if the service is only slow, the idle
// connections are made anew.
func newPooledClient(base *http.Transport) *http.Client {
	client := new(http.Client)
	client.Transport = &httpretry.Transport{
		Base:           base, // that no other client uses
		AttemptTimeout: 500 * time.Millisecond,
		Slots:          new(backoff.Slots), // fewer requests at once while many time out
		Notify: func(_ *http.Request, _ int, err error, _ time.Duration) {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				client.CloseIdleConnections()
			}
		},
	}
	return client
}

// A network swallows what is written to its older connections, once they are dead.
type network struct {
	dead atomic.Int32 // all connections before this one
	last atomic.Int32
}

type connection struct {
	net.Conn
	network *network
	number  int32
}

func (n *network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, protocol, address)
	return connection{conn, n, n.last.Add(1)}, err
}

func (c connection) Write(p []byte) (int, error) {
	if c.number <= c.network.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Connections that the network has swallowed. Without Notify, each attempt would use the next one of them.
func Example_deadConnections() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	var n network
	client := newPooledClient(&http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 10})
	defer client.CloseIdleConnections()

	var responses []*http.Response
	for range 10 { // each with a connection of its own, since the bodies are not read yet
		resp, err := client.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		responses = append(responses, resp)
	}
	for _, resp := range responses {
		_, err := io.ReadAll(resp.Body)
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	n.dead.Store(n.last.Load())
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, "after", httpretry.Attempts(resp), "attempts")
	// Output:
	// 200 OK after 2 attempts
}
