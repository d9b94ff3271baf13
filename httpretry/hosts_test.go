//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A hanging is a base that answers no request, but those to a host whose name begins with "well".
type hanging struct{ inProgress atomic.Int32 }

func (h *hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasPrefix(req.URL.Host, "well") {
		return &http.Response{StatusCode: 200}, nil
	}
	h.inProgress.Add(1)
	defer h.inProgress.Add(-1)
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A fleet is a Transport over a base that hangs.
type fleet struct {
	transport *httpretry.Transport
	base      *hanging
}

func newFleet() fleet {
	base := new(hanging)
	return fleet{&httpretry.Transport{Base: base, AttemptTimeout: time.Second, MaxAttempts: 1}, base}
}

const crowd = 50 // requests at once

// atOnce sends a crowd of requests, and returns how many of them are in progress at once. It takes no time.
func (f fleet) atOnce(t *testing.T, method, at string, deadline time.Duration) int {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range crowd {
		group.Go(func() {
			ctx := ctx
			if deadline > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, deadline)
				defer stop()
			}
			_, err := f.transport.RoundTrip(newRequest(t, method, at, "").WithContext(ctx))
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	synctest.Wait()
	most := f.base.inProgress.Load()
	cancel()
	group.Wait()
	return int(most)
}

// trouble sends requests to a host for some seconds, all of which hang.
func (f fleet) trouble(t *testing.T, at string) {
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := f.transport.RoundTrip(newRequest(t, "GET", at, ""))
			require.Error(t, err)
		})
		time.Sleep(100 * time.Millisecond)
	}
	group.Wait()
}

// Each host has slots: one that hangs takes none of another's. A host is the scheme and host of a URL, as it spells them.
func TestHosts(t *testing.T) {
	const hung = "http://a"
	for _, test := range []struct {
		name   string
		change func(*httpretry.Transport)
		want   map[string]bool // whether a host has a slot for each request while another hangs
	}{
		{"nil", func(*httpretry.Transport) {}, map[string]bool{
			"http://a/": false, "http://a/path?query": false,
			"https://a": true, "http://a:8080": true, "http://b": true, "http://a.b": true,
		}},
		{"set", func(t *httpretry.Transport) { t.Slots = new(backoff.Slots) }, map[string]bool{
			hung: false, "http://b": false,
		}},
		{"off", func(t *httpretry.Transport) { t.Slots = backoff.NewSlots(math.MaxInt) }, map[string]bool{
			hung: true, "http://b": true,
		}},
	} {
		for at, all := range test.want {
			t.Run(test.name+"/"+at, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFleet()
					test.change(f.transport)
					require.Equal(t, crowd, f.atOnce(t, "GET", hung, 0))
					f.trouble(t, hung)
					require.Equal(t, all, f.atOnce(t, "GET", at, 0) == crowd)
				})
			})
		}
	}
}

// A request of which nobody knows how long it may take, such as a question to a language model, holds none of a host's
// slots, and does not wait for them.
func TestEndless(t *testing.T) {
	for _, test := range []struct {
		method   string
		deadline time.Duration
		timeout  time.Duration
		all      bool
	}{
		{"GET", 0, 0, false},
		{"GET", 0, -1, true},
		{"POST", 0, 0, true},
		{"POST", time.Hour, 0, false},
		{"POST", 0, time.Second, false},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet()
				f.trouble(t, "http://a")
				f.transport.AttemptTimeout = test.timeout
				require.Equal(t, test.all, f.atOnce(t, test.method, "http://a", test.deadline) == crowd)
			})
		})
	}
}

// The slots of the hosts that were called last are kept. Those of 100,000 hosts take less than 8 MB, in any order,
// however long the names are.
func TestManyHosts(t *testing.T) {
	skipWithRaceDetector(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		req := newRequest(t, "GET", "http://localhost", "")
		send := func(host string) {
			req.URL.Host = host
			_, err := f.transport.RoundTrip(req)
			require.NoError(t, err)
		}
		limited := func() bool { return f.atOnce(t, "GET", "http://hung", 0) < crowd }

		before, most := held(), int64(0)
		f.trouble(t, "http://hung")
		for i := range 100_000 {
			send(fmt.Sprintf("well-%d.%s.example.com", i, strings.Repeat("long", 1000)))
			if i%4_900 == 0 {
				require.True(t, limited(), "its slots were forgotten")
				most = max(most, held()-before)
			}
		}
		require.Less(t, most, int64(8e6))
		t.Log(most, "bytes for 100,000 hosts")
		for i := range 10_000 {
			send(fmt.Sprint("well", i))
		}
		require.False(t, limited(), "its slots were not forgotten")
		runtime.KeepAlive(f)
	})
}

// held returns how many bytes are in use.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A zero Transport is safe for concurrent use, also while it forgets hosts.
func TestHostsConcurrency(t *testing.T) {
	transport := &httpretry.Transport{Policy: noWaits, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Host, "0") {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: 200}, nil
	})}
	var failed atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 6000 {
				req := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: fmt.Sprint("host-", i)}}
				if _, err := transport.RoundTrip(req); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 8*600, failed.Load())
}

// Twenty requests at once to a host that is down make four attempts each, whatever others did before.
func TestDown(t *testing.T) {
	for name, before := range map[string]func(req *http.Request) (*http.Response, error){
		"down":    func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil },
		"refused": func(*http.Request) (*http.Response, error) { return nil, errDial },
		"hung":    new(hanging).RoundTrip,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int32
				base := before
				transport := &httpretry.Transport{Base: baseFunc(func(req *http.Request) (*http.Response, error) {
					attempts.Add(1)
					return base(req)
				})}
				all := func(n int) {
					var group sync.WaitGroup
					for range n {
						group.Go(func() {
							resp, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
							require.True(t, errors.Is(err, backoff.ErrRetriesExhausted) || err == nil && resp.StatusCode == 503)
						})
					}
					group.Wait()
				}
				all(100)
				base = func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }
				attempts.Store(0)
				all(20)
				require.EqualValues(t, 20*4, attempts.Load())
			})
		})
	}
}

// Thirty POSTs at once to a server that takes ten in a second are all done, each once.
func TestRateLimit(t *testing.T) {
	for _, major := range []int{1, 2} {
		var mu sync.Mutex
		taken := map[int64]int{} // by second
		done := 0
		bubble(t, major, new(httpretry.Transport), func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			second := time.Now().Unix()
			if taken[second] == 10 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			taken[second]++
			done++
		}, func(t *testing.T, client *http.Client) {
			var group sync.WaitGroup
			for range 30 {
				group.Go(func() {
					resp, err := client.Post("http://localhost", "text/plain", strings.NewReader("body"))
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, 200, resp.StatusCode)
				})
			}
			group.Wait()
		})
		require.Equal(t, 30, done)
	}
}
