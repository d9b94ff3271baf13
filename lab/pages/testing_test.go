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

var lookUps = backoff.Retrier{
	AttemptTimeout: 2 * time.Second,
	Slots:          backoff.NewSlots(20),
}

// lookUp is code to be tested. It retries as it does in production.
func lookUp(ctx context.Context, get func(context.Context) (string, error)) (string, error) {
	return backoff.DoWithData(ctx, &lookUps, get)
}

func TestRetriesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		get := func(context.Context) (string, error) {
			calls++
			if calls < 3 {
				return "", errors.New("busy")
			}
			return "hello", nil
		}

		value, err := lookUp(t.Context(), get)

		require.NoError(t, err)
		require.Equal(t, "hello", value)
		require.Equal(t, 3, calls)
	})
}

func TestGivesUpAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()

		_, err := lookUp(ctx, func(context.Context) (string, error) {
			return "", errors.New("busy")
		})

		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(start), time.Second)
	})
}

func TestEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		_, err := lookUp(t.Context(), func(context.Context) (string, error) {
			attempts = append(attempts, time.Now())
			return "", errors.New("busy")
		})
		require.EqualError(t, err, "busy")
		require.Len(t, attempts, 4)

		for i, bounds := range [][2]time.Duration{
			{250 * time.Millisecond, 750 * time.Millisecond},
			{375 * time.Millisecond, 1125 * time.Millisecond},
			{562 * time.Millisecond, 1688 * time.Millisecond},
		} {
			wait := attempts[i+1].Sub(attempts[i])
			require.GreaterOrEqual(t, wait, bounds[0])
			require.LessOrEqual(t, wait, bounds[1])
		}
	})
}

func TestExactWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []string
		exact := lookUps
		exact.MaxRetries = 3
		exact.Policy = func() backoff.BackOff {
			return backoff.NewExponentialBackOff(backoff.WithJitter(backoff.NoJitter))
		}
		exact.Notify = func(_ context.Context, _ int, _ error, wait time.Duration) {
			waits = append(waits, wait.String())
		}

		err := exact.Do(t.Context(), func(context.Context) error {
			return errors.New("busy")
		})

		require.EqualError(t, err, "busy")
		require.Equal(t, []string{"500ms", "750ms", "1.125s"}, waits)
	})
}

func TestNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			require.NoError(t, lookUps.Slots.Acquire(t.Context(), 0))
			defer lookUps.Slots.Release()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()

		_, err := lookUp(ctx, func(context.Context) (string, error) {
			return "hello", nil
		})

		require.ErrorIs(t, err, backoff.ErrNoSlot)
		require.Equal(t, 3*time.Second, time.Since(start)) // when too little is left for an attempt
	})
}

func TestWaits(t *testing.T) {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxInterval(500*time.Millisecond),
		backoff.WithJitter(backoff.NoJitter),
	)

	var waits []string
	for range 5 {
		waits = append(waits, policy.NextBackOff().String())
	}

	require.Equal(t, []string{"100ms", "200ms", "400ms", "500ms", "500ms"}, waits)
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
