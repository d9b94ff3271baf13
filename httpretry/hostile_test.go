//go:build go1.25

package httpretry_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var hostile = flag.Duration("hostile", time.Second/2, "how long each part of TestHostile lasts")

// hostileTimeout is AttemptTimeout and BodyTimeout.
const hostileTimeout = 30 * time.Millisecond

// How many requests are sent at once, and how many have a slot. The others wait for one, and some get none.
const (
	hostileCalls = 50
	hostileSlots = 20
)

// payload is what the server answers to the request with this number.
func payload(id int) []byte { return bytes.Repeat([]byte(strconv.Itoa(id)+" "), id*7919%5000) }

func pick[T any](values ...T) T { return values[rand.IntN(len(values))] }

// connKey is the key of a request's connection in its context.
type connKey struct{}

// A hostileServer answers at random, in every way that it can think of.
type hostileServer struct {
	seen              sync.Map // the requests that must not be repeated, but after status 429
	requests, corrupt atomic.Int64
	doubled           atomic.Int64
}

func (s *hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	id, _ := strconv.Atoi(r.Header.Get("X-Id"))
	if r.Header.Get("X-Once") != "" {
		if _, again := s.seen.LoadOrStore(id, true); again {
			s.doubled.Add(1)
		}
	}
	if pick(true, true, false) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("X-Sum") != fmt.Sprint(crc32.ChecksumIEEE(body)) {
			s.corrupt.Add(1)
		}
	}

	select {
	case <-time.After(pick(0, 0, 0, 0, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)):
	case <-r.Context().Done():
		return
	}
	s.setHeader(w.Header(), r.ProtoMajor)
	s.answer(w, r, id)
}

// setHeader sets what a client of this package looks at.
func (s *hostileServer) setHeader(h http.Header, major int) {
	soon := time.Now().Add(pick(-time.Hour, 0, time.Second, time.Hour)).UTC()
	dates := pick(soon.Format(time.RFC850), soon.Format(http.TimeFormat))
	h.Set("Retry-After", pick("", "0", "1", "-1", "soon", "99999999999999999999", dates, dates))
	h.Set("Retry-After-Ms", pick("", "", "", "0.5", "3", "-5", "NaN", "Inf", "1e999", "0x1p60", "\u00a07"))
	h.Set("X-Should-Retry", pick("", "", "", "true", "false", "perhaps"))
	h["Date"] = pick(nil, []string{"today"}, []string{soon.Format(http.TimeFormat)})
	if major == 1 { // with HTTP/2 it sends GOAWAY, on which net/http has a data race: https://go.dev/issue/41234
		h.Set("Connection", pick("", "", "", "", "close"))
	}
}

// answer ends a request in one way or another.
func (s *hostileServer) answer(w http.ResponseWriter, r *http.Request, id int) {
	const none, half, noHTTP, stall = 0, 1, 2, 3
	answer := payload(id)
	status := pick(none, half, noHTTP, stall, 200, 200, 200, 204, 302, 400, 404, 408, 409, 429, 500, 501, 502, 503, 504, 599, 999)
	switch status {
	case none:
		panic(http.ErrAbortHandler)
	case half:
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)+1))
		w.Write(answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	case noHTTP:
		answerNoHTTP(w, r)
		return
	case stall:
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)+1))
		w.Write(answer)
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done(): // net/http does not always see that the client is gone
		}
		return
	case 429:
		s.seen.Delete(id) // nothing was done
	}
	w.WriteHeader(status)
	if status != 204 {
		w.Write(answer)
	}
}

