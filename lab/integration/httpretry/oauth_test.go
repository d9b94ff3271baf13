package httpretry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// An OAuth server's codes of RFC 6749 are final, but for two, however the server writes them. A server that fails in
// another way is asked again, and a token that cannot be renewed is not asked for.
func TestOAuth(t *testing.T) {
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
	for contentType, form := range map[string]string{
		"application/json":                  `{"error": %q, "error_description": "because"}`,
		"text/plain":                        `{"error":%q}`, // which oauth2 does not understand
		"application/x-www-form-urlencoded": "error=%s",
	} {
		for code, want := range codes {
			answer := fmt.Sprintf(form, code)
			require.Equal(t, want, tokenAttempts(t, "refresh", http.StatusBadRequest, contentType, answer), answer)
		}
	}
	require.Equal(t, 4, tokenAttempts(t, "refresh", http.StatusServiceUnavailable, "text/plain", "error: busy"))
	require.Equal(t, 1, tokenAttempts(t, "", http.StatusOK, "text/plain", "nobody asks"))
}

// tokenAttempts returns how many attempts a request takes that needs a new token, from a server that always answers in
// the same way.
func tokenAttempts(t *testing.T, refreshToken string, status int, contentType, answer string) int {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer server.Close()
	config := oauth2.Config{Endpoint: oauth2.Endpoint{TokenURL: server.URL, AuthStyle: oauth2.AuthStyleInParams}}
	old := &oauth2.Token{AccessToken: "old", RefreshToken: refreshToken, Expiry: time.Now().Add(-time.Hour)}

	attempts := 0
	client := &http.Client{Transport: &httpretry.Transport{
		Base:   &oauth2.Transport{Source: config.TokenSource(t.Context(), old)},
		Policy: func() backoff.BackOff { return &backoff.ZeroBackOff{} },
		Done:   func(_ *http.Request, n int, _ error) { attempts = n },
	}}
	_, err := client.Get("http://api.test")
	require.Error(t, err)
	return attempts
}
