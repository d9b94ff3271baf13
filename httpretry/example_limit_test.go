package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"

	"example.com/backoff/httpretry"
)

// limited is a base that lets at most n attempts for each host be in flight, until their responses begin.
type limited struct {
	base  http.RoundTripper
	n     int
	hosts sync.Map // of chan struct{}, by the host's name
}

func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	places, _ := l.hosts.LoadOrStore(req.URL.Host, make(chan struct{}, l.n))
	semaphore := places.(chan struct{})

	select {
	case semaphore <- struct{}{}:
		defer func() { <-semaphore }()
		return l.base.RoundTrip(req)
	case <-req.Context().Done():
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, context.Cause(req.Context())
	}
}

// Over HTTP/2, where many requests share a connection, a semaphore for each host limits the attempts that are
// in flight. An attempt waits for its place no longer than AttemptTimeout.
func Example_limit() {
	var mu sync.Mutex
	inFlight, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inFlight += n
		most = max(most, inFlight)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		count(1)
		defer count(-1)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that are closed unused
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	client := &http.Client{
		Transport: &httpretry.Transport{
			Base: &limited{base: server.Client().Transport, n: 3},
		},
	}

	var group sync.WaitGroup
	for range 30 {
		group.Add(1)
		go func() {
			defer group.Done()
			resp, err := client.Get(server.URL)
			if err != nil {
				fmt.Println(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}()
	}
	group.Wait()

	fmt.Println("never more than three at once:", most <= 3)
	// Output:
	// never more than three at once: true
}
