package httpretry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// net/http takes an empty key for a key, and sends a POST again by itself if a connection that it has kept ends without
// an answer. So it does not get such a key. With another, Attempts counts the second time: the first may have taken effect.
func TestEmptyKey(t *testing.T) {
	for _, test := range []struct {
		name string
		key  []string
		want int32 // POSTs
	}{
		{"none", nil, 1},
		{"empty", []string{""}, 1},
		{"blanks", []string{" "}, 1},
		{"key", []string{"1"}, 2},
		{"mark", []string{}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var posts atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "POST" && posts.Add(1) == 1 {
					io.Copy(io.Discard, r.Body)
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(http.StatusPaymentRequired)
			}))
			defer server.Close()
			transport := &httpretry.Transport{Base: new(http.Transport), MaxAttempts: 1}
			client := &http.Client{Transport: transport}
			defer client.CloseIdleConnections()
			resp, err := client.Get(server.URL) // the connection is kept
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())

			req := newRequest(t, "POST", server.URL, "body")
			if test.key != nil {
				req.Header["Idempotency-Key"] = test.key
			}
			resp, err = client.Do(req)
			if err == nil {
				require.NoError(t, resp.Body.Close())
				require.EqualValues(t, test.want, httpretry.Attempts(resp))
			}
			require.Equal(t, test.want, posts.Load(), "%v", err)
			require.Equal(t, test.key, req.Header["Idempotency-Key"])
		})
	}
}
