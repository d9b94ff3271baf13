package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// workTime is how long an answer to /report takes.
const workTime = 100 * time.Millisecond

// server is a handler that misbehaves: /busy, /limited, /slow and /dropped fail every other request, and /missing fails
// all. /news and /report do not fail, unless the server is down.
type server struct {
	http.ServeMux
	down     atomic.Bool  // every request is answered with 503
	requests atomic.Int64 // how many there were
	working  atomic.Int64 // how many requests of /report are in progress
	most     atomic.Int64 // the largest value of working
}

// newServer returns a server that is up.
func newServer() *server {
	s := new(server)
	s.HandleFunc("/news", answer)
	s.HandleFunc("/report", s.work)
	s.HandleFunc("/missing", http.NotFound)
	s.HandleFunc("/busy", everyOther(busy))
	s.HandleFunc("/limited", everyOther(limited))
	s.HandleFunc("/slow", everyOther(hang))
	s.HandleFunc("/dropped", everyOther(drop))
	return s
}

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.down.Load() {
		busy(w, r)
		return
	}
	s.ServeMux.ServeHTTP(w, r)
}

// work answers a request after a while.
func (s *server) work(w http.ResponseWriter, r *http.Request) {
	working := s.working.Add(1)
	defer s.working.Add(-1)
	for most := s.most.Load(); working > most && !s.most.CompareAndSwap(most, working); {
		most = s.most.Load()
	}

	time.Sleep(workTime)
	answer(w, r)
}

// everyOther returns a handler that lets fail answer the first request, the third, and so on.
func everyOther(fail http.HandlerFunc) http.HandlerFunc {
	var requests atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%2 == 1 {
			fail(w, r)
			return
		}
		answer(w, r)
	}
}

// answer answers a request as it should be.
func answer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "This is %s.\n", r.URL.Path)
}

func busy(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

func limited(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1") // in seconds
	w.WriteHeader(http.StatusTooManyRequests)
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
}

// drop breaks the connection in the middle of the answer.
func drop(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, "This is")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
