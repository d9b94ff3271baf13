//go:build go1.25

package httpretry_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// A body that is sent again is the same body, or the request ends before the server can take another one for it.
func TestChangedBody(t *testing.T) {
	const whole = "a body"
	for _, test := range []struct {
		name   string
		read   int    // bytes that the first attempt's server reads; the connection is cut then
		second string // the body of the second attempt
		known  bool   // its length
		want   string // the error, or the body that arrives
	}{
		{"the same", len(whole), whole, false, whole},
		{"the same, known", len(whole), whole, true, whole},
		{"drained", len(whole), "", false, "has changed: 0 bytes, and 6 in an earlier attempt"},
		{"drained, known", len(whole), "", true, "has changed: 0 bytes, and 6 in an earlier attempt"},
		{"longer", len(whole), whole + "!", false, "has changed: 7 bytes, and 6 in an earlier attempt"},
		{"shorter than what was read", 3, "a ", false, "has changed: 2 bytes, and"},
	} {
		for _, major := range []int{1, 2} {
			t.Run(fmt.Sprint(test.name, "/HTTP ", major), func(t *testing.T) {
				var arrived []string
				var requests atomic.Int32
				transport := &httpretry.Transport{Policy: noWaits}
				bubble(t, major, transport, func(_ http.ResponseWriter, r *http.Request) {
					if requests.Add(1) == 1 {
						io.ReadFull(r.Body, make([]byte, test.read))
						time.Sleep(time.Second) // until the client has read its body, if it can
						panic(http.ErrAbortHandler)
					}
					body, err := io.ReadAll(r.Body)
					if err == nil {
						arrived = append(arrived, string(body))
					}
				}, func(t *testing.T, client *http.Client) {
					req := newRequest(t, "PUT", "http://localhost", whole)
					req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(test.second)), nil }
					if !test.known {
						req.ContentLength = -1
					}
					resp, err := client.Do(req)
					time.Sleep(time.Second)
					synctest.Wait()
					if test.want == whole {
						require.NoError(t, err)
						require.NoError(t, resp.Body.Close())
						require.Equal(t, []string{whole}, arrived)
						return
					}
					require.Contains(t, fmt.Sprint(err), test.want)
					require.NotErrorIs(t, err, backoff.ErrRetriesExhausted)
					require.Empty(t, arrived)
					require.EqualValues(t, 2, requests.Load())
				})
			})
		}
	}
}

// A blockedBody is a request's body of which one byte comes. Then it blocks until it is closed, as a pipe does.
type blockedBody struct {
	read   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (b *blockedBody) Read(p []byte) (int, error) {
	if !b.read.Swap(true) {
		return 1, nil
	}
	<-b.closed
	return 0, io.EOF
}

func (b *blockedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// A body that net/http closes before its end has not changed, whatever its Read returns then.
func TestClosedBody(t *testing.T) {
	transport := &httpretry.Transport{Policy: noWaits}
	requests := 0
	bubble(t, 2, transport, func(w http.ResponseWriter, r *http.Request) {
		requests++
		if requests == 1 {
			r.Body.Read(make([]byte, 1))
			w.WriteHeader(503)
			return
		}
		io.Copy(io.Discard, r.Body)
	}, func(t *testing.T, client *http.Client) {
		req := newRequest(t, "PUT", "http://localhost", "a body")
		req.ContentLength = -1
		req.Body = &blockedBody{closed: make(chan struct{})}
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 200, resp.StatusCode)
	})
	require.Equal(t, 2, requests)
}

// Middleware may take the body from a request, and leave GetBody.
func TestBodyTaken(t *testing.T) {
	for _, none := range []io.ReadCloser{nil, http.NoBody} {
		transport, calls := counted(func(req *http.Request) (*http.Response, error) {
			require.Equal(t, none, req.Body)
			return &http.Response{StatusCode: 503}, nil
		})
		req := newRequest(t, "PUT", "http://localhost", "body")
		req.Body, req.ContentLength = none, 0
		_, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 4, *calls)
	}
}

// A GetBody that returns nil is a bug, which must not end the program in a goroutine of net/http's.
func TestGetBodyNil(t *testing.T) {
	transport, calls := answering(503)
	req := newRequest(t, "PUT", "http://localhost", "body")
	req.GetBody = func() (io.ReadCloser, error) { return nil, nil }
	_, err := transport.RoundTrip(req)
	require.EqualError(t, err, "http: the request's GetBody returned nil")
	require.Equal(t, 1, *calls)
}

