package compat_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The files *_cases_test.go ask httpretry, grpcretry and sqlretry what the tests of other Go libraries ask
// of these. A case that can be asked is a row of a table. It has the name of the other library's test, and
// what is new in it; the code is our own.

// Why httpretry does something else than a peer. Other reasons stand in their rows.
const (
	notBlindly     = "a POST is not repeated blindly"
	notBuffered    = "a body is not read into memory; GetBody says how to send it again"
	headerStays    = "the caller's header stays; the Base changes a copy"
	bothErrors     = "the error has the last failure, too"
	answeredAtOnce = "a response is returned rather than a wait that outlasts the deadline"
	oneLastError   = "the last error comes back, not all of them"
)

// tally counts the rows of a table, so that the comment above the table stays true.
type tally struct {
	same    int // we do what the peer does
	differs int // on purpose
}

// add counts a row with a reason to differ, or none.
func (t *tally) add(differs string) {
	if differs == "" {
		t.same++
	} else {
		t.differs++
	}
}

// An httpCase is a request, or several, that httpretry sends to a server, and what comes of it. Time is
// simulated and exact.
type httpCase struct {
	name    string
	differs string // why, in a few words; empty if httpretry does what the peer does

	method   string // of the request; empty means GET
	path     string
	body     string
	header   http.Header
	prepare  func(req *http.Request)
	together int           // how many such requests are sent at once; 0 means one
	times    int           // how many are sent one after the other; 0 means one
	deadline time.Duration // of the request's context; 0 means none
	cancel   time.Duration // when the context is canceled; 0 means never, negative before the request is sent
	timeout  time.Duration // of the http.Client; 0 means none

	retries int           // at most, after constant waits of wait
	wait    time.Duration // before each retry
	policy  func() backoff.BackOff
	setup   func(transport *httpretry.Transport)
	client  func(client *http.Client)

	server string      // what each attempt meets; see caseServer; empty if the Base is another one
	reply  http.Header // of each response
	https  bool        // with a certificate that the client does not know

	attempts int
	elapsed  time.Duration // exact, or with upTo at least
	upTo     time.Duration // 0 if elapsed is exact
	status   int           // of the response that comes back; 0 means an error
	err      error         // that the error matches; nil means any
	text     string        // a part of the error's text
	check    func(t *testing.T, o *httpOutcome)
}

// An httpOutcome is what a case brought.
type httpOutcome struct {
	server  *caseServer
	client  *http.Client
	request *http.Request // the caller's, the last one
	replies []httpReply
	waits   []time.Duration
	done    []error // that Transport.Done received
}

// An httpReply is what came back to the caller of one request.
type httpReply struct {
	status int // 0 if there is no response
	body   string
	err    error // instead of a response, or of reading it
}

// runHTTPCases runs a table, and counts its rows.
func runHTTPCases(t *testing.T, want tally, cases []httpCase) {
	var got tally
	for _, c := range cases {
		got.add(c.differs)
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, c.run)
		})
	}
	require.Equal(t, want, got, "the counts in the comment above this table, and here")
}

func (c httpCase) run(t *testing.T) {
	o := c.start(t)
	start := time.Now()
	for range max(c.times, 1) {
		c.sendTogether(t, o)
	}
	elapsed := time.Since(start)
	synctest.Wait() // until the server has seen what was cut off

	require.Equal(t, c.attempts, o.server.attempts, "attempts")
	require.GreaterOrEqual(t, elapsed, c.elapsed, "simulated time")
	require.LessOrEqual(t, elapsed, max(c.elapsed, c.upTo), "simulated time")
	for _, r := range o.server.received {
		if r.Method == o.request.Method { // otherwise it is a redirect
			require.Equal(t, c.body, r.body, "the body is sent whole each time")
		}
	}
	for _, r := range o.replies {
		c.checkReply(t, o, r)
	}
	if c.check != nil {
		c.check(t, o)
	}
}

