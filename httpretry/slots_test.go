//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
		bubbleOver(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
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

// A slot is held during the waits, and until the response's headers are there, but not while its body is read.
func TestSlotHeld(t *testing.T) {
	slots := backoff.NewSlots(1)
	var held []int
	transport := &httpretry.Transport{
		Slots:  slots,
		Notify: func(*http.Request, int, error, time.Duration) { held = append(held, slots.InUse()) },
		Done:   func(*http.Request, int, error) { held = append(held, slots.InUse()) },
	}
	requests := 0
	bubble(t, transport, func(w http.ResponseWriter, _ *http.Request) {
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

// A request that gets no slot in time is not sent. It waits only for as long as its deadline leaves AttemptTimeout.
func TestNoSlot(t *testing.T) {
	errGone := errors.New("gone")
	for _, test := range []struct {
		name     string
		timeout  time.Duration // of an attempt
		deadline time.Duration // of the request; 0 is none
		cancel   time.Duration // after which its context ends; 0 is never
		want     time.Duration
	}{
		{"deadline", 2 * time.Second, 5 * time.Second, 0, 3 * time.Second},
		{"default timeout", 0, 40 * time.Second, 0, 10 * time.Second},
		{"deadline too close", 2 * time.Second, time.Second, 0, 0},
		{"no timeout", -1, 5 * time.Second, 0, 5 * time.Second},
		{"cancel", 2 * time.Second, 0, 7 * time.Second, 7 * time.Second},
	} {
		for _, getBody := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, "/", getBody), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					transport, sent := counted(nil)
					transport.AttemptTimeout = test.timeout
					transport.Slots = backoff.NewSlots(1)
					var done []int
					transport.Done = func(_ *http.Request, attempts int, _ error) { done = append(done, attempts) }
					require.NoError(t, transport.Slots.Acquire(t.Context(), 0))
					defer transport.Slots.Release()

					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					if test.deadline > 0 {
						var stop context.CancelFunc
						ctx, stop = context.WithTimeout(ctx, test.deadline)
						defer stop()
					}
					if test.cancel > 0 {
						time.AfterFunc(test.cancel, func() { cancel(errGone) })
					}
					var closed atomic.Bool
					req := newRequest(t, "POST", "http://localhost", "body").WithContext(ctx)
					req.Body = closing{&closed}
					if !getBody {
						req.GetBody = nil
					}

					start := time.Now()
					_, err := (&http.Client{Transport: transport}).Do(req)
					require.ErrorIs(t, err, backoff.ErrNoSlot)
					require.Equal(t, test.want, time.Since(start))
					if test.cancel > 0 {
						require.ErrorIs(t, err, context.Canceled)
						require.ErrorIs(t, err, errGone)
					}
					require.True(t, closed.Load())
					require.Equal(t, []int{0}, done)
					require.Zero(t, *sent)
				})
			})
		}
	}
}

// A request whose context has ended is not sent, and takes no slot. The error has the context's cause.
func TestEndedContext(t *testing.T) {
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	for _, slots := range []*backoff.Slots{nil, backoff.NewSlots(1)} {
		for _, getBody := range []bool{true, false} {
			var closed atomic.Bool
			transport, sent := counted(nil)
			transport.Slots = slots
			transport.Budget = &backoff.Budget{Capacity: 100}
			var done []int
			var end error
			transport.Done = func(_ *http.Request, attempts int, err error) {
				done = append(done, attempts)
				end = err
			}
			req := newRequest(t, "PUT", "http://localhost", "body").WithContext(ctx)
			req.Body = closing{&closed}
			if !getBody {
				req.GetBody = nil
			}
			_, err := transport.RoundTrip(req)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errGone)
			require.NotErrorIs(t, err, backoff.ErrNoSlot)
			require.Equal(t, end, err)
			require.True(t, closed.Load())
			require.Equal(t, []int{0}, done)
			require.Zero(t, *sent)
			require.Equal(t, 100, transport.Budget.Tokens())
		}
	}
}

// A slot comes back after a panic in any function.
func TestSlotPanic(t *testing.T) {
	bug := func() { panic("bug") }
	for name, change := range map[string]func(*httpretry.Transport){
		"Base": func(t *httpretry.Transport) {
			t.Base = baseFunc(func(*http.Request) (*http.Response, error) { bug(); return nil, nil })
		},
		"Policy":     func(t *httpretry.Transport) { t.Policy = func() backoff.BackOff { bug(); return nil } },
		"Idempotent": func(t *httpretry.Transport) { t.Idempotent = func(*http.Request) bool { bug(); return true } },
		"Retryable": func(t *httpretry.Transport) {
			t.Retryable = func(*http.Request, *http.Response, error) bool { bug(); return true }
		},
		"Notify": func(t *httpretry.Transport) { t.Notify = func(*http.Request, int, error, time.Duration) { bug() } },
		"Done":   func(t *httpretry.Transport) { t.Done = func(*http.Request, int, error) { bug() } },
	} {
		transport, _ := counted(func(*http.Request) (*http.Response, error) { return nil, io.EOF })
		transport.Slots = backoff.NewSlots(1)
		change(transport)
		require.PanicsWithValue(t, "bug", func() { _, _ = transport.RoundTrip(newRequest(t, "GET", "http://localhost", "")) }, name)
		require.Zero(t, transport.Slots.InUse(), name)
	}
}

