//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"io"
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
	const connections = 40
	for _, closeIdle := range []bool{false, true} {
		client := new(http.Client)
		attempts := 0
		transport := &httpretry.Transport{
			AttemptTimeout: time.Second,
			Policy:         noWaits,
			Notify: func(_ *http.Request, _ int, err error, _ time.Duration) {
				if closeIdle && errors.Is(err, os.ErrDeadlineExceeded) {
					client.CloseIdleConnections()
				}
			},
			Done: func(_ *http.Request, n int, _ error) { attempts += n },
		}
		bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("hello"))
		}, func(t *testing.T, c *http.Client) {
			client = c
			var n network
			base := transport.Base.(*http.Transport)
			base.MaxIdleConnsPerHost = connections
			dial := base.DialContext
			base.DialContext = func(ctx context.Context, protocol, address string) (net.Conn, error) {
				conn, err := dial(ctx, protocol, address)
				return connection{conn, &n, n.last.Add(1)}, err
			}

			var responses []*http.Response
			for range connections {
				resp, err := client.Get("http://localhost")
				require.NoError(t, err)
				responses = append(responses, resp)
			}
			for _, resp := range responses {
				drain(t, resp)
			}
			n.dead.Store(n.last.Load())
			attempts = 0

			for range 10 {
				resp, err := client.Get("http://localhost")
				if closeIdle {
					require.NoError(t, err)
					drain(t, resp)
				} else {
					require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
				}
			}
			resp, err := client.Get("http://localhost")
			require.NoError(t, err)
			drain(t, resp)
		})
		want := 10*4 + 1
		if closeIdle {
			want = 2 + 10
		}
		require.Equal(t, want, attempts)
	}
}

// drain reads and closes a response's body, so that its connection can be used again.
func drain(t *testing.T, resp *http.Response) {
	t.Helper()
	_, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}
