//go:build go1.25

package httpretry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// AttemptTimeout limits silence: a server that receives a long body slowly is waited for, one that stops is not.
func TestLongUpload(t *testing.T) {
	const second = 128 << 10 // bytes
	for _, major := range []int{1, 2} {
		for _, stops := range []bool{false, true} {
			t.Run(fmt.Sprint("HTTP ", major, "/", stops), func(t *testing.T) {
				var requests, received atomic.Int32
				transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: threeRetries}
				bubbleOver(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					buffer := make([]byte, second)
					for {
						n, err := io.ReadFull(r.Body, buffer)
						all := received.Add(int32(n))
						if err != nil {
							break
						}
						if stops && all%(20*second) == 0 {
							time.Sleep(time.Minute)
							return
						}
						time.Sleep(time.Second)
					}
				}, func(t *testing.T, client *http.Client) {
					start := time.Now()
					resp, err := client.Do(newRequest(t, "PUT", "http://localhost", strings.Repeat("x", 60*second)))
					if stops {
						require.ErrorIs(t, err, os.ErrDeadlineExceeded)
						require.Contains(t, err.Error(), "no response within 10s, attempt 4")
						require.EqualValues(t, 4, requests.Load())
						time.Sleep(time.Minute) // until the handlers have ended
						return
					}
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.EqualValues(t, 1, requests.Load())
					require.EqualValues(t, 60*second, received.Load())
					require.Equal(t, time.Minute, time.Since(start))
				})
			})
		}
	}
}

// The timeout begins again when the request is written, and not later.
func TestTimeoutAfterUpload(t *testing.T) {
	for answer, want := range map[time.Duration]int{9 * time.Second: 1, 11 * time.Second: 4} {
		requests := 0
		transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: threeRetries}
		bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
			requests++
			io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(answer):
			case <-r.Context().Done():
			}
		}, func(t *testing.T, client *http.Client) {
			req := newRequest(t, "PUT", "http://localhost", "")
			req.ContentLength = -1
			req.GetBody = func() (io.ReadCloser, error) { return &slowBody{512, 9 * time.Second, new(atomic.Int32)}, nil }
			req.Body, _ = req.GetBody()
			resp, err := client.Do(req)
			require.Equal(t, want == 1, err == nil)
			if err == nil {
				require.NoError(t, resp.Body.Close())
			}
		})
		require.Equal(t, want, requests)
	}
}

// A shared is the one reader of all bodies of a request, as in the clients of some APIs.
type shared struct {
	*bytes.Reader
	pause time.Duration // of a Read
	reads atomic.Int32  // in progress
}

func (s *shared) Read(p []byte) (int, error) {
	if s.reads.Add(1) > 1 {
		panic("two Reads at once")
	}
	defer s.reads.Add(-1)
	time.Sleep(s.pause)
	return s.Reader.Read(p[:min(100, len(p))])
}

func (s *shared) getBody() (io.ReadCloser, error) {
	if s.reads.Load() > 0 {
		panic("GetBody during a Read")
	}
	_, err := s.Seek(0, io.SeekStart)
	return io.NopCloser(s), err
}

// A body is read by one attempt at a time, even if its GetBody seeks one reader, and the server answers before it
// has received the body.
func TestSharedReader(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789"), 1000)
	for _, major := range []int{1, 2} {
		for _, pause := range []time.Duration{0, time.Millisecond, 90 * time.Millisecond} {
			t.Run(fmt.Sprint("HTTP ", major, "/", pause), func(t *testing.T) {
				requests := 0
				var received []byte
				transport := &httpretry.Transport{Policy: threeRetries}
				bubbleOver(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
					requests++
					if requests < 4 {
						io.ReadFull(r.Body, make([]byte, 50*requests))
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					received, _ = io.ReadAll(r.Body)
				}, func(t *testing.T, client *http.Client) {
					body := &shared{Reader: bytes.NewReader(sent), pause: pause}
					req := newRequest(t, "POST", "http://localhost", "")
					req.ContentLength = int64(len(sent))
					req.GetBody = body.getBody
					req.Body, _ = body.getBody()
					resp, err := client.Do(req)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, http.StatusOK, resp.StatusCode)
					require.Equal(t, 4, requests)
					require.True(t, bytes.Equal(sent, received))
				})
			})
		}
	}
}

