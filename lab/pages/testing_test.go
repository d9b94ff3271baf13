package pages_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		fetch := func() error {
			if calls++; calls < 3 {
				return errors.New("busy")
			}
			return nil
		}
		start := time.Now()
		err := backoff.Retry(fetch, backoff.NewConstantBackOff(time.Minute))
		require.NoError(t, err)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}

// inMemory is an http.RoundTripper that calls a handler, without a network.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(request *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, request)
	return w.Result(), nil
}

// failing returns a handler that fails n times and then answers.
func failing(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if n--; n >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: &httpretry.Transport{Base: inMemory{failing(2)}}}
		response, err := client.Get("http://example.com")
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
	})
}

// The README's one line for HTTP.
func TestReadmeTransport(t *testing.T) {
	client := &http.Client{Transport: &httpretry.Transport{}}
	_ = client
	require.Contains(t, read(t, "README.md"), "`client := &http.Client{Transport: &httpretry.Transport{}}`")
}
