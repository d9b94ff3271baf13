package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"example.com/backoff/httpretry"
)

var errNoPlace = errors.New("too many requests in progress")

// limited is a RoundTripper that lets at most n requests for each host be in progress, with their retries and
// waits, until their responses begin. Another request waits for its place for at most patience.
type limited struct {
	transport http.RoundTripper
	n         int
	patience  time.Duration
	hosts     sync.Map // of chan struct{}, by the host's name
}

// RoundTrip sends req once it has a place.
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	host, _ := l.hosts.LoadOrStore(req.URL.Host, make(chan struct{}, l.n))
	places := host.(chan struct{})

	select {
	case places <- struct{}{}:
		defer func() { <-places }()
		return l.transport.RoundTrip(req)
	case <-time.After(l.patience):
		closeBody(req)
		return nil, errNoPlace
	case <-req.Context().Done():
		closeBody(req)
		return nil, context.Cause(req.Context())
	}
}

// closeBody is for a request that is not sent.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// A semaphore for each host, around the Transport, limits the requests that are in progress. AttemptTimeout
// starts when a request has its place. Let the request's own deadline leave room for the wait and the attempts.
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
		Transport: &limited{
			transport: &httpretry.Transport{},
			n:         3,
			patience:  30 * time.Second,
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