// An attempt that has been given up reads nothing more of the request's body.
func TestBodyAfterAttempt(t *testing.T) {
	var bodies []io.ReadCloser
	transport, _ := counted(func(req *http.Request) (*http.Response, error) {
		bodies = append(bodies, req.Body)
		again, err := req.GetBody() // as net/http does that sends a request again by itself
		require.NoError(t, err)
		bodies = append(bodies, again)
		return &http.Response{StatusCode: 503}, nil
	})
	_, err := transport.RoundTrip(newRequest(t, "PUT", "http://localhost", "body"))
	require.NoError(t, err)
	require.Len(t, bodies, 8)
	for i, body := range bodies {
		got, err := io.ReadAll(body)
		if i < 6 {
			require.ErrorIs(t, err, http.ErrBodyReadAfterClose)
			continue
		}
		require.NoError(t, err, "the last attempt's")
		require.Equal(t, "body", string(got))
	}
}

// If an attempt had a connection, what looks like a failed dial does not mean that nothing was sent.
func TestDialAfterConnection(t *testing.T) {
	for _, connected := range []bool{false, true} {
		transport, sent := counted(func(req *http.Request) (*http.Response, error) {
			if connected {
				httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
			}
			return nil, errDial
		})
		_, err := transport.RoundTrip(newRequest(t, "POST", "http://localhost", "body"))
		require.Equal(t, errDial, err)
		require.Equal(t, !connected, *sent == 4)
	}
}

// An obstinateBody is a response's body that does what it can to be in the way.
type obstinateBody struct {
	read, close func() error
}

func (b obstinateBody) Read([]byte) (int, error) { return 0, b.read() }
func (b obstinateBody) Close() error             { return b.close() }

// What is dropped ends within 100 ms, whatever its body does.
func TestObstinateBody(t *testing.T) {
	hang := func() error {
		time.Sleep(time.Hour)
		return io.EOF
	}
	nothing := func() error { return nil }
	for name, body := range map[string]func(closed chan struct{}) obstinateBody{
		"read until closed": func(closed chan struct{}) obstinateBody {
			return obstinateBody{func() error { <-closed; return io.EOF }, func() error { close(closed); return nil }}
		},
		"read":           func(chan struct{}) obstinateBody { return obstinateBody{hang, nothing} },
		"close":          func(chan struct{}) obstinateBody { return obstinateBody{func() error { return io.EOF }, hang} },
		"read and close": func(chan struct{}) obstinateBody { return obstinateBody{hang, hang} },
		"endless": func(chan struct{}) obstinateBody {
			return obstinateBody{func() error { time.Sleep(time.Millisecond); return nil }, nothing}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport, sent := counted(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 503, Body: body(make(chan struct{}))}, nil
				})
				transport.Budget = &backoff.Budget{RetryCost: -1}
				start := time.Now()
				_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
				require.NoError(t, err)
				require.Equal(t, 4, *sent)
				require.Equal(t, 3*100*time.Millisecond, time.Since(start))

				ctx, cancel := context.WithTimeout(t.Context(), 350*time.Millisecond)
				defer cancel()
				transport.Policy = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
				start = time.Now()
				_, err = transport.RoundTrip(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 350*time.Millisecond, time.Since(start))
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// A panic of a dropped body is the caller's to recover from.
func TestBodyPanic(t *testing.T) {
	transport, _ := counted(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Body: obstinateBody{func() error { panic("bug") }, func() error { return nil }}}, nil
	})
	require.PanicsWithValue(t, "bug", func() { _, _ = transport.RoundTrip(newRequest(t, "GET", "http://localhost", "")) })
}

