package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var measureHTTP = flag.Bool("http", false, "measure bounds with net/http, which takes three minutes")

// The experiment is that of the simulation's arrivals, in real time.
const (
	httpRate     = 30.0 // requests per second that the server can do
	httpArrivals = 18.0 // calls that begin in a second
	httpPlaces   = 15   // half of what the server can do within the timeout
	httpTimeout  = time.Second
	httpDown     = 10 * time.Second // when the server goes down, and for how long
	httpClosing  = 2 * time.Minute  // when the last calls begin
	httpRest     = time.Minute      // that they have from then on
)

// httpBound is a way to bound what a program has under way. Zero means without.
type httpBound struct {
	name        string
	connections int // MaxConnsPerHost
	attempts    int // places for attempts, taken before their timeout begins
	slots       int // of a Retrier
}

var httpBounds = []httpBound{
	{name: "no bound"},
	{name: "MaxConnsPerHost 15", connections: httpPlaces},
	{name: "MaxConnsPerHost 7", connections: httpPlaces / 2},
	{name: "a place for each attempt, 15", attempts: httpPlaces},
	{name: "Retrier, 15 slots", slots: httpPlaces},
	{name: "Retrier, 15 slots, MaxConnsPerHost 15", connections: httpPlaces, slots: httpPlaces},
}

// TestHTTPBounds prints what bounds come to with net/http in real time, all side by side.
func TestHTTPBounds(t *testing.T) {
	if !*measureHTTP {
		t.Skip("without -http")
	}
	rows := make([][]string, len(httpBounds)+1)
	rows[0] = []string{"", "begun", "done", "slowest", "requests"}
	var all sync.WaitGroup
	for i, bound := range httpBounds {
		all.Go(func() { rows[i+1] = bound.measure(t) })
	}
	all.Wait()
	writeTable(os.Stdout, rows)
}

// measure returns a row of the table: what calls come to against a server of their own.
func (b httpBound) measure(t *testing.T) []string {
	server := newHTTPServer()
	defer server.Close()
	program := newHTTPProgram(b, server.URL)
	ctx, cancel := context.WithTimeout(context.Background(), httpClosing+httpRest)
	defer cancel()

	var calls sync.WaitGroup
	for time.Since(server.start) < httpClosing {
		time.Sleep(seconds(rand.ExpFloat64() / httpArrivals))
		program.begun.Add(1)
		calls.Go(func() { program.call(ctx) })
	}
	requests := server.requests.Load()
	calls.Wait()
	require.Positive(t, program.done.Load(), b.name)

	slowest := "–"
	if program.done.Load() == program.begun.Load() {
		slowest = fmt.Sprintf("%.0f s", time.Duration(program.slowest.Load()).Seconds())
	}
	return []string{b.name, fmt.Sprint(program.begun.Load()), fmt.Sprint(program.done.Load()), slowest, fmt.Sprint(requests)}
}

// httpServer works through its requests in order. Those whose clients have gone stay in its queue.
type httpServer struct {
	*httptest.Server
	start    time.Time
	queue    chan chan struct{} // each is closed when its request is done
	requests atomic.Int64
}

func newHTTPServer() *httpServer {
	s := &httpServer{start: time.Now(), queue: make(chan chan struct{}, 100_000)}
	s.Server = httptest.NewServer(s)
	go s.work()
	return s
}

func (s *httpServer) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	done := make(chan struct{})
	s.queue <- done
	select {
	case <-done:
	case <-r.Context().Done(): // the connection is closed; the work remains
	}
}

// work does one request after the other, until the server is closed.
func (s *httpServer) work() {
	for done := range s.queue {
		age := time.Since(s.start)
		if age > httpDown && age < 2*httpDown {
			time.Sleep(2*httpDown - age)
		}
		if age < httpClosing+httpRest {
			time.Sleep(seconds(rand.ExpFloat64() / httpRate))
		}
		close(done)
	}
}

// Close lets the requests that are left end, and then the server.
func (s *httpServer) Close() {
	s.Server.Close()
	close(s.queue)
}

// httpProgram begins calls that retry with the default policy.
type httpProgram struct {
	httpBound
	url    string
	client *http.Client
	places chan struct{}
	calls  backoff.Retrier

	begun, done atomic.Int64
	slowest     atomic.Int64 // time.Duration
}

func newHTTPProgram(b httpBound, url string) *httpProgram {
	p := &httpProgram{
		httpBound: b,
		url:       url,
		client: &http.Client{Transport: &http.Transport{
			MaxConnsPerHost:     b.connections,
			MaxIdleConnsPerHost: 100,
		}},
		places: make(chan struct{}, b.attempts),
		calls: backoff.Retrier{
			AttemptTimeout: httpTimeout,
			Policy:         func() backoff.BackOff { return backoff.NewExponentialBackOff() },
		},
	}
	if b.slots > 0 {
		p.calls.Slots = backoff.NewSlots(b.slots)
	}
	return p
}

// call retries until it succeeds or ctx ends. Its time counts from its arrival.
func (p *httpProgram) call(ctx context.Context) {
	arrived := time.Now()
	err := p.retry(ctx)
	if err != nil {
		return
	}
	p.done.Add(1)
	took := int64(time.Since(arrived))
	for old := p.slowest.Load(); took > old && !p.slowest.CompareAndSwap(old, took); {
		old = p.slowest.Load()
	}
}

func (p *httpProgram) retry(ctx context.Context) error {
	if p.attempts == 0 {
		return p.calls.Do(ctx, p.get)
	}
	return backoff.Retry(func() error {
		select {
		case p.places <- struct{}{}:
			defer func() { <-p.places }()
		case <-time.After(httpTimeout):
			return errNoPlace
		}
		return attempt(ctx, httpTimeout, p.get)
	}, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
}

// get sends a request.
func (p *httpProgram) get(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