func TestGetBodyError(t *testing.T) {
	errRewind := errors.New("rewind")
	transport, calls := counted(func(req *http.Request) (*http.Response, error) {
		_, err := req.GetBody() // as net/http, when it sends a request again by itself
		require.Same(t, errRewind, err)
		return &http.Response{StatusCode: 503}, nil
	})
	attempts := 0
	transport.Done = func(_ *http.Request, n int, _ error) { attempts = n }
	parent := newCounting()
	req := newRequest(t, "PUT", "http://localhost", "body").WithContext(parent)
	req.GetBody = func() (io.ReadCloser, error) { return nil, errRewind }
	_, err := transport.RoundTrip(req)
	require.Same(t, errRewind, err)
	require.Equal(t, 1, *calls)
	require.Equal(t, 1, attempts, "those that were made")
	require.Zero(t, parent.registered.Load())
}

// upgradeRequest returns a request for another protocol.
func upgradeRequest(t *testing.T) *http.Request {
	req := newRequest(t, "GET", "http://localhost", "")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	return req
}

// upgrade answers an upgradeRequest with status 101, and returns the connection.
func upgrade(t *testing.T, w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	require.NoError(t, err)
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	return conn, buffer
}

// The body of a response to an Upgrade can be written to, and has no limit.
func TestUpgrade(t *testing.T) {
	transport := &httpretry.Transport{
		AttemptTimeout: time.Second,
		BodyTimeout:    time.Second,
		Slots:          backoff.NewSlots(1),
	}
	bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer := upgrade(t, w)
		defer conn.Close()
		line, _ := buffer.ReadString('\n')
		time.Sleep(time.Hour)
		io.WriteString(conn, line)
	}, func(t *testing.T, client *http.Client) {
		parent := newCounting()
		resp, err := client.Do(upgradeRequest(t).WithContext(parent))
		require.NoError(t, err)
		require.Zero(t, transport.Slots.InUse())
		require.Zero(t, parent.registered.Load())

		_, err = io.WriteString(resp.Body.(io.Writer), "hello\n")
		require.NoError(t, err)
		echo, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(echo))
		require.NoError(t, resp.Body.Close())
	})
}

// The connection of a response to an Upgrade is closed if the caller does not get it.
func TestUpgradePanic(t *testing.T) {
	transport := &httpretry.Transport{Done: func(*http.Request, int, error) { panic("bug") }}
	var ended atomic.Bool
	bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer := upgrade(t, w)
		defer conn.Close()
		buffer.ReadByte()
		ended.Store(true)
	}, func(t *testing.T, _ *http.Client) {
		require.PanicsWithValue(t, "bug", func() { _, _ = transport.RoundTrip(upgradeRequest(t)) })
		synctest.Wait()
		require.True(t, ended.Load())
	})
}

// The body of a response that is not used is given up after a while, or after many bytes.
func TestEndlessBody(t *testing.T) {
	for name, test := range map[string]struct {
		pause time.Duration // between two bytes
		want  time.Duration // that three of these bodies take
	}{
		"slow": {time.Millisecond, 300 * time.Millisecond},
		"hung": {24 * time.Hour, 300 * time.Millisecond},
		"long": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, &httpretry.Transport{Policy: noWaits}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
				for r.Context().Err() == nil {
					if _, err := fmt.Fprint(w, "."); err != nil {
						return
					}
					if test.pause == 0 {
						continue
					}
					w.(http.Flusher).Flush()
					select {
					case <-time.After(test.pause):
					case <-r.Context().Done():
					}
				}
			}, func(t *testing.T, client *http.Client) {
				start := time.Now()
				resp, err := client.Get("http://localhost")
				require.NoError(t, err)
				require.Equal(t, test.want, time.Since(start))
				require.NoError(t, resp.Body.Close())
			})
		})
	}
}

// An obstinateBody is a response's body that does what it can to be in the way.
type obstinateBody struct{ read, close func() error }

func (b obstinateBody) Read([]byte) (int, error) { return 0, b.read() }
func (b obstinateBody) Close() error             { return b.close() }

// RoundTrip goes on within 100 ms, whatever the body does that it drops.
func TestObstinateBody(t *testing.T) {
	hang := func() error {
		time.Sleep(time.Hour)
		return io.EOF
	}
	end := func() error { return io.EOF }
	for name, body := range map[string]obstinateBody{
		"read":           {hang, end},
		"close":          {end, hang},
		"read and close": {hang, hang},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport, sent := counted(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 503, Body: body}, nil
				})
				start := time.Now()
				_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
				require.NoError(t, err)
				require.Equal(t, 4, *sent)
				require.Equal(t, 3*100*time.Millisecond, time.Since(start))

				ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
				defer cancel()
				start = time.Now()
				_, err = transport.RoundTrip(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 250*time.Millisecond, time.Since(start))
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// A panic of a dropped body is the caller's to recover from.
func TestBodyPanic(t *testing.T) {
	transport, _ := counted(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Body: obstinateBody{read: func() error { panic("bug") }}}, nil
	})
	require.PanicsWithValue(t, "bug", func() { _, _ = transport.RoundTrip(newRequest(t, "GET", "http://localhost", "")) })
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

