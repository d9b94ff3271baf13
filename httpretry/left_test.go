//go:build go1.25

package httpretry_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
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

// foreign is a context of a type that package context does not know: it starts a goroutine for each
// context that is derived from it and has not ended.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }

// parents returns a context that counts those derived from it, and one by which a bubble finds them.
func parents() (*counting, []context.Context) {
	parent := &counting{Context: context.Background(), done: make(chan struct{})}
	return parent, []context.Context{parent, foreign{context.Background(), make(chan struct{})}}
}

// Whatever an attempt ends with, it leaves no context and no goroutine behind.
func TestNothingLeft(t *testing.T) {
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP ", major), func(t *testing.T) {
			transport := &httpretry.Transport{Policy: threeRetries, Budget: &backoff.Budget{RetryCost: -1}, AttemptTimeout: time.Second}
			bubbleOver(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/drop":
					panic(http.ErrAbortHandler)
				case "/hang":
					io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
					<-r.Context().Done()
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
					for _, path := range []string{"/", "/empty", "/down", "/limit", "/drop", "/hang", "/early"} {
						for _, body := range []string{"", "body", strings.Repeat("long ", 1<<16)} {
							useAll(t, ctx, client, "PUT", path, body)
							if path != "/hang" { // a POST would wait forever
								useAll(t, ctx, client, "POST", path, body)
							}
						}
					}
				}
				synctest.Wait()
				require.Zero(t, parent.registered.Load())
			})
		})
	}
}

// useAll sends two requests. It closes the first response's body unread, and reads the other's without closing it.
func useAll(t *testing.T, ctx context.Context, client *http.Client, method, path, body string) {
	for _, use := range []func(io.ReadCloser){
		func(body io.ReadCloser) { body.Close() },
		func(body io.ReadCloser) { io.Copy(io.Discard, body) },
	} {
		response, err := client.Do(newRequest(t, method, "http://localhost"+path, body).WithContext(ctx))
		if err == nil {
			use(response.Body)
		}
	}
}

// Nor does a function that panics, and the response is closed.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		base := baseFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: closing{&closed}}, nil
		})
		bug := func() { panic("bug") }
		stop := func() backoff.BackOff { return &backoff.StopBackOff{} }
		getBody := func() (io.ReadCloser, error) { bug(); return nil, nil }
		for name, test := range map[string]struct {
			transport *httpretry.Transport
			getBody   func() (io.ReadCloser, error)
			response  bool
		}{
			"Base":      {&httpretry.Transport{Base: baseFunc(func(*http.Request) (*http.Response, error) { bug(); return nil, nil })}, nil, false},
			"GetBody":   {&httpretry.Transport{Base: base, Policy: threeRetries}, getBody, true},
			"Retryable": {&httpretry.Transport{Base: base, Retryable: func(*http.Request, *http.Response, error) bool { bug(); return true }}, nil, true},
			"Policy":    {&httpretry.Transport{Base: base, Policy: func() backoff.BackOff { return backoff.WithRetryIf(nil, func(error) bool { bug(); return true }) }}, nil, true},
			"Notify":    {&httpretry.Transport{Base: base, Notify: func(*http.Request, int, error, time.Duration) { bug() }}, nil, true},
			"Done":      {&httpretry.Transport{Base: base, Policy: stop, Done: func(*http.Request, int, error) { bug() }}, nil, true},
		} {
			parent, contexts := parents()
			for _, ctx := range contexts {
				closed.Store(false)
				request := newRequest(t, "PUT", "http://localhost", "body").WithContext(ctx)
				if test.getBody != nil {
					request.GetBody = test.getBody
				}
				require.PanicsWithValue(t, "bug", func() { _, _ = test.transport.RoundTrip(request) }, name)
				require.Equal(t, test.response, closed.Load(), name)
			}
			require.Zero(t, parent.registered.Load(), name)
		}
	})
}

// A server may answer before it is asked, and hang up. Then net/http does not always say that it has
// stopped writing the request.
func TestUnasked(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	}()
	log.SetOutput(io.Discard) // net/http logs there what nobody asked for
	defer log.SetOutput(os.Stderr)
	before := runtime.NumGoroutine()
	base := &http.Transport{DisableKeepAlives: true}
	transport := &httpretry.Transport{Base: base, Policy: threeRetries, Budget: &backoff.Budget{RetryCost: -1}}
	parent, contexts := parents()
	var responses atomic.Int32
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 100 {
				request := newRequest(t, "PUT", "http://"+listener.Addr().String(), "body")
				if response, err := transport.RoundTrip(request.WithContext(contexts[i%2])); err == nil {
					responses.Add(1)
					response.Body.Close()
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

// The types and flags of HTTP/2's frames: https://www.rfc-editor.org/rfc/rfc9113#section-6
const (
	frameData, frameHeaders, frameReset, frameSettings, frameWindowUpdate = 0, 1, 3, 4, 8

	endStream, endHeaders = 1, 4
)

// A frame is one of HTTP/2's.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// readFrame returns the next frame of r.
func readFrame(r io.Reader) (f frame, err error) {
	var header [9]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return f, err
	}
	f = frame{header[3], header[4], binary.BigEndian.Uint32(header[5:]), make([]byte, binary.BigEndian.Uint32(header[:])>>8)}
	_, err = io.ReadFull(r, f.payload)
	return f, err
}

func (f frame) writeTo(w io.Writer) {
	header := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload))<<8|uint32(f.kind))
	header = binary.BigEndian.AppendUint32(append(header, f.flags), f.stream)
	w.Write(append(header, f.payload...))
}

