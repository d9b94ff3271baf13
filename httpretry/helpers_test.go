package httpretry_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

func noWaits() backoff.BackOff { return &backoff.ZeroBackOff{} }

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, reader)
	require.NoError(t, err)
	return req
}

// listen accepts connections until the test ends, has serve do something with each, and closes it then. It returns the
// address.
func listen(t *testing.T, serve func(conn net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// counted returns a transport over base that makes three retries without waits, and the count of its attempts.
func counted(base baseFunc) (*httpretry.Transport, *int) {
	calls := new(int)
	return &httpretry.Transport{
		Policy: noWaits,
		Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			*calls++
			return base(req)
		}),
	}, calls
}

// answering is counted over a base that gives one answer after the other, and then the last one forever. An answer
// is a status, an error, the header of a 409, or nil.
func answering(answers ...any) (*httpretry.Transport, *int) {
	next := 0
	return counted(func(*http.Request) (*http.Response, error) {
		answer := answers[min(next, len(answers)-1)]
		next++
		switch answer := answer.(type) {
		case error:
			return nil, answer
		case int:
			return &http.Response{StatusCode: answer, Header: http.Header{}}, nil
		case http.Header:
			return &http.Response{StatusCode: http.StatusConflict, Header: answer}, nil
		}
		return nil, nil
	})
}

var errDial = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// counting is a context that counts what is registered on it.
type counting struct {
	context.Context
	done       chan struct{}
	registered atomic.Int64
}

func newCounting() *counting {
	return &counting{Context: context.Background(), done: make(chan struct{})}
}

func (c *counting) Done() <-chan struct{} { return c.done }

func (c *counting) AfterFunc(func()) (stop func() bool) {
	c.registered.Add(1)
	var once sync.Once
	return func() bool {
		once.Do(func() { c.registered.Add(-1) })
		return true
	}
}

// closing is a body that tells whether it was closed.
type closing struct{ closed *atomic.Bool }

func (closing) Read([]byte) (int, error) { return 0, io.EOF }

func (c closing) Close() error {
	c.closed.Store(true)
	return nil
}