// start makes the server, and the client that the case asks for.
func (c httpCase) start(t *testing.T) *httpOutcome {
	server := newCaseServer(c)
	t.Cleanup(server.stop)
	o := &httpOutcome{server: server}
	transport := &httpretry.Transport{
		Base:   server,
		Budget: &backoff.Budget{RetryCost: -1},
		Policy: c.policyOrConstant, // which limits the retries, too

		MaxRetries: math.MaxInt,
		Notify: func(_ *http.Request, _ int, _ error, wait time.Duration) {
			server.locked(func() { o.waits = append(o.waits, wait) })
		},
		Done: func(_ *http.Request, _ int, err error) {
			server.locked(func() { o.done = append(o.done, err) })
		},
	}
	if c.setup != nil {
		c.setup(transport)
	}

	o.client = &http.Client{Transport: transport, Timeout: c.timeout}
	if c.client != nil {
		c.client(o.client)
	}
	return o
}

func (c httpCase) policyOrConstant() backoff.BackOff {
	if c.policy != nil {
		return c.policy()
	}
	return backoff.WithMaxRetries(backoff.NewConstantBackOff(c.wait), uint64(c.retries))
}

// sendTogether sends the requests that are sent at once, and collects what comes back.
func (c httpCase) sendTogether(t *testing.T, o *httpOutcome) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	switch {
	case c.cancel > 0:
		defer time.AfterFunc(c.cancel, cancel).Stop()
	case c.cancel < 0:
		cancel()
	}

	var group sync.WaitGroup
	for range max(c.together, 1) {
		req := c.request(ctx, t)
		header := req.Header.Clone()
		o.request = req
		group.Go(func() {
			r := send(o.client, req)
			o.server.locked(func() { o.replies = append(o.replies, r) })
		})
		defer func() {
			req.Header.Del("Cookie") // which the client's Jar adds
			require.Equal(t, header, req.Header, "the caller's header")
		}()
	}
	group.Wait()
}

// send sends a request, and reads the response to its end.
func send(client *http.Client, req *http.Request) httpReply {
	resp, err := client.Do(req)
	if err != nil {
		return httpReply{err: err}
	}
	body, err := io.ReadAll(resp.Body)
	return httpReply{status: resp.StatusCode, body: string(body), err: errors.Join(err, resp.Body.Close())}
}

// checkReply compares what came back with what must come back. A response is the last attempt's, unread.
func (c httpCase) checkReply(t *testing.T, o *httpOutcome, r httpReply) {
	require.Equal(t, c.status, r.status, "%v", r.err)
	if c.status != 0 && c.err == nil {
		require.NoError(t, r.err)
		if c.method != "HEAD" && len(o.replies) == 1 {
			require.True(t, strings.HasPrefix(r.body, fmt.Sprint("answer ", o.server.attempts)), r.body)
		}
		return
	}

	require.ErrorContains(t, r.err, c.text)
	if c.err != nil {
		require.ErrorIs(t, r.err, c.err)
	}
}

func (c httpCase) request(ctx context.Context, t *testing.T) *http.Request {
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	address := "http://www.example.com" + c.path
	if c.https {
		address = "https://www.example.com" + c.path
	}

	req, err := http.NewRequestWithContext(ctx, c.method, address, body)
	require.NoError(t, err)
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	if c.prepare != nil {
		c.prepare(req)
	}
	return req
}

// A caseServer is a server with an http.Transport of its own, in memory. What each attempt meets is a word:
//
//	500       that status, and the body "answer 3" for the third attempt; 307 with a Location
//	2s:500    the same after two seconds
//	refused   no connection
//	unknown   no such host
//	cut       the connection is closed after the request
//	drip      200, and a byte of the body a second
//	big       200, and a body of 100 KiB
//
// The last word is for all attempts that follow.
type caseServer struct {
	words    []string
	reply    http.Header
	base     *http.Transport
	listener caseListener
	server   *http.Server

	mu       sync.Mutex
	attempts int
	received []received
	log      []string // that a case keeps
}

// received is a request as the server received it.
type received struct {
	*http.Request
	body string
}

type wordKey struct{}

func newCaseServer(c httpCase) *caseServer {
	s := &caseServer{words: strings.Fields(c.server), reply: c.reply, listener: newCaseListener()}
	s.base = &http.Transport{DialContext: s.dial, DisableKeepAlives: true}
	s.server = &http.Server{ErrorLog: log.New(io.Discard, "", 0)}
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			s.locked(func() { s.received = append(s.received, received{r, string(body)}) })
			s.answer(w, r)
		}
	})

	var listener net.Listener = s.listener
	if c.https {
		certified := httptest.NewUnstartedServer(nil)
		certified.StartTLS()
		certified.Close()
		listener = tls.NewListener(listener, certified.TLS)
	}
	go s.server.Serve(listener)
	return s
}

