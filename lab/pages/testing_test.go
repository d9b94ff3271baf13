package pages_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
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
type inMemory struct {
	handler http.Handler
}

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	received := req.Clone(req.Context())
	if received.Body == nil {
		received.Body = http.NoBody // as handlers expect it
	}

	answer := make(chan *http.Response, 1)
	go func() {
		recorder := httptest.NewRecorder()
		m.handler.ServeHTTP(recorder, received)
		received.Body.Close()
		answer <- recorder.Result()
	}()

	select {
	case resp := <-answer:
		return resp, nil
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
}

// failing returns a handler that fails n times and then answers.
func failing(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		n--
		if n >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{
			Transport: &httpretry.Transport{Base: inMemory{failing(2)}},
		}

		resp, err := client.Get("http://example.com")
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
	})
}

// slow is a handler that takes five minutes.
func slow(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Minute) }

func TestTransportTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{
			Transport: &httpretry.Transport{
				Base:           inMemory{http.HandlerFunc(slow)},
				AttemptTimeout: 10 * time.Second,
				Policy: func() backoff.BackOff {
					return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 2)
				},
			},
		}

		start := time.Now()
		_, err := client.Get("http://example.com")
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 32*time.Second, time.Since(start)) // three attempts and two waits

		time.Sleep(5 * time.Minute) // until the handlers have returned
	})
}