// early is the answer of a server that does not wait for the end of the request: status 200, without a body.
func early(request frame) frame {
	return frame{frameHeaders, endHeaders | endStream, request.stream, []byte{0x88}}
}

// framed calls f in simulated time, with a base whose connections over HTTP/2 serve handles. The end of
// serve closes the connection.
func framed(t *testing.T, serve func(in <-chan frame, out chan<- frame), f func(t *testing.T, base http.RoundTripper)) {
	synctest.Test(t, func(t *testing.T) {
		base := &http.Transport{Protocols: only(2), DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			in, out := make(chan frame, 1000), make(chan frame, 1000) // net/http must not wait in the pipe
			go func() {
				defer close(in)
				buffer := bufio.NewReader(server)
				buffer.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
				for {
					f, err := readFrame(buffer)
					if err != nil {
						return
					}
					in <- f
				}
			}()
			go func() {
				defer server.Close()
				for f := range out {
					f.writeTo(server)
				}
			}()
			go func() {
				defer close(out)
				out <- frame{kind: frameSettings}
				serve(in, out)
			}()
			return client, nil
		}}
		f(t, base)
		base.CloseIdleConnections()
	})
}

// A server that answers early and hangs up, while net/http writes the header over HTTP/2: then it never
// says that it has stopped writing.
func TestEarlyReset(t *testing.T) {
	framed(t, func(in <-chan frame, out chan<- frame) {
		for f := range in {
			if f.kind == frameHeaders {
				out <- early(f)
				if f.stream > 1 {
					out <- frame{frameReset, 0, f.stream, make([]byte, 4)}
					return
				}
			}
		}
	}, func(t *testing.T, base http.RoundTripper) {
		transport := &httpretry.Transport{Base: base, AttemptTimeout: 10 * time.Second}
		parent, contexts := parents()
		for i := range 30 {
			request := newRequest(t, "PUT", "http://localhost", "body").WithContext(contexts[i/2%2])
			if i%2 == 1 { // the other requests open the connections
				request.Header.Set("Long", strings.Repeat("long ", 400<<10))
			}
			response, err := transport.RoundTrip(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Zero(t, parent.registered.Load())
	})
}

// Over HTTP/2 a response may end before the request's body is sent. What is left is still sent.
func TestEarlyResponse(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	var got []byte
	var whole bool
	framed(t, func(in <-chan frame, out chan<- frame) {
		for f := range in {
			switch f.kind {
			case frameHeaders:
				out <- early(f)
			case frameData:
				got = append(got, f.payload...)
				whole = whole || f.flags&endStream != 0
				if n := len(f.payload); n > 0 {
					time.Sleep(time.Millisecond)
					more := binary.BigEndian.AppendUint32(nil, uint32(n))
					out <- frame{frameWindowUpdate, 0, 0, more}
					out <- frame{frameWindowUpdate, 0, f.stream, more}
				}
			}
		}
	}, func(t *testing.T, base http.RoundTripper) {
		parent, contexts := parents()
		for _, ctx := range contexts {
			got, whole = nil, false
			response, err := (&httpretry.Transport{Base: base}).RoundTrip(newRequest(t, "PUT", "http://localhost", string(sent)).WithContext(ctx))
			require.NoError(t, err)
			require.Equal(t, 200, response.StatusCode)
			require.NoError(t, response.Body.Close())
			time.Sleep(time.Second)
			synctest.Wait()
			require.True(t, whole)
			require.True(t, bytes.Equal(sent, got))
		}
		require.Zero(t, parent.registered.Load())
	})
}

// But its context does not live for longer than AttemptTimeout, or a server could hold it forever.
func TestEarlyResponseHeld(t *testing.T) {
	framed(t, func(in <-chan frame, out chan<- frame) {
		for f := range in {
			if f.kind == frameHeaders {
				out <- early(f) // and it takes no more of the body than the first 64 KiB
				time.Sleep(time.Minute)
				return
			}
		}
	}, func(t *testing.T, base http.RoundTripper) {
		parent, _ := parents()
		transport := &httpretry.Transport{Base: base, AttemptTimeout: 10 * time.Second}
		response, err := transport.RoundTrip(newRequest(t, "PUT", "http://localhost", strings.Repeat("long ", 1<<16)).WithContext(parent))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		time.Sleep(9 * time.Second)
		require.EqualValues(t, 1, parent.registered.Load())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Zero(t, parent.registered.Load())
		time.Sleep(time.Minute)
	})
}

// The rest of a POST is sent, however long that takes. Its attempts are never cut off.
func TestEarlyResponsePost(t *testing.T) {
	size := 0
	whole := false
	framed(t, func(in <-chan frame, out chan<- frame) {
		for f := range in {
			switch f.kind {
			case frameHeaders:
				out <- early(f)
				time.Sleep(time.Hour)
			case frameData:
				size += len(f.payload)
				whole = whole || f.flags&endStream != 0
				if n := len(f.payload); n > 0 {
					more := binary.BigEndian.AppendUint32(nil, uint32(n))
					out <- frame{frameWindowUpdate, 0, 0, more}
					out <- frame{frameWindowUpdate, 0, f.stream, more}
				}
			}
		}
	}, func(t *testing.T, base http.RoundTripper) {
		parent, _ := parents()
		request := newRequest(t, "POST", "http://localhost", strings.Repeat("0123456789abcdef", 1<<16))
		response, err := (&httpretry.Transport{Base: base}).RoundTrip(request.WithContext(parent))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())

		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.True(t, whole)
		require.Equal(t, 1<<20, size)
		require.Zero(t, parent.registered.Load())
	})
}

// Over HTTP/2 alone, a request's body that is not closed yet keeps its attempt's context, and no longer than
// AttemptTimeout.
func TestAttemptContext(t *testing.T) {
	for _, test := range []struct {
		name  string
		major int
		tries int  // of the base
		read  bool // the response's body, or else closed
		lives bool // after the response
	}{
		{"HTTP/1", 1, 1, false, false},
		{"HTTP/1, read", 1, 1, true, false},
		{"HTTP/2", 2, 1, false, true},
		{"HTTP/2, read", 2, 1, true, true},
		{"HTTP/2, sent twice by the base", 2, 2, false, true},
		{"HTTP/2, sent before", 2, 0, false, false},
	} {
		for _, written := range []bool{true, false} {
			for _, answer := range []io.ReadCloser{http.NoBody, io.NopCloser(strings.NewReader("answer"))} {
				synctest.Test(t, func(t *testing.T) {
					var attempt context.Context
					var body io.ReadCloser
					transport := httpretry.Transport{Base: baseFunc(func(r *http.Request) (*http.Response, error) {
						attempt, body = r.Context(), r.Body
						for range test.tries - 1 {
							earlier := body
							body, _ = r.GetBody()
							require.NoError(t, earlier.Close())
						}
						if test.tries == 0 {
							require.NoError(t, body.Close())
						}
						return &http.Response{StatusCode: 200, ProtoMajor: test.major, Body: answer}, nil
					})}
					response, err := transport.RoundTrip(newRequest(t, "PUT", "http://localhost", "body"))
					require.NoError(t, err)
					if test.read {
						_, err = io.Copy(io.Discard, response.Body)
					} else {
						err = response.Body.Close()
					}
					require.NoError(t, err)
					require.Equal(t, test.lives, attempt.Err() == nil, test.name)
					if written {
						require.NoError(t, body.Close())
					} else {
						time.Sleep(30 * time.Second)
						synctest.Wait()
					}
					require.ErrorIs(t, attempt.Err(), context.Canceled)
				})
			}
		}
	}
}

// A response that is not used does not wait for a Read of the request's body that blocks.
func TestBlockedBody(t *testing.T) {
	for _, size := range []int{1, 64 << 10, 100 << 10, 1 << 20} {
		transport := &httpretry.Transport{Policy: threeRetries}
		bubbleOver(t, 2, transport, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			w.Write(make([]byte, size))
			w.(http.Flusher).Flush()
		}, func(t *testing.T, _ *http.Client) {
			stop := errors.New("stop")
			transport.Done = func(*http.Request, int, error) { panic(stop) } // so that the last one is not used either
			request := newRequest(t, "PUT", "http://localhost", "")
			request.ContentLength = 1 << 20
			request.GetBody = func() (io.ReadCloser, error) { return &slowBody{1 << 20, time.Hour, new(atomic.Int32)}, nil }
			request.Body, _ = request.GetBody()
			start := time.Now()
			require.PanicsWithValue(t, stop, func() { _, _ = transport.RoundTrip(request) })
			require.LessOrEqual(t, time.Since(start), 4*100*time.Millisecond, "%d bytes", size)
			time.Sleep(time.Hour) // until the Reads have ended
		})
	}
}