// A dropped body is closed when its Read has returned.
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

// A response that is not used does not wait for a Read of the request's body that blocks.
func TestBlockedBody(t *testing.T) {
	for _, size := range []int{1, 64 << 10, 100 << 10, 1 << 20} {
		transport := &httpretry.Transport{Policy: noWaits}
		bubble(t, 2, transport, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			w.Write(make([]byte, size))
			w.(http.Flusher).Flush()
		}, func(t *testing.T, _ *http.Client) {
			stop := errors.New("stop")
			transport.Done = func(*http.Request, int, error) { panic(stop) } // so that the last one is not used either
			req := slowUpload(t, 1<<20, time.Hour)
			start := time.Now()
			require.PanicsWithValue(t, stop, func() { _, _ = transport.RoundTrip(req) })
			require.LessOrEqual(t, time.Since(start), 4*100*time.Millisecond, "%d bytes", size)
			time.Sleep(time.Hour) // until the Reads have ended
		})
	}
}

// foreign is a context of a type that package context does not know: it starts a goroutine for each
// context that is derived from it and has not ended.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }

// parents returns a context that counts those derived from it, and one by which a bubble finds them.
func parents() (*counting, []context.Context) {
	parent := newCounting()
	return parent, []context.Context{parent, foreign{context.Background(), make(chan struct{})}}
}

// Whatever an attempt ends with, it leaves no context and no goroutine behind.
func TestNothingLeft(t *testing.T) {
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP ", major), func(t *testing.T) {
			transport := &httpretry.Transport{
				Policy:         noWaits,
				AttemptTimeout: time.Second,
				BodyTimeout:    time.Second,
			}
			bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/drop":
					panic(http.ErrAbortHandler)
				case "/hang":
					silent(w, r)
				case "/stall":
					w.(http.Flusher).Flush()
					silent(w, r)
				case "/early":
					http.NewResponseController(w).EnableFullDuplex()
					w.WriteHeader(200)
					return
				case "/down":
					w.WriteHeader(503)
				case "/limit":
					w.WriteHeader(429)
				}
				io.Copy(io.Discard, r.Body)
				if r.URL.Path != "/empty" {
					fmt.Fprint(w, strings.Repeat("answer ", 1000))
				}
			}, func(t *testing.T, client *http.Client) {
				parent, contexts := parents()
				for _, ctx := range contexts {
					for _, path := range []string{"/", "/empty", "/down", "/limit", "/drop", "/hang", "/stall", "/early"} {
						for _, body := range []string{"", "body", strings.Repeat("long ", 1<<16)} {
							useAll(t, ctx, client, "PUT", path, body)
							useAll(t, ctx, client, "POST", path, body)
						}
					}
				}
				synctest.Wait()
				require.Zero(t, parent.registered.Load())
			})
		})
	}
}

// useAll sends three requests. It closes the first response's body unread, and reads the second without closing it. It
// does nothing with a third that has no body.
func useAll(t *testing.T, ctx context.Context, client *http.Client, method, path, body string) {
	for _, use := range []func(io.ReadCloser){
		func(body io.ReadCloser) { body.Close() },
		func(body io.ReadCloser) { io.Copy(io.Discard, body) },
		func(body io.ReadCloser) {
			if body != http.NoBody {
				body.Close()
			}
		},
	} {
		resp, err := client.Do(newRequest(t, method, "http://localhost"+path, body).WithContext(ctx))
		if err == nil {
			use(resp.Body)
		}
	}
}

// A server may answer before it is asked, and hang up. Then net/http does not always say that it has
// stopped writing the request.
func TestUnasked(t *testing.T) {
	address := listen(t, func(conn net.Conn) {
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	log.SetOutput(io.Discard) // net/http logs there what nobody asked for
	defer log.SetOutput(os.Stderr)
	before := runtime.NumGoroutine()
	base := &http.Transport{DisableKeepAlives: true}
	transport := &httpretry.Transport{Base: base, Policy: noWaits}
	parent, contexts := parents()
	var responses atomic.Int32
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 100 {
				req := newRequest(t, "PUT", "http://"+address, "body")
				if resp, err := transport.RoundTrip(req.WithContext(contexts[i%2])); err == nil {
					responses.Add(1)
					resp.Body.Close()
				}
			}
		})
	}
	group.Wait()
	require.Positive(t, responses.Load())
	require.Zero(t, parent.registered.Load())
	base.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, 10*time.Millisecond, "goroutines are left") // +1: Eventually's
}
