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
	soon := time.Now().Add(pick(-time.Hour, 0, time.Second, time.Hour)).UTC()
	h := w.Header()
	h.Set("Retry-After", pick("", "0", "1", "-1", "soon", "99999999999999999999", soon.Format(time.RFC850), soon.Format(http.TimeFormat)))
	h.Set("Retry-After-Ms", pick("", "", "", "0.5", "3", "-5", "NaN", "Inf", "1e999", "0x1p60", "\u00a07"))
	h.Set("X-Should-Retry", pick("", "", "", "true", "false", "perhaps"))
	if r.ProtoMajor == 1 { // with HTTP/2 it sends GOAWAY, on which net/http has a data race: https://go.dev/issue/41234
		h.Set("Connection", pick("", "", "", "", "close"))
	}
	h["Date"] = pick(nil, []string{"today"}, []string{soon.Format(http.TimeFormat)})
	answer := payload(id)
	switch status := pick(0, 1, 2, 200, 200, 200, 204, 302, 400, 404, 408, 409, 429, 500, 501, 502, 503, 504, 599, 999); status {
	case 0: // no answer
		panic(http.ErrAbortHandler)
	case 1: // half an answer
		h.Set("Content-Length", fmt.Sprint(len(answer)+1))
		w.Write(answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	case 2: // no HTTP, or not much of it; with HTTP/2, the end of the connection, now and then
		if r.ProtoMajor == 2 {
			if pick(true, false, false, false, false, false, false, false, false, false) {
				r.Context().Value(connKey{}).(net.Conn).Close()
			}
			panic(http.ErrAbortHandler)
		}
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			io.WriteString(conn, pick("", "HTTP/1.1 503", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "SSH-2.0\r\n", "HTTP/1.1 503 \r\nA"+strings.Repeat("a", 1<<16),
				strings.Repeat("HTTP/1.1 102 Wait\r\n\r\n", 9), "HTTP/1.1 503 Busy\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"))
			conn.Close()
		}
	case 204:
		w.WriteHeader(status)
	case 429:
		s.seen.Delete(id) // nothing was done
		w.WriteHeader(status)
		w.Write(answer)
	default:
		w.WriteHeader(status)
		w.Write(answer)
	}
}

// TestHostile sends what can be repeated and what cannot to a hostile server. With -v it prints the counts.
func TestHostile(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) { testHostile(t, protocol) })
	}
}

func testHostile(t *testing.T, protocol string) {
	before := runtime.NumGoroutine()
	handler := new(hostileServer)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(protocol == "HTTP/1.1")
	protocols.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
	server.Config.Protocols = protocols
	server.Start()
	base := &http.Transport{MaxIdleConnsPerHost: 50, MaxResponseHeaderBytes: 1 << 15, Protocols: protocols}
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if pick(true, false, false, false) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	var attempts, ended, failed, cut, good, corrupt, tooMany, late atomic.Int64
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &httpretry.Transport{
		Base: base, AttemptTimeout: 30 * time.Millisecond, MaxRetryAfter: 20 * time.Millisecond,
		Budget: &backoff.Budget{RetryCost: -1},
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Millisecond), backoff.WithJitter(backoff.FullJitter)), 4)
		},
		Done: func(_ *http.Request, n int, _ error) {
			attempts.Add(int64(n))
			if n > 5 {
				tooMany.Add(1)
			}
		},
	}}
	parent := &counting{Context: context.Background(), done: make(chan struct{})}
	send := func(id int) {
		var ctx context.Context = parent
		if pick(true, false) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, pick(time.Millisecond, 20*time.Millisecond, time.Second))
			defer cancel()
		}
		sent := payload(rand.IntN(1000))
		request, _ := http.NewRequestWithContext(ctx, pick("GET", "HEAD", "PUT", "POST", "POST"), server.URL, bytes.NewReader(sent))
		request.Header.Set("X-Id", strconv.Itoa(id))
		request.Header.Set("X-Sum", fmt.Sprint(crc32.ChecksumIEEE(sent)))
		if request.Method == "POST" {
			request.Header.Set(pick("Idempotency-Key", "X-Once"), strconv.Itoa(id))
		}
		response, err := client.Do(request)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				ended.Add(1)
			} else {
				failed.Add(1)
			}
			if request.Header.Get("X-Once") != "" && errors.Is(err, os.ErrDeadlineExceeded) {
				late.Add(1)
			}
			return
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.Equal(t, protocol, response.Proto)
		switch none := request.Method == "HEAD" || response.StatusCode == 204; {
		case err != nil:
			cut.Add(1)
		case none && len(body) == 0, bytes.Equal(body, payload(id)):
			good.Add(1)
		default:
			corrupt.Add(1)
		}
	}
	var ids atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range 50 {
		group.Go(func() {
			for time.Since(start) < *hostile || good.Load() == 0 && time.Since(start) < 5*time.Minute { // a busy machine needs longer
				send(int(ids.Add(1)))
			}
		})
	}
	group.Wait()
	base.CloseIdleConnections()
	server.Close()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, 10*time.Millisecond, "goroutines are left") // +1: Eventually's
	require.Eventually(t, func() bool { return parent.registered.Load() == 0 }, 10*time.Second, 10*time.Millisecond, "contexts are left")
	t.Logf("%d operations, %d attempts of those that may be repeated, %d requests seen: %d whole answers, %d cut, %d failed, %d ended by their context",
		ids.Load(), attempts.Load(), handler.requests.Load(), good.Load(), cut.Load(), failed.Load(), ended.Load())
	t.Logf("corrupted: %d requests, %d answers; sent twice though they must not be: %d; cut off though they must not be: %d; more than five attempts: %d",
		handler.corrupt.Load(), corrupt.Load(), handler.doubled.Load(), late.Load(), tooMany.Load())
	require.Zero(t, handler.corrupt.Load()+corrupt.Load()+handler.doubled.Load()+late.Load()+tooMany.Load())
	require.Positive(t, good.Load())
}