func (s *caseServer) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// stop ends the server. What is left behind then fails the test.
func (s *caseServer) stop() { s.server.Close() }

// RoundTrip sends an attempt, with its word in the context for dial and in the header for the server.
func (s *caseServer) RoundTrip(req *http.Request) (*http.Response, error) {
	var word, number string
	s.locked(func() {
		word = s.words[min(s.attempts, len(s.words)-1)]
		s.attempts++
		number = strconv.Itoa(s.attempts)
	})

	req = req.Clone(context.WithValue(req.Context(), wordKey{}, word))
	req.Header["Answer"] = []string{word, number}
	return s.base.RoundTrip(req)
}

func (s *caseServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	switch ctx.Value(wordKey{}) {
	case "refused":
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	case "unknown":
		err := &net.DNSError{Err: "no such host", Name: "www.example.com", IsNotFound: true}
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}

	client, server := net.Pipe()
	select {
	case s.listener.conns <- server:
		return client, nil
	case <-s.listener.closed:
		return nil, net.ErrClosed
	}
}

func (s *caseServer) answer(w http.ResponseWriter, r *http.Request) {
	word, number := r.Header["Answer"][0], r.Header["Answer"][1]
	if delay, after, found := strings.Cut(word, ":"); found {
		wait, _ := time.ParseDuration(delay)
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
		word = after
	}

	maps.Copy(w.Header(), s.reply)
	switch word {
	case "cut":
		panic(http.ErrAbortHandler)
	case "drip":
		drip(w, r)
	case "big":
		io.WriteString(w, "answer "+number+strings.Repeat(".", 100<<10))
	default:
		status, _ := strconv.Atoi(word)
		if status/100 == 3 {
			w.Header().Set("Location", "/next")
		}
		w.WriteHeader(status)
		io.WriteString(w, "answer "+number)
	}
}

// drip sends the header immediately, and then a byte a second until the client has gone.
func drip(w http.ResponseWriter, r *http.Request) {
	for {
		io.WriteString(w, ".")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return
		}
	}
}

// A caseListener is a listener whose connections are pipes in memory.
type caseListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newCaseListener() caseListener { return caseListener{make(chan net.Conn), make(chan struct{})} }

func (l caseListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l caseListener) Close() error {
	close(l.closed)
	return nil
}

func (l caseListener) Addr() net.Addr { return new(net.UnixAddr) }

// A caseBase is a Base as a function.
type caseBase func(*http.Request) (*http.Response, error)

func (f caseBase) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// failingWith returns a setup whose Base counts the attempts and returns err.
func failingWith(err error) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) {
		server := transport.Base.(*caseServer)
		transport.Base = caseBase(func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				req.Body.Close()
			}
			server.locked(func() { server.attempts++ })
			return nil, err
		})
	}
}

// retryIf returns a setup with a Retryable.
func retryIf(retryable func(req *http.Request, resp *http.Response, err error) bool) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) { transport.Retryable = retryable }
}

// retryStatuses is a rule of several peers: these statuses, and nothing else.
func retryStatuses(statuses ...int) func(*httpretry.Transport) {
	return retryIf(func(_ *http.Request, resp *http.Response, _ error) bool {
		for _, status := range statuses {
			if resp != nil && resp.StatusCode == status {
				return true
			}
		}
		return false
	})
}

// attemptTimeout returns a setup with an AttemptTimeout.
func attemptTimeout(timeout time.Duration) func(*httpretry.Transport) {
	return func(transport *httpretry.Transport) { transport.AttemptTimeout = timeout }
}

// addressed replaces the address of a request.
func addressed(address string) func(*http.Request) {
	return func(req *http.Request) { req.URL, _ = url.Parse(address) }
}

// rewindless takes away what makes it possible to send the body again.
func rewindless(req *http.Request) { req.GetBody = nil }

// isTimeout checks that the error says that it is a timeout.
func isTimeout(t *testing.T, o *httpOutcome) {
	var timeout net.Error
	err := o.replies[0].err
	require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "%v", err)
}
