//go:build go1.24

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// A Client is code to be tested. The policy of its retries is a parameter.
type Client struct {
	HTTP   *http.Client
	Policy func() backoff.BackOff
}

// Get returns what url holds.
func (c *Client) Get(ctx context.Context, url string) (string, error) {
	return backoff.RetryWithData(func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", backoff.Permanent(err)
		}
		response, err := c.HTTP.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if err := errors.New(response.Status); backoff.RetryableStatus(response.StatusCode) {
			return "", err
		} else if response.StatusCode != http.StatusOK {
			return "", backoff.Permanent(err)
		}
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}, backoff.WithContext(c.Policy(), ctx))
}

// failing returns a handler that fails n times and then answers.
func failing(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if n--; n >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}
}

func TestClient(t *testing.T) {
	server := httptest.NewServer(failing(2))
	defer server.Close()
	client := Client{server.Client(), func() backoff.BackOff {
		return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 4) // without waits
	}}
	body, err := client.Get(t.Context(), server.URL)
	require.NoError(t, err)
	require.Equal(t, "hello", body)
}