// answerNoHTTP answers with no HTTP, or not much of it; over HTTP/2, with the end of the connection, now and then.
func answerNoHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		if rand.IntN(8) == 0 {
			r.Context().Value(connKey{}).(net.Conn).Close()
		}
		panic(http.ErrAbortHandler)
	}

	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(conn, pick(
		"",
		"HTTP/1.1 503",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"SSH-2.0\r\n",
		"HTTP/1.1 503 \r\nA"+strings.Repeat("a", 1<<16),
		strings.Repeat("HTTP/1.1 102 Wait\r\n\r\n", 9),
		"HTTP/1.1 503 Busy\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	))
}

// major returns the major version of a protocol such as "HTTP/1.1".
func major(protocol string) int { return int(protocol[len("HTTP/")] - '0') }

// newHostileServer starts a server that speaks the protocol alone.
func newHostileServer(protocol string) (*hostileServer, *httptest.Server) {
	handler := new(hostileServer)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Config.Protocols = only(major(protocol))
	server.Start()
	return handler, server
}

// A hostileClient sends what can be repeated and what cannot, and counts what becomes of it.
type hostileClient struct {
	http   http.Client
	url    string
	parent *counting // of all requests' contexts

	slots            *backoff.Slots
	inProgress, most atomic.Int64 // attempts

	attempts, good, cut, stalled, failed, refused, ended atomic.Int64
	corrupt, hung, tooMany                               atomic.Int64 // these must stay zero
}

// A hostileBase counts the attempts in progress.
type hostileBase struct {
	*http.Transport
	client *hostileClient
}

func (b hostileBase) RoundTrip(req *http.Request) (*http.Response, error) {
	now := b.client.inProgress.Add(1)
	defer b.client.inProgress.Add(-1)
	for highest := b.client.most.Load(); now > highest && !b.client.most.CompareAndSwap(highest, now); {
		highest = b.client.most.Load()
	}
	return b.Transport.RoundTrip(req)
}

func newHostileClient(url, protocol string, slots *backoff.Slots) *hostileClient {
	c := &hostileClient{
		url:    url,
		parent: newCounting(),
		slots:  slots,
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if rand.IntN(4) == 0 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http.Transport = &httpretry.Transport{
		Base: hostileBase{&http.Transport{
			DialContext:            dial,
			MaxIdleConnsPerHost:    50,
			MaxResponseHeaderBytes: 1 << 15,
			Protocols:              only(major(protocol)),
		}, c},
		AttemptTimeout: hostileTimeout,
		BodyTimeout:    hostileTimeout,
		Slots:          c.slots,
		MaxRetryAfter:  20 * time.Millisecond,
		MaxAttempts:    5,
		Policy: func() backoff.BackOff {
			short := backoff.WithInitialInterval(time.Millisecond)
			return backoff.NewExponentialBackOff(short, backoff.WithJitter(backoff.FullJitter))
		},
		Done: func(_ *http.Request, n int, err error) {
			c.attempts.Add(int64(n))
			if n > 5 || n > 0 && errors.Is(err, backoff.ErrNoSlot) {
				c.tooMany.Add(1)
			}
		},
	}
	return c
}

// request returns a request with a body, half of the time with a context that soon ends.
func (c *hostileClient) request(id int) (*http.Request, context.CancelFunc) {
	var ctx context.Context = c.parent
	cancel := context.CancelFunc(func() {})
	if pick(true, false) {
		ctx, cancel = context.WithTimeout(ctx, pick(time.Millisecond, 20*time.Millisecond, time.Second))
	}

	sent := payload(rand.IntN(1000))
	request, _ := http.NewRequestWithContext(ctx, pick("GET", "HEAD", "PUT", "POST", "POST"), c.url, bytes.NewReader(sent))
	request.Header.Set("X-Id", strconv.Itoa(id))
	request.Header.Set("X-Sum", fmt.Sprint(crc32.ChecksumIEEE(sent)))
	if request.Method == "POST" {
		request.Header.Set(pick("Idempotency-Key", "X-Once"), strconv.Itoa(id))
	}
	return request, cancel
}

func (c *hostileClient) send(t *testing.T, id int, protocol string) {
	request, cancel := c.request(id)
	defer cancel()
	stuck := time.AfterFunc(time.Minute, func() { c.hung.Add(1) })
	defer stuck.Stop()
	response, err := c.http.Do(request)
	if err != nil {
		ended := request.Context().Err()
		switch {
		case errors.Is(err, backoff.ErrNoSlot):
			c.refused.Add(1)
		case ended != nil && errors.Is(err, ended):
			c.ended.Add(1)
		default:
			c.failed.Add(1)
		}
		return
	}

	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	require.Equal(t, protocol, response.Proto)
	none := request.Method == "HEAD" || response.StatusCode == 204
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && request.Context().Err() == nil:
		c.stalled.Add(1)
	case err != nil:
		c.cut.Add(1)
	case none && len(body) == 0, bytes.Equal(body, payload(id)):
		c.good.Add(1)
	default:
		c.corrupt.Add(1)
	}
}

// TestHostile sends what can be repeated and what cannot to a hostile server. With -v it prints the counts.
func TestHostile(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol+"/number of slots", func(t *testing.T) {
			testHostile(t, protocol, backoff.NewSlots(hostileSlots), hostileSlots)
		})
		t.Run(protocol+"/slots without a number", func(t *testing.T) {
			testHostile(t, protocol, new(backoff.Slots), hostileCalls)
		})
	}
}

func testHostile(t *testing.T, protocol string, slots *backoff.Slots, atOnce int64) {
	before := runtime.NumGoroutine()
	handler, server := newHostileServer(protocol)
	client := newHostileClient(server.URL, protocol, slots)

	var ids atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range hostileCalls {
		group.Go(func() {
			longer := func() bool { return client.good.Load() == 0 && time.Since(start) < 5*time.Minute } // if the machine is busy
			for time.Since(start) < *hostile || longer() {
				client.send(t, int(ids.Add(1)), protocol)
			}
		})
	}
	group.Wait()
	client.http.CloseIdleConnections()
	server.Close()

	nothingLeft := func() bool { return runtime.NumGoroutine() <= before+1 } // +1: Eventually's
	require.Eventually(t, nothingLeft, 10*time.Second, 10*time.Millisecond, "goroutines are left")
	allEnded := func() bool { return client.parent.registered.Load() == 0 }
	require.Eventually(t, allEnded, 10*time.Second, 10*time.Millisecond, "contexts are left")

	t.Logf("%d requests, %d attempts, at most %d at once, %d seen by the server",
		ids.Load(), client.attempts.Load(), client.most.Load(), handler.requests.Load())
	t.Logf("%d whole answers, %d cut, %d stalled, %d failed, %d without a slot, %d ended by their context",
		client.good.Load(), client.cut.Load(), client.stalled.Load(), client.failed.Load(), client.refused.Load(), client.ended.Load())
	errors := client.cut.Load() + client.stalled.Load() + client.failed.Load() + client.refused.Load() + client.ended.Load()
	require.Equal(t, ids.Load(), client.good.Load()+errors+client.corrupt.Load(), "lost requests")
	require.LessOrEqual(t, client.most.Load(), atOnce, "attempts at once")
	require.Zero(t, client.slots.InUse(), "slots are left")
	require.Zero(t, client.slots.Waiting(), "calls are left in line")
	require.Zero(t, handler.corrupt.Load(), "corrupted requests")
	require.Zero(t, client.corrupt.Load(), "corrupted answers")
	require.Zero(t, handler.doubled.Load(), "sent twice though they must not be")
	require.Zero(t, client.hung.Load(), "took longer than a minute")
	require.Zero(t, client.tooMany.Load(), "more attempts than five, or some without a slot")
	require.Positive(t, client.good.Load())
}
