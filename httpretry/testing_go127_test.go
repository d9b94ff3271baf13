//go:build go1.27

package httpretry_test

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestClientInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := httptest.NewTestServer(t, failing(2))
		client := Client{
			HTTP: server.Client(),
			Policy: func() backoff.BackOff {
				return backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter)) // 500 ms, 750 ms
			},
		}

		start := time.Now()
		body, err := client.Get(t.Context(), "http://example.com")
		require.NoError(t, err)
		require.Equal(t, "hello", body)
		require.Equal(t, 1250*time.Millisecond, time.Since(start)) // simulated
	})
}
