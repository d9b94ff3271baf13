package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"example.com/backoff/httpretry"
)

// limited is a RoundTripper that lets at most n requests for each host be in progress, with their retries and
// waits, until their responses begin.
type limited struct {
	transport http.RoundTripper
	n         int
	hosts     sync.Map // of chan struct{}, by the host's name
}

// RoundTrip waits for a place for as long as the request's context lasts.
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	host, _ := l.hosts.LoadOrStore(req.URL.Host, make(chan struct{}, l.n))
	places := host.(chan struct{})

	select {
	case places <- struct{}{}:
		defer func() { <-places }()
		return l.transport.RoundTrip(req)
	case <-req.Context().Done():
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, context.Cause(req.Context())
	}
}

// A semaphore for each host, around the Transport, limits the requests that are in progress. The AttemptTimeout
// of a request starts when the request has its place.
func Example_limit() {
	var mu sync.Mutex
	inFlight, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inFlight += n
		most = max(most, inFlight)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		count(1)
		defer count(-1)
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &limited{transport: &httpretry.Transport{}, n: 3},
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
