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
	"strconv"
	"sync/atomic"
	"time"
)

const (
	workers  = 8 // of a server that is alone
	meanWork = 100 * time.Millisecond
	capacity = float64(workers) * float64(time.Second) / float64(meanWork) // requests per second
)

// row is a kind of server.
type row struct {
	title string
	heeds bool // it gives the work of clients up that have left
}

var rows = map[string]row{
	"fifo":    {"a queue that ignores cancellation", false},
	"context": {"a queue that heeds `r.Context()`", true},
}

// server is a server with its trouble. The oldest request that waits gets the next place.
type server struct {
	row
	places  chan struct{}
	trouble atomic.Value // string
}

func newServer(name string, workers int) *server {
	return &server{row: rows[name], places: make(chan struct{}, workers)}
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

	err := s.work(r.Context(), work)
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

// work does the work of one request.
func (s *server) work(ctx context.Context, work time.Duration) error {
	if !s.heeds {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.places }()

	if s.has(half) {
		work *= 2
	}
	return pause(ctx, work)
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

// serve is the argument that makes this program a server.
const serve = "serve"

// runServer prints its address, and serves until its input ends. Each line of that is a kind of trouble, which the
// server has from then on.
func runServer(name, number string, stdout, stderr io.Writer) int {
	workers, err := strconv.Atoi(number)
	if err != nil || rows[name].title == "" {
		fmt.Fprintln(stderr, "real: no such server")
		return 2
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(stderr, "real:", err)
		return 1
	}
	s := newServer(name, workers)
	go http.Serve(listener, s)

	fmt.Fprintln(stdout, listener.Addr())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		s.trouble.Store(input.Text())
	}
	return 0
}
