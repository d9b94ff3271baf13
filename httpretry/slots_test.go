//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

// Of thirty requests at once, those that can be repeated and those that cannot, at most three are in progress.
func TestSlots(t *testing.T) {
	for _, major := range []int{1, 2} {
		var inProgress, most atomic.Int32
		transport := &httpretry.Transport{Slots: backoff.NewSlots(3)}
		bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			most.Store(max(most.Load(), inProgress.Add(1)))
			defer inProgress.Add(-1)
			time.Sleep(time.Second)
		}, func(t *testing.T, client *http.Client) {
			start := time.Now()
			var group sync.WaitGroup
			for i := range 30 {
				group.Go(func() {
					req := newRequest(t, []string{"GET", "PUT", "POST"}[i%3], "http://localhost", "body")
					if i%2 == 0 {
						req.GetBody = nil
					}
					resp, err := client.Do(req)
					if err == nil {
						err = resp.Body.Close()
					}
					require.NoError(t, err)
				})
			}
			group.Wait()
			require.Equal(t, 10*time.Second, time.Since(start))
		})
		require.EqualValues(t, 3, most.Load())
		require.Zero(t, transport.Slots.InUse())
	}
}

// A slot is held during a short wait, and until the response's headers are there, but not while its body is read.
func TestSlotHeld(t *testing.T) {
	slots := backoff.NewSlots(1)
	var held []int
	transport := &httpretry.Transport{
		Slots:  slots,
		Notify: func(*http.Request, int, error, time.Duration) { held = append(held, slots.InUse()) },
		Done:   func(*http.Request, int, error) { held = append(held, slots.InUse()) },
	}
	requests := 0
	bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		if requests == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(time.Hour)
	}, func(t *testing.T, client *http.Client) {
		resp, err := client.Get("http://localhost")
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, held)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	})
}

// Requests that hang give their slots back, also those that are sent once.
func TestSlotHang(t *testing.T) {
	for _, getBody := range []bool{true, false} {
		transport := &httpretry.Transport{AttemptTimeout: time.Second, Slots: backoff.NewSlots(5)}
		bubble(t, 1, transport, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				silent(w, r)
			}
		}, func(t *testing.T, client *http.Client) {
			var posts sync.WaitGroup
			for range 20 {
				posts.Go(func() {
					req := newRequest(t, "POST", "http://localhost", "body")
					if !getBody {
						req.GetBody = nil
					}
					_, err := client.Do(req)
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				})
			}
			synctest.Wait()
			start := time.Now()
			resp, err := client.Get("http://localhost")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 4*time.Second, time.Since(start))
			posts.Wait()
		})
	}
}

// Requests queue for their slots, whether their deadline is hardly longer than an attempt's, or not.
func TestSlotQueue(t *testing.T) {
	for _, test := range []struct{ attempt, client time.Duration }{
		{5 * time.Second, 5 * time.Second},
		{0, 10 * time.Second},
	} {
		transport := &httpretry.Transport{AttemptTimeout: test.attempt, Slots: backoff.NewSlots(10)}
		bubble(t, 1, transport, func(http.ResponseWriter, *http.Request) {
			time.Sleep(50 * time.Millisecond)
		}, func(t *testing.T, client *http.Client) {
			client.Timeout = test.client
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					resp, err := client.Get("http://localhost")
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				})
			}
			group.Wait()
		})
	}
}

// occupy holds one of slots, by a request that hangs in its Base, until release is called.
func occupy(t *testing.T, slots *backoff.Slots) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	occupant := &httpretry.Transport{Base: new(hanging), AttemptTimeout: -1, Slots: slots}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = occupant.RoundTrip(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
	}()
	synctest.Wait()
	require.Equal(t, 1, slots.InUse())
	return func() {
		cancel()
		<-ended
	}
}

// A request that gets no slot is not sent, its body is closed, and Done receives 0 attempts. Nor is one whose context has
// ended, which takes no slot.
func TestNoSlot(t *testing.T) {
	errGone := errors.New("gone")
	for _, test := range []struct {
		name  string
		full  bool
		ended time.Duration // when the context ends
		want  []error
		took  time.Duration
	}{
		{"in time", true, 0, []error{backoff.ErrNoSlot}, 8 * time.Second},
		{"canceled", true, 7 * time.Second, []error{backoff.ErrNoSlot, context.Canceled, errGone}, 7 * time.Second},
		{"ended", false, -1, []error{context.Canceled, errGone}, 0},
	} {
		for _, getBody := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, "/", getBody), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					transport, sent := answering(200)
					transport.AttemptTimeout = 2 * time.Second
					transport.Slots = backoff.NewSlots(1)
					transport.Budget = &backoff.Budget{Capacity: 100}
					var done []any
					transport.Done = func(_ *http.Request, attempts int, err error) { done = append(done, attempts, err) }
					if test.full {
						defer occupy(t, transport.Slots)()
					}

					ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
					defer stop()
					ctx, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					switch {
					case test.ended < 0:
						cancel(errGone)
					case test.ended > 0:
						time.AfterFunc(test.ended, func() { cancel(errGone) })
					}
					var closed atomic.Bool
					req := newRequest(t, "PUT", "http://localhost", "body").WithContext(ctx)
					req.Body = closing{&closed}
					if !getBody {
						req.GetBody = nil
					}

					start := time.Now()
					_, err := transport.RoundTrip(req)
					require.Equal(t, test.took, time.Since(start))
					for _, want := range test.want {
						require.ErrorIs(t, err, want)
					}
					require.Equal(t, test.full, errors.Is(err, backoff.ErrNoSlot))
					require.True(t, closed.Load())
					require.Equal(t, []any{0, err}, done)
					require.Zero(t, *sent)
					require.Equal(t, 100, transport.Budget.Tokens())
				})
			})
		}
	}
}

