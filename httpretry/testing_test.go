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
		return c.get(ctx, url)
	}, backoff.WithContext(c.Policy(), ctx))
}

// get is one attempt.
func (c *Client) get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", backoff.Permanent(err)
	}

	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()

	switch {
	case backoff.RetryableStatus(resp.StatusCode):
		return "", errors.New(resp.Status)
	case resp.StatusCode != http.StatusOK:
		return "", backoff.Permanent(errors.New(resp.Status))
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// failing returns a handler that fails n times and then answers.
func failing(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		n--
		if n >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}
}

func TestClient(t *testing.T) {
	server := httptest.NewServer(failing(2))
	defer server.Close()

	client := Client{
		HTTP: server.Client(),
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 4) // without waits
		},
	}
	body, err := client.Get(t.Context(), server.URL)
	require.NoError(t, err)
	require.Equal(t, "hello", body)
}