// A proxy that refuses to serve the client will do so again.
func TestProxyRefusal(t *testing.T) {
	for status, want := range map[int]int{403: 1, 407: 1, 503: 4, 200: 4} {
		requests := 0
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(status)
		}))
		address, err := url.Parse(proxy.URL)
		require.NoError(t, err)
		base := &http.Transport{Proxy: http.ProxyURL(address)}
		transport := &httpretry.Transport{Base: base, Policy: threeRetries}
		_, err = transport.RoundTrip(newRequest(t, "GET", "https://example.com", ""))
		require.Error(t, err)
		require.Equal(t, want, requests, "status %d: %v", status, err)
		proxy.Close()
	}
}

// A token that can no longer be refreshed is no reason to try again.
func TestInvalidGrant(t *testing.T) {
	for text, want := range map[string]int{
		`oauth2: "invalid_grant" "Token has been expired or revoked."`:                          1,
		"oauth2: cannot fetch token: 400 Bad Request\nResponse: {\"error\": \"invalid_grant\"}": 1,
		"oauth2: cannot fetch token: 503 Service Unavailable\nResponse: busy":                   4,
		`malformed HTTP response "invalid_grant"`:                                               4,
	} {
		transport, sent := counted(func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("token: %w", errors.New(text))
		})
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.Error(t, err)
		require.Equal(t, want, *sent, text)
	}
}

// pooledBody is read until its request's context ends, and for a while longer. Like a pooled reader, it must not be
// closed meanwhile.
type pooledBody struct {
	ctx              context.Context
	reading          atomic.Bool
	closed, tooEarly bool
}

func (b *pooledBody) Read([]byte) (int, error) {
	b.reading.Store(true)
	defer b.reading.Store(false)
	<-b.ctx.Done()
	time.Sleep(50 * time.Millisecond)
	return 0, b.ctx.Err()
}

func (b *pooledBody) Close() error {
	b.closed, b.tooEarly = true, b.reading.Load()
	return nil
}

// A dropped body is not closed while it is read, if the end of its context ends the Read.
func TestDropReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []*pooledBody
		transport, _ := counted(func(req *http.Request) (*http.Response, error) {
			bodies = append(bodies, &pooledBody{ctx: req.Context()})
			return &http.Response{StatusCode: 503, Body: bodies[len(bodies)-1]}, nil
		})
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, body := range bodies[:len(bodies)-1] { // the last one is the caller's
			require.True(t, body.closed)
			require.False(t, body.tooEarly)
		}
	})
}

// A request that cannot be sent again ends as others do: its error matches that of its context, and no response is
// an error.
func TestSentOnce(t *testing.T) {
	boss := errors.New("boss")
	ctx, cancel := context.WithCancelCause(t.Context())
	bases := map[string]func(*http.Request) (*http.Response, error){
		"cancelled":   func(*http.Request) (*http.Response, error) { cancel(boss); return nil, context.Cause(ctx) },
		"no response": func(*http.Request) (*http.Response, error) { return nil, nil },
	}
	for name, want := range map[string][]error{"no response": nil, "cancelled": {boss, context.Canceled}} {
		transport, sent := counted(bases[name])
		var done error
		transport.Done = func(_ *http.Request, attempts int, err error) {
			require.Equal(t, 1, attempts)
			done = err
		}
		req := newRequest(t, "POST", "http://localhost", "body")
		req.GetBody = nil
		if name == "cancelled" {
			req = req.WithContext(ctx)
		}
		_, err := transport.RoundTrip(req)
		require.Equal(t, 1, *sent)
		require.Error(t, err, name)
		require.Equal(t, done, err)
		for _, target := range want {
			require.ErrorIs(t, err, target)
		}
	}
}
