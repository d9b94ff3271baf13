package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// server misbehaves: /busy, /limited, /slow and /dropped fail at their first request, the third, and so on, /missing at
// all. /news and /report fail only while the server is down, or hangs.
type server struct {
	down     atomic.Bool
	hangs    atomic.Bool
	mu       sync.Mutex
	requests map[string]int // by path
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	s.mu.Lock()
	s.requests[path]++
	odd := s.requests[path]%2 == 1
	s.mu.Unlock()

	switch {
	case s.hangs.Load():
		<-r.Context().Done()
	case s.down.Load(), path == "/busy" && odd:
		w.WriteHeader(http.StatusServiceUnavailable)
	case path == "/limited" && odd:
		w.Header().Set("Retry-After", "1") // in seconds
		w.WriteHeader(http.StatusTooManyRequests)
	case path == "/slow" && odd:
		<-r.Context().Done() // until the client gives up
	case path == "/dropped" && odd:
		drop(w)
	case path == "/missing":
		http.NotFound(w, r)
	default:
		fmt.Fprintf(w, "This is %s.\n", path)
	}
}

// drop breaks the connection in the middle of an answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n")
	conn.Close()
}
