package httpretry_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// A Base that takes one proxy after the other is asked once for each attempt. Asked twice, it would leave out every other
// proxy.
func TestProxyRotation(t *testing.T) {
	for _, scheme := range []string{"http", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			var proxies []*url.URL
			connections := make([]atomic.Int32, 2)
			for i := range connections {
				address := listen(t, func(net.Conn) { connections[i].Add(1) })
				proxies = append(proxies, &url.URL{Scheme: scheme, Host: address})
			}

			asked := 0
			base := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
				asked++
				return proxies[asked%len(proxies)], nil
			}}
			transport := &httpretry.Transport{Base: base, Policy: noWaits}
			_, err := transport.RoundTrip(newRequest(t, "GET", "https://site.test", ""))
			require.Error(t, err)
			require.Equal(t, 4, asked, "%v", err)
			for i := range connections {
				require.EqualValues(t, 2, connections[i].Load(), "%v", err)
			}
		})
	}
}

// If the Proxy of Base fails, so does the attempt.
func TestProxyError(t *testing.T) {
	errNone := errors.New("no proxy")
	base := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, errNone }}
	transport := &httpretry.Transport{Base: base, Policy: noWaits}
	for _, scheme := range []string{"http", "https"} {
		_, err := transport.RoundTrip(newRequest(t, "GET", scheme+"://site.test", ""))
		require.ErrorIs(t, err, errNone)
	}
}

// What is registered for https is not asked about a request that goes through a proxy, unless something is around Base.
func TestProxyRegistered(t *testing.T) {
	address := listen(t, func(net.Conn) {})
	base := &http.Transport{Proxy: through("http://" + address)}
	base.RegisterProtocol("https", baseFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200}, nil
	}))
	for _, test := range []struct {
		base  http.RoundTripper
		asked bool
	}{
		{base, false},
		{struct{ http.RoundTripper }{base}, true},
	} {
		transport := &httpretry.Transport{Base: test.base, MaxAttempts: 1}
		_, err := transport.RoundTrip(newRequest(t, "GET", "https://site.test", ""))
		require.Equal(t, test.asked, err == nil, "%v", err)
	}
}