// Without Slots there is a budget for each host. With them there is none, unless it is set.
func TestSlotsBudget(t *testing.T) {
	for _, test := range []struct {
		slots  *backoff.Slots
		budget *backoff.Budget
		want   int // attempts of ten requests
	}{
		{nil, nil, 10 + 5},
		{backoff.NewSlots(1), nil, 10 * 4},
		{backoff.NewSlots(1), new(backoff.Budget), 10 + 5},
	} {
		transport, sent := counted(func(*http.Request) (*http.Response, error) { return nil, io.EOF })
		transport.Slots = test.slots
		transport.Budget = test.budget
		for range 10 {
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.ErrorIs(t, err, io.EOF)
		}
		require.Equal(t, test.want, *sent)
	}
}

func TestMaxRetries(t *testing.T) {
	ten := func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10) }
	for _, test := range []struct {
		retries int
		policy  func() backoff.BackOff
		want    int // attempts
	}{
		{0, nil, 5},
		{0, ten, 11},
		{0, func() backoff.BackOff { return nil }, 5},
		{2, nil, 3},
		{2, ten, 3},
		{12, ten, 11},
		{7, func() backoff.BackOff { return nil }, 8},
		{-1, nil, 1},
		{-1, ten, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, sent := counted(func(*http.Request) (*http.Response, error) { return nil, io.EOF })
			transport.Policy = test.policy
			transport.MaxRetries = test.retries
			transport.Budget = &backoff.Budget{RetryCost: -1}
			var notified []int
			transport.Notify = func(_ *http.Request, attempt int, _ error, _ time.Duration) {
				notified = append(notified, attempt)
			}
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, test.want, *sent)
			require.Len(t, notified, test.want-1)
			for i, attempt := range notified {
				require.Equal(t, i+1, attempt)
			}
		})
	}
}

// A request that is never repeated calls Done, too.
func TestDoneOnce(t *testing.T) {
	for _, test := range []struct {
		answer any // a status or an error
		want   string
	}{
		{200, ""},
		{404, ""},
		{503, "503 Service Unavailable"},
		{io.EOF, "EOF"},
	} {
		transport, _ := counted(func(*http.Request) (*http.Response, error) {
			if err, ok := test.answer.(error); ok {
				return nil, err
			}
			return &http.Response{StatusCode: test.answer.(int), Body: http.NoBody}, nil
		})
		var done []string
		transport.Done = func(_ *http.Request, attempts int, err error) { done = append(done, fmt.Sprint(attempts, " ", err)) }
		req := newRequest(t, "PUT", "http://localhost", "body")
		req.GetBody = nil
		resp, err := transport.RoundTrip(req)
		if _, failed := test.answer.(error); failed {
			require.Equal(t, test.answer, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, test.answer, resp.StatusCode)
		}
		if test.want == "" {
			test.want = "<nil>"
		}
		require.Equal(t, []string{"1 " + test.want}, done)
	}
}

// The body of a response to an Upgrade can be written to.
func TestUpgrade(t *testing.T) {
	transport := &httpretry.Transport{Slots: backoff.NewSlots(1)}
	bubble(t, transport, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, err := http.NewResponseController(w).Hijack()
		require.NoError(t, err)
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buffer.ReadString('\n')
		io.WriteString(conn, line)
	}, func(t *testing.T, client *http.Client) {
		req := newRequest(t, "GET", "http://localhost", "")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.Zero(t, transport.Slots.InUse())

		_, err = io.WriteString(resp.Body.(io.Writer), "hello\n")
		require.NoError(t, err)
		echo, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(echo))
		require.NoError(t, resp.Body.Close())
	})
}

// A request whose Cancel channel is closed is not sent.
func TestCancelChannelFirst(t *testing.T) {
	canceled := make(chan struct{})
	close(canceled)
	transport, sent := counted(nil)
	var closed atomic.Bool
	req := newRequest(t, "PUT", "http://localhost", "body")
	req.Body = closing{&closed}
	req.Cancel = canceled //lint:ignore SA1019 it is what is tested
	_, err := transport.RoundTrip(req)
	require.True(t, strings.Contains(fmt.Sprint(err), "request canceled"))
	require.True(t, closed.Load())
	require.Zero(t, *sent)
}
