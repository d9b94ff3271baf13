//go:build go1.25

package httpretry_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A limiter is a Base that lets requests pass one after the other. What its attempt's end finds waiting has not been
// sent, and its error says so.
type limiter struct {
	turn <-chan time.Time
	base http.RoundTripper
	held atomic.Int32 // attempts that were not sent
}

func (l *limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-l.turn:
	case <-req.Context().Done():
	}
	err := req.Context().Err() // even if its turn has come at the same moment
	if err != nil {
		l.held.Add(1)
		return nil, &net.OpError{Op: "dial", Err: err}
	}
	return l.base.RoundTrip(req)
}

// Of 2,000 POSTs through a limiter, none fails that was not sent. Either nine a second arrive where ten may pass, or there
// is always more work, for as long as it takes.
func TestLimiter(t *testing.T) {
	for _, workers := range []int{20, 50, 200} {
		for _, maxAttempts := range []int{0, -1} {
			var served atomic.Int32
			const timeout = 1012345678 * time.Nanosecond // which does not end in the moment in which a turn comes
			transport := &httpretry.Transport{AttemptTimeout: timeout, MaxAttempts: maxAttempts}
			bubble(t, 1, transport, func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				served.Add(1)
				time.Sleep(50 * time.Millisecond)
			}, func(t *testing.T, client *http.Client) {
				turns := time.NewTicker(time.Second / 10)
				defer turns.Stop()
				base := &limiter{turn: turns.C, base: transport.Base}
				transport.Base = base
				arrivals := make(chan struct{})
				var group sync.WaitGroup
				for range workers {
					group.Go(func() {
						for range arrivals {
							resp, err := client.Do(newRequest(t, "POST", "http://localhost", "body"))
							require.NoError(t, err)
							require.NoError(t, resp.Body.Close())
						}
					})
				}
				random := rand.New(rand.NewPCG(1, 2))
				for range 2000 {
					if maxAttempts == 0 {
						time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / 9))
					}
					arrivals <- struct{}{}
				}
				close(arrivals)
				group.Wait()
				require.Positive(t, base.held.Load())
				transport.Base = base.base // whose connections bubble closes
			})
			require.EqualValues(t, 2000, served.Load())
		}
	}
}

// Where Base says that it has not sent the request, the error says so too, beside the timeout.
func TestHeldBack(t *testing.T) {
	transport := &httpretry.Transport{
		AttemptTimeout: time.Second,
		Policy:         noWaits,
		MaxAttempts:    2,
		Slots:          backoff.NewSlots(1),
	}
	bubble(t, 1, transport, nil, func(t *testing.T, _ *http.Client) {
		base := transport.Base
		transport.Base = &limiter{base: base}
		_, err := transport.RoundTrip(newRequest(t, "POST", "http://localhost", "body"))
		require.EqualError(t, err, "retries exhausted: no response within 1s, attempt 2: dial: context canceled")
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorAs(t, err, new(*net.OpError))
		require.NotErrorIs(t, err, context.Canceled) // the caller has cancelled nothing
		transport.Base = base
	})
}
