package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A page is a path on the server and the outcome that a client should see.
type page struct {
	path string
	url  string
	does string // what the server does, in words
	want error
	trap http.HandlerFunc // answers the first requests
	bad  int              // how many of them
}

var errNotFound = errors.New("404 Not Found")

func pages() []page {
	return []page{
		{path: "/plain", does: "answers immediately"},
		{path: "/busy", does: "answers the first three requests with 503", bad: 3, trap: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{path: "/limited", does: "answers the first with 429 and Retry-After: 1", bad: 1, trap: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		{path: "/slow", does: "does not answer the first", bad: 1, trap: func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done() // until the client times out
		}},
		{path: "/dropped", does: "cuts the connection of the first", bad: 1, trap: func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}},
		{path: "/missing", does: "has no such page", want: errNotFound, bad: 1000, trap: http.NotFound},
	}
}

// serve starts a server on a loopback port and sets the pages' URLs. The server runs until ctx is done.
func serve(ctx context.Context, pages []page) error {
	var mu sync.Mutex
	requests := map[string]int{}
	mux := http.NewServeMux()
	for _, p := range pages {
		mux.HandleFunc(p.path, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			requests[p.path]++
			n := requests[p.path]
			mu.Unlock()
			if n <= p.bad {
				p.trap(w, r)
				return
			}
			fmt.Fprintf(w, "This is %s, at request %d.\n", p.path, n)
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	context.AfterFunc(ctx, func() { server.Close() })
	for i := range pages {
		pages[i].url = "http://" + listener.Addr().String() + pages[i].path
	}
	return nil
}
