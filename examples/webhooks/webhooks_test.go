//go:build go1.25

package webhooks_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/examples/memory"
	"example.com/backoff/examples/webhooks"
)

// A world is a queue in memory, and the server of all hosts, with what happened.
type world struct {
	start  time.Time
	client *http.Client
	due    chan *webhooks.Webhook
	err    error // of Done, if not nil

	mu       sync.Mutex
	requests map[string]int // by host
	dials    map[string]int
	done     map[string][]time.Duration // when they were delivered
	lost     map[string][]time.Duration // when they were given up
	kept     map[string][]time.Duration // when they were put off, to be due at once
}

func (w *world) Next(ctx context.Context) (*webhooks.Webhook, error) {
	select {
	case hook := <-w.due:
		return hook, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *world) PutOff(hook *webhooks.Webhook, wait time.Duration) error {
	if wait == 0 {
		w.note(w.kept, hook)
		return nil
	}
	time.AfterFunc(wait, func() { w.due <- hook })
	return nil
}

func (w *world) Done(hook *webhooks.Webhook) error {
	w.note(w.done, hook)
	return w.err
}

func (w *world) GiveUp(hook *webhooks.Webhook, _ error) error {
	w.note(w.lost, hook)
	return nil
}

func (w *world) note(times map[string][]time.Duration, hook *webhooks.Webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	host := strings.TrimPrefix(hook.URL, "http://")
	times[host] = append(times[host], time.Since(w.start))
}

// ServeHTTP is the server of all hosts. What they do is in their names.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests[r.Host]++
	w.mu.Unlock()
	io.Copy(io.Discard, r.Body)
	age := time.Since(w.start)
	switch {
	case r.Host == "hangs" && age < 10*time.Minute:
		<-r.Context().Done()
	case r.Host == "busy" && age < time.Minute:
		now := time.Now().Add(2 * time.Hour).UTC() // by a clock that is wrong
		rw.Header().Set("Date", now.Format(http.TimeFormat))
		rw.Header().Set("Retry-After", now.Add(20*time.Minute).Format(http.TimeFormat))
		rw.WriteHeader(http.StatusTooManyRequests)
	case r.Host == "away":
		http.Redirect(rw, r, "http://up", http.StatusFound)
	case r.Host == "year":
		rw.Header().Set("Retry-After", "31536000")
		rw.WriteHeader(http.StatusServiceUnavailable)
	default:
		io.WriteString(rw, strings.Repeat("thank you ", 1000))
	}
}

// run calls f in a synctest bubble, while webhooks are delivered. It returns what happened, and the error of Deliver.
func run(t *testing.T, f func(w *world)) (w *world, err error) {
	synctest.Test(t, func(t *testing.T) {
		w = &world{
			start:    time.Now(),
			due:      make(chan *webhooks.Webhook, 10000),
			requests: make(map[string]int),
			dials:    make(map[string]int),
			done:     make(map[string][]time.Duration),
			lost:     make(map[string][]time.Duration),
			kept:     make(map[string][]time.Duration),
		}
		network := memory.Listen()
		server := &http.Server{Handler: w}
		go server.Serve(network)
		defer server.Close()
		defer synctest.Wait() // until no connection is being made
		w.client = webhooks.NewClient(&http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host := strings.TrimSuffix(addr, ":80")
			if host == "down" {
				return nil, errors.New("down")
			}
			w.mu.Lock()
			w.dials[host]++
			w.mu.Unlock()
			return network.Dial(ctx, "", addr)
		}})
		defer w.client.CloseIdleConnections()

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- webhooks.Deliver(ctx, w.client, w) }()
		f(w)
		cancel()
		err = <-ended
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w, err
}

// hook puts a webhook to host into the queue.
func (w *world) hook(host string) {
	w.due <- &webhooks.Webhook{ID: "1", URL: "http://" + host, Body: []byte("{}")}
}

// A host that hangs, though most of the webhooks are for it, does not delay the others. What it missed comes when it is
// back. One that is busy is left alone for as long as it says.
func TestDeliver(t *testing.T) {
	w, err := run(t, func(w *world) {
		for range 100 {
			for range 3 {
				w.hook("hangs")
			}
			w.hook("up")
			w.hook("busy")
			time.Sleep(time.Second / 10)
		}
		time.Sleep(2 * time.Hour)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.lost)
	require.Len(t, w.done["hangs"], 300)

	require.Len(t, w.done["busy"], 100)
	require.Equal(t, 200, w.requests["busy"])
	require.GreaterOrEqual(t, w.done["busy"][0], 20*time.Minute)
	require.Less(t, w.done["busy"][99], 25*time.Minute)

	require.Equal(t, 100, w.requests["up"])
	require.Equal(t, 1, w.dials["up"])
	for n, at := range w.done["up"] {
		require.Equal(t, time.Duration(n)*time.Second/10, at)
	}
}

// A webhook is given up after some four days, if its host is down, or redirects. No host may ask for more than a day. What
// is no URL is given up at once.
func TestGiveUp(t *testing.T) {
	w, err := run(t, func(w *world) {
		for _, host := range []string{"down", "away", "year", "%"} {
			w.hook(host)
		}
		time.Sleep(20 * 24 * time.Hour)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.done)
	require.Equal(t, map[string]int{"away": 16, "year": 16}, w.requests)
	require.InDelta(t, 4*24, w.lost["away"][0].Hours(), 36)
	require.InDelta(t, 4*24, w.lost["down"][0].Hours(), 36)
	require.InDelta(t, 15*24, w.lost["year"][0].Hours(), 1)
	require.Zero(t, w.lost["%"][0])
}

// The end of the program is no failure of a webhook's.
func TestStop(t *testing.T) {
	w, err := run(t, func(w *world) {
		w.hook("hangs")
		time.Sleep(time.Second)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []time.Duration{time.Second}, w.kept["hangs"])
}

// An error of the queue ends all, and is returned.
func TestQueueError(t *testing.T) {
	full := errors.New("the disk is full")
	_, err := run(t, func(w *world) {
		w.err = full
		w.hook("up")
		time.Sleep(time.Second)
	})
	require.Equal(t, full, err)
}