// A request that is never repeated calls Done, too.
func TestDoneOnce(t *testing.T) {
	for answer, want := range map[any]string{
		200:    "<nil>",
		404:    "<nil>",
		503:    "503 Service Unavailable",
		io.EOF: "EOF",
	} {
		transport, _ := answering(answer)
		var done []string
		transport.Done = func(_ *http.Request, attempts int, err error) { done = append(done, fmt.Sprint(attempts, " ", err)) }
		req := newRequest(t, "PUT", "http://localhost", "body")
		req.GetBody = nil
		_, err := transport.RoundTrip(req)
		require.Equal(t, answer == io.EOF, err != nil)
		require.Equal(t, []string{"1 " + want}, done)
	}
}

// A function that panics leaves no slot and no context behind. The response is closed, and the request's body if it was
// not sent.
func TestPanic(t *testing.T) {
	bug := func() { panic("bug") }
	for name, change := range map[string]func(*httpretry.Transport, *http.Request){
		"Base": func(t *httpretry.Transport, _ *http.Request) {
			t.Base = baseFunc(func(*http.Request) (*http.Response, error) { bug(); return nil, nil })
		},
		"GetBody": func(_ *httpretry.Transport, req *http.Request) {
			req.GetBody = func() (io.ReadCloser, error) { bug(); return nil, nil }
		},
		"Policy": func(t *httpretry.Transport, _ *http.Request) {
			t.Policy = func() backoff.BackOff { bug(); return nil }
		},
		"Idempotent": func(t *httpretry.Transport, _ *http.Request) {
			t.Idempotent = func(*http.Request) bool { bug(); return true }
		},
		"Retryable": func(t *httpretry.Transport, _ *http.Request) {
			t.Retryable = func(*http.Request, *http.Response, error) bool { bug(); return true }
		},
		"Notify": func(t *httpretry.Transport, _ *http.Request) {
			t.Notify = func(*http.Request, int, error, time.Duration) { bug() }
		},
		"Done": func(t *httpretry.Transport, _ *http.Request) {
			t.Done = func(*http.Request, int, error) { bug() }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent, closed atomic.Bool
			transport, _ := counted(func(*http.Request) (*http.Response, error) {
				sent.Store(true)
				return &http.Response{StatusCode: 503, Body: closing{&closed}}, nil
			})
			transport.Slots = backoff.NewSlots(1)
			parent := newCounting()
			req := newRequest(t, "PUT", "http://localhost", "body").WithContext(parent)
			var unsent atomic.Bool
			req.Body = closing{&unsent}
			change(transport, req)
			require.PanicsWithValue(t, "bug", func() { _, _ = transport.RoundTrip(req) }, name)
			require.Zero(t, transport.Slots.InUse(), name)
			require.Zero(t, parent.registered.Load(), name)
			require.Equal(t, sent.Load(), closed.Load(), name)
			require.Equal(t, name == "Policy" || name == "Idempotent", unsent.Load(), name)
		})
	}
}

// A hanging is a base that answers no request.
type hanging struct{ inProgress atomic.Int32 }

func (h *hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	h.inProgress.Add(1)
	defer h.inProgress.Add(-1)
	<-req.Context().Done()
	return nil, req.Context().Err()
}

const crowd = 50 // requests at once

// trouble sends requests for some seconds, all of which hang.
func trouble(t *testing.T, transport *httpretry.Transport) {
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.Error(t, err)
		})
		time.Sleep(100 * time.Millisecond)
	}
	group.Wait()
}

// atOnce sends a crowd of requests over a base that hangs, and returns how many of them are in progress at once. It takes
// no time.
func atOnce(t *testing.T, transport *httpretry.Transport, method string, deadline time.Duration) int {
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
			_, err := transport.RoundTrip(newRequest(t, method, "http://localhost", "").WithContext(ctx))
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	synctest.Wait()
	most := transport.Base.(*hanging).inProgress.Load()
	cancel()
	group.Wait()
	return int(most)
}

// While requests hang, Slots that size themselves hold back all whose time is known. A request of which nobody knows how
// long it may take, such as a question to a language model, holds no slot. Nil Slots hold back nothing.
func TestEndless(t *testing.T) {
	for _, test := range []struct {
		slots    *backoff.Slots
		method   string
		deadline time.Duration
		timeout  time.Duration
		all      bool // the requests are in progress
	}{
		{new(backoff.Slots), "GET", 0, 0, false},
		{new(backoff.Slots), "GET", 0, -1, true},
		{new(backoff.Slots), "POST", 0, 0, true},
		{new(backoff.Slots), "POST", time.Hour, 0, false},
		{new(backoff.Slots), "POST", 0, time.Second, false},
		{nil, "GET", 0, 0, true},
		{nil, "GET", time.Hour, time.Second, true},
		{nil, "POST", 0, time.Second, true},
	} {
		t.Run(fmt.Sprint(test.slots != nil, test.method, test.deadline, test.timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &httpretry.Transport{
					Base:           new(hanging),
					AttemptTimeout: time.Second,
					MaxAttempts:    1,
					Slots:          test.slots,
				}
				trouble(t, transport)
				transport.AttemptTimeout = test.timeout
				require.Equal(t, test.all, atOnce(t, transport, test.method, test.deadline) == crowd)
			})
		})
	}
}

// Twenty requests at once to a service that is down make four attempts each, whatever others did before.
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
				transport := &httpretry.Transport{Slots: new(backoff.Slots), Base: baseFunc(func(req *http.Request) (*http.Response, error) {
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
		bubble(t, major, &httpretry.Transport{Slots: new(backoff.Slots)}, func(w http.ResponseWriter, r *http.Request) {
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
