//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	workers  = 8
	meanWork = 100 * time.Millisecond
	capacity = float64(workers) * float64(time.Second) / float64(meanWork) // requests per second
)

// row is a kind of server.
type row struct {
	title string
	open  func() worker
}

// worker does the work of one request. It asks how long that takes when it begins with it.
type worker func(ctx context.Context, takes func() time.Duration) error

var rows = map[string]row{
	"fifo":    {"a queue that ignores cancellation", openQueue},
	"context": {"a queue that heeds `r.Context()`", openPlaces},
}

// openQueue returns workers that take requests from one queue in order, whether or not their clients still wait.
func openQueue() worker {
	type request struct {
		takes func() time.Duration
		done  chan struct{}
	}
	queue := make(chan request, 1_000_000)
	for range workers {
		go func() {
			for r := range queue {
				time.Sleep(r.takes())
				close(r.done)
			}
		}()
	}
	return func(_ context.Context, takes func() time.Duration) error {
		r := request{takes, make(chan struct{})}
		queue <- r
		<-r.done
		return nil
	}
}

// openPlaces returns workers of which the oldest request that still waits gets the next.
func openPlaces() worker {
	places := make(chan struct{}, workers)
	return func(ctx context.Context, takes func() time.Duration) error {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-places }()
		return pause(ctx, takes())
	}
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// server is a server with its trouble.
type server struct {
	do      worker
	trouble atomic.Value // string
}

func (s *server) has(kind string) bool { return s.trouble.Load() == kind }

// ServeHTTP works on a request, which says how long the work takes, and how long its answer takes besides.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	work, err1 := time.ParseDuration(query.Get("work"))
	besides, err2 := time.ParseDuration(query.Get("besides"))
	if err1 != nil || err2 != nil {
		http.Error(w, "how long?", http.StatusBadRequest)
		return
	}
	// Before the body is read, net/http does not notice that a client has left.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}

	err := s.do(r.Context(), func() time.Duration {
		if s.has(half) {
			return 2 * work
		}
		return work
	})
	if err == nil {
		err = pause(r.Context(), besides)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case s.has(fail) && rand.Float64() < failing:
		http.Error(w, "failed", http.StatusInternalServerError)
	}
}

// serve is the argument that makes this program a server.
const serve = "serve"

// runServer prints its address, and serves until its input ends. Each line of that is a kind of trouble, which the
// server has from then on.
func runServer(name string, stdout, stderr io.Writer) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
		return 1
	}
	s := &server{do: rows[name].open()}
	go http.Serve(listener, s)

	fmt.Fprintln(stdout, listener.Addr())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		s.trouble.Store(input.Text())
	}
	return 0
}
