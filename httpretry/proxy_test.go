package httpretry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// A Base that takes one proxy after the other is asked once for each attempt. Asked twice, it would leave out every other
// proxy.
func TestProxyRotation(t *testing.T) {
	var proxies []*url.URL
	tunnels := make([]int, 2)
	for i := range tunnels {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "CONNECT", r.Method)
			tunnels[i]++ // one attempt follows the other
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer proxy.Close()
		at, err := url.Parse(proxy.URL)
		require.NoError(t, err)
		proxies = append(proxies, at)
	}

	asked := 0
	base := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		asked++
		return proxies[asked%len(proxies)], nil
	}}
	transport := &httpretry.Transport{Base: base, Policy: noWaits}
	_, err := transport.RoundTrip(newRequest(t, "GET", "https://site.test", ""))
	require.Contains(t, fmt.Sprint(err), "503 Service Unavailable")
	require.Equal(t, 4, asked)
	require.Equal(t, []int{2, 2}, tunnels)
}
