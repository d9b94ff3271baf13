package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// page is a page that misbehaves.
type page struct {
	path string
	does string                                   // what the server does, in words
	fail func(http.ResponseWriter, *http.Request) // what it does
	want error                                    // with which a call of it ends
}

// pages returns the pages that misbehave. Each fails the first request, the third, and so on.
func pages() []page {
	return []page{
		{
			path: "/busy",
			does: "answers every other request with 503",
			fail: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
			},
		},
		{
			path: "/limited",
			does: "answers every other request with 429 and Retry-After: 1",
			fail: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			},
		},
		{
			path: "/slow",
			does: "leaves every other request without an answer",
			fail: func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done() // until the client gives up
			},
		},
		{
			path: "/dropped",
			does: "drops the connection in the middle of every other answer",
			fail: drop,
		},
		{
			path: "/missing",
			does: "answers every request with 404",
			fail: http.NotFound,
			want: statusError(http.StatusNotFound),
		},
	}
}

// drop sends the first bytes of an answer, and then closes the connection.
func drop(w http.ResponseWriter, _ *http.Request) {
	const answer = "This is where the connection breaks."
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))

	fmt.Fprint(w, answer[:10])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// workTime is how long an answer to /report takes.
const workTime = 100 * time.Millisecond

// server is the handler of the pages that misbehave, and of /news and /report, which do not.
type server struct {
	mux      *http.ServeMux
	down     atomic.Bool  // every request is answered with 503
	requests atomic.Int64 // how many there were
	working  atomic.Int64 // how many requests of /report are in progress
	most     atomic.Int64 // the largest value of working
}

// newServer returns a server that is up.
func newServer() *server {
	s := &server{mux: http.NewServeMux()}
	s.mux.HandleFunc("/news", answer)
	s.mux.HandleFunc("/report", s.work)

	for _, p := range pages() {
		var requests atomic.Int64
		s.mux.HandleFunc(p.path, func(w http.ResponseWriter, r *http.Request) {
			odd := requests.Add(1)%2 == 1
			if odd || p.want != nil {
				p.fail(w, r)
				return
			}
			answer(w, r)
		})
	}
	return s
}

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.mux.ServeHTTP(w, r)
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

// answer answers a request as it should be.
func answer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "This is %s.\n", r.URL.Path)
}
