package httpretry_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// oauthSources are the ways to a token, each from the server at url.
func oauthSources(t *testing.T) map[string]func(url string) oauth2.TokenSource {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})

	return map[string]func(url string) oauth2.TokenSource{
		"refresh token": func(url string) oauth2.TokenSource {
			config := &oauth2.Config{Endpoint: oauth2.Endpoint{TokenURL: url, AuthStyle: oauth2.AuthStyleInParams}}
			old := &oauth2.Token{AccessToken: "old", RefreshToken: "refresh", Expiry: time.Now().Add(-time.Hour)}
			return config.TokenSource(context.Background(), old)
		},
		"client credentials": func(url string) oauth2.TokenSource {
			config := &clientcredentials.Config{TokenURL: url, AuthStyle: oauth2.AuthStyleInParams}
			return config.TokenSource(context.Background())
		},
		"signed by the client": func(url string) oauth2.TokenSource {
			config := &jwt.Config{TokenURL: url, PrivateKey: private}
			return config.TokenSource(context.Background())
		},
	}
}

// An OAuth server's codes of RFC 6749 are final, but for two, however the server writes them and whatever method the
// request has that needs the token.
func TestOAuthCodes(t *testing.T) {
	codes := map[string]int{ // attempts
		"invalid_request":           1,
		"invalid_client":            1,
		"invalid_grant":             1,
		"invalid_scope":             1,
		"unauthorized_client":       1,
		"access_denied":             1,
		"unsupported_grant_type":    1,
		"unsupported_response_type": 1,
		"server_error":              4,
		"temporarily_unavailable":   4,
		"slow_down":                 4, // of another RFC
	}
	forms := map[string]string{ // by Content-Type
		"application/json":                  `{"error": %q, "error_description": "because"}`,
		"text/plain":                        `{"error":%q}`, // which oauth2 does not understand
		"application/x-www-form-urlencoded": "error=%s",
	}
	for name, source := range oauthSources(t) {
		for contentType, form := range forms {
			if name == "signed by the client" && contentType == "application/x-www-form-urlencoded" {
				continue // an answer in JSON is what RFC 6749 asks for, and what this source repeats in its error
			}
			for code, want := range codes {
				t.Run(fmt.Sprint(name, "/", contentType, "/", code), func(t *testing.T) {
					requests := 0
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						requests++
						w.Header().Set("Content-Type", contentType)
						w.WriteHeader(http.StatusBadRequest)
						fmt.Fprintf(w, form, code)
					}))
					defer server.Close()
					_, err := withToken(source(server.URL)).Get("http://api.test")
					require.Contains(t, err.Error(), code)
					require.Equal(t, want, requests, err)
					require.Equal(t, want == 4, errors.Is(err, backoff.ErrRetriesExhausted))
				})
			}
		}
	}
}

// A server that fails in another way is asked again, and a token that cannot be renewed is not.
func TestOAuthFailures(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "error: busy")
	}))
	defer server.Close()
	for name, source := range oauthSources(t) {
		requests = 0
		_, err := withToken(source(server.URL)).Get("http://api.test")
		require.ErrorIs(t, err, backoff.ErrRetriesExhausted, name)
		require.Equal(t, 4, requests, name)
	}

	old := &oauth2.Token{AccessToken: "old", Expiry: time.Now().Add(-time.Hour)}
	_, err := withToken(new(oauth2.Config).TokenSource(context.Background(), old)).Get("http://api.test")
	require.ErrorContains(t, err, "refresh token is not set")
	require.NotErrorIs(t, err, backoff.ErrRetriesExhausted)
}

// withToken returns a client that gets a token from source for each attempt.
func withToken(source oauth2.TokenSource) *http.Client {
	return &http.Client{Transport: &httpretry.Transport{
		Base:   &oauth2.Transport{Source: source},
		Policy: func() backoff.BackOff { return &backoff.ZeroBackOff{} },
	}}
}
