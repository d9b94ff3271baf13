//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// Forty idle connections that the network has swallowed make ten requests fail, each with four attempts. With the Notify of
// Example_deadConnections, none fails, and the first has two attempts.
func TestDeadConnections(t *testing.T) {
	for closeIdle, want := range map[bool][]int{
		false: {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1},
		true:  {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		var client *http.Client
		var attempts []int
		transport := &httpretry.Transport{
			AttemptTimeout: time.Second,
			Policy:         noWaits,
			Notify: func(_ *http.Request, _ int, err error, _ time.Duration) {
				if closeIdle && errors.Is(err, os.ErrDeadlineExceeded) {
					client.CloseIdleConnections()
				}
			},
			Done: func(_ *http.Request, n int, _ error) { attempts = append(attempts, n) },
		}
		bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
		}, func(t *testing.T, c *http.Client) {
			client = c
			n := newNetwork(transport.Base.(*http.Transport))
			keep(t, client, 40)
			n.dead.Store(n.last.Load())

			attempts = nil
			for _, want := range want {
				resp, err := client.Get("http://localhost")
				if want == 4 {
					require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
					continue
				}
				require.NoError(t, err)
				drain(t, resp)
			}
		})
		require.Equal(t, want, attempts)
	}
}

// newNetwork returns a network for the connections of base, which keeps them all.
func newNetwork(base *http.Transport) *network {
	n := new(network)
	base.MaxIdleConnsPerHost = math.MaxInt
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, protocol, address string) (net.Conn, error) {
		conn, err := dial(ctx, protocol, address)
		return connection{conn, n, n.last.Add(1)}, err
	}
	return n
}

// keep makes client have n idle connections.
func keep(t *testing.T, client *http.Client, n int) {
	t.Helper()
	var responses []*http.Response
	for range n {
		resp, err := client.Get("http://localhost")
		require.NoError(t, err)
		responses = append(responses, resp)
	}
	for _, resp := range responses {
		drain(t, resp)
	}
}

// drain reads and closes a response's body, so that its connection can be used again.
func drain(t *testing.T, resp *http.Response) {
	t.Helper()
	_, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}
