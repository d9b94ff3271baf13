//go:build go1.25

package httpretry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// raceDetector reports whether the tests run with the race detector, which makes those with a hundred thousand requests
// too slow. Others look for races.
var raceDetector bool

func skipWithRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
}

// A service has six workers, which answer requests in the order in which they have come, also those that nobody waits
// for any more. Its workers stand still while it is down.
type service struct {
	queue     chan chan struct{} // of requests; each is closed when it has been answered
	down, up  time.Time
	meanWork  time.Duration
	processes sync.WaitGroup
}

const serviceWorkers = 6

func newService(down, lasts, meanWork time.Duration) *service {
	s := &service{
		queue:    make(chan chan struct{}, 1<<20),
		down:     time.Now().Add(down),
		up:       time.Now().Add(down + lasts),
		meanWork: meanWork,
	}
	for n := range uint64(serviceWorkers) {
		s.processes.Go(func() { s.work(rand.New(rand.NewPCG(1, n))) })
	}
	return s
}

func (s *service) work(random *rand.Rand) {
	for request := range s.queue {
		if now := time.Now(); now.After(s.down) && now.Before(s.up) {
			time.Sleep(time.Until(s.up))
		}
		time.Sleep(time.Duration(random.ExpFloat64() * float64(s.meanWork)))
		close(request)
	}
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	answered := make(chan struct{})
	s.queue <- answered
	select {
	case <-answered:
		return &http.Response{StatusCode: 200}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// lost returns which share of the calls fail in the minute that begins with ten seconds of outage. The service can do 60
// in a second, and five processes ask it for as many as load says.
func lost(t *testing.T, load float64, transports []*httpretry.Transport) float64 {
	const before, after = 30 * time.Second, 60 * time.Second
	var calls, failed atomic.Int32
	s := newService(before, 10*time.Second, 100*time.Millisecond)
	for _, transport := range transports {
		transport.Base = s
	}
	random := rand.New(rand.NewPCG(1, serviceWorkers))
	start := time.Now()
	var group sync.WaitGroup
	for time.Since(start) < before+after {
		time.Sleep(time.Duration(random.ExpFloat64() / (60 * load) * float64(time.Second)))
		transport := transports[random.IntN(len(transports))]
		counts := time.Since(start) > before
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			resp, err := transport.RoundTrip(newRequest(t, "GET", "http://service", "").WithContext(ctx))
			if !counts {
				return
			}
			calls.Add(1)
			if err != nil || resp.StatusCode != 200 {
				failed.Add(1)
			}
		})
	}
	group.Wait()
	close(s.queue)
	s.processes.Wait()
	return 100 * float64(failed.Load()) / float64(calls.Load())
}

// With slots, an outage of ten seconds costs no more calls than without retries. Without slots, retries keep the service
// down. The deadline of a call is five seconds. With -v it prints the figures.
func TestOutage(t *testing.T) {
	skipWithRaceDetector(t)
	ways := map[string]func(*httpretry.Transport){
		"slots":      func(t *httpretry.Transport) { t.Slots = new(backoff.Slots) },
		"no retries": func(t *httpretry.Transport) { t.MaxAttempts = 1 },
		"no slots":   func(*httpretry.Transport) {},
	}
	for _, timeout := range []time.Duration{0, time.Second} {
		for _, load := range []float64{0.6, 0.8} {
			t.Run(fmt.Sprint(timeout, "/", load), func(t *testing.T) {
				share := map[string]float64{}
				for way, change := range ways {
					synctest.Test(t, func(t *testing.T) {
						var transports []*httpretry.Transport
						for range 5 {
							transport := &httpretry.Transport{AttemptTimeout: timeout}
							change(transport)
							transports = append(transports, transport)
						}
						share[way] = lost(t, load, transports)
					})
				}
				t.Logf("lost: %.0f %% with slots, %.0f without retries, %.0f without slots", share["slots"], share["no retries"], share["no slots"])
				require.LessOrEqual(t, share["slots"], share["no retries"]+5) // at random
				if timeout > 0 {
					require.Less(t, share["slots"], share["no slots"]/2)
				}
			})
		}
	}
}
