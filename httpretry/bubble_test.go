//go:build go1.25

package httpretry_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// pipes is a listener whose connections are pipes in memory, which a synctest bubble can wait for.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return new(net.UnixAddr) }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// only returns the protocols of a side that has HTTP/1 or HTTP/2 alone, without TLS.
func only(major int) *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(major == 1)
	protocols.SetUnencryptedHTTP2(major == 2)
	return protocols
}

// bubble calls f in simulated time, with a client of a server that runs handler.
func bubble(t *testing.T, transport *httpretry.Transport, handler http.HandlerFunc, f func(t *testing.T, client *http.Client)) {
	bubbleOver(t, 1, transport, handler, f)
}

// bubbleOver is bubble over HTTP/1 or HTTP/2.
func bubbleOver(t *testing.T, major int, transport *httpretry.Transport, handler http.HandlerFunc, f func(t *testing.T, client *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), Protocols: only(major)}
		go server.Serve(listener)
		transport.Base = &http.Transport{DialContext: listener.dial, Protocols: only(major)}
		client := &http.Client{Transport: transport}
		f(t, client)
		client.CloseIdleConnections()
		server.Close()
		time.Sleep(time.Second) // until the server's connections have ended
	})
}

func TestHungServer(t *testing.T) {
	var requests atomic.Int32
	transport := &httpretry.Transport{Policy: threeRetries, AttemptTimeout: time.Second}
	bubble(t, transport, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) < 4 {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "hello")
	}, func(t *testing.T, client *http.Client) {
		start := time.Now()
		response, err := client.Get("http://localhost")
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(start))
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "hello", string(body))
		require.NoError(t, response.Body.Close())
	})
	bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}, func(t *testing.T, client *http.Client) {
		_, err := client.Get("http://localhost")
		require.EqualError(t, err, `Get "http://localhost": no response within 1s, attempt 4`)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, err.(*url.Error).Timeout())
		require.True(t, os.IsTimeout(err))
	})
}

// A body may be read after the attempt's timeout, until it is closed.
func TestSlowBody(t *testing.T) {
	bubble(t, &httpretry.Transport{AttemptTimeout: time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			fmt.Fprint(w, "slow ")
			w.(http.Flusher).Flush()
			time.Sleep(time.Hour)
		}
	}, func(t *testing.T, client *http.Client) {
		response, err := client.Get("http://localhost")
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "slow slow slow ", string(body))
		require.NoError(t, response.Body.Close())
	})
}

// A caller's own trace is called for each attempt.
func TestTrace(t *testing.T) {
	s := newScript(t, nil, 503)
	var written atomic.Int32
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { written.Add(1) }}
	request := newRequest(t, "PUT", s.URL, "body")
	response, err := s.send(new(httpretry.Transport), request.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	all := func() bool { return written.Load() == 4 } // net/http calls it after it has written
	require.Eventually(t, all, 10*time.Second, time.Millisecond)
}

type closing struct{ closed *atomic.Bool }

func (closing) Read([]byte) (int, error) { return 0, io.EOF }

func (c closing) Close() error {
	c.closed.Store(true)
	return nil
}

// The earlier responses are read to their end, so that one connection serves all attempts.
func TestConnectionReuse(t *testing.T) {
	var dials atomic.Int32
	transport := &httpretry.Transport{Policy: threeRetries}
	bubble(t, transport, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, strings.Repeat("answer ", 1000))
	}, func(t *testing.T, client *http.Client) {
		base := transport.Base.(*http.Transport)
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return dial(ctx, network, address)
		}
		response, err := client.Get("http://localhost")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	})
	require.EqualValues(t, 1, dials.Load())
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
			bubble(t, &httpretry.Transport{Policy: threeRetries}, func(w http.ResponseWriter, r *http.Request) {
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
				response, err := client.Get("http://localhost")
				require.NoError(t, err)
				require.Equal(t, test.want, time.Since(start))
				require.NoError(t, response.Body.Close())
			})
		})
	}
}

// A response that comes after AttemptTimeout all the same is closed and not used.
func TestLateResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		for _, body := range []io.ReadCloser{nil, closing{&closed}} {
			transport, calls := counted(func(*http.Request) (*http.Response, error) {
				time.Sleep(2 * time.Second)
				return &http.Response{StatusCode: 200, Body: body}, nil
			})
			transport.AttemptTimeout = time.Second
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, 4, *calls)
			require.Equal(t, body != nil, closed.Load())
		}
	})
}

// The timeout of an http.Client, or of a context, limits the whole call: attempts, waits, and the body.
func TestCallTimeout(t *testing.T) {
	policy := func() backoff.BackOff { return backoff.NewConstantBackOff(time.Second) }
	for _, path := range []string{"/hang", "/down", "/body"} {
		for _, client := range []bool{false, true} {
			bubble(t, &httpretry.Transport{Policy: policy, AttemptTimeout: time.Second}, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/down":
					w.WriteHeader(503)
					return
				case "/body":
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}, func(t *testing.T, c *http.Client) {
				start := time.Now()
				ctx := context.Background()
				if client {
					c.Timeout = 3500 * time.Millisecond
				} else {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 3500*time.Millisecond)
					defer cancel()
				}
				response, err := c.Do(newRequest(t, "GET", "http://localhost"+path, "").WithContext(ctx))
				if err == nil {
					_, err = io.ReadAll(response.Body)
					require.NoError(t, response.Body.Close())
				}
				if path == "/down" { // there is no time for another attempt
					require.NoError(t, err)
					require.Equal(t, 503, response.StatusCode)
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				require.LessOrEqual(t, time.Since(start), 3500*time.Millisecond)
			})
		}
	}
}

// An answer that takes longer than AttemptTimeout is never received.
func TestLongAnswer(t *testing.T) {
	var calls atomic.Int32
	transport := new(httpretry.Transport)
	bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		select {
		case <-time.After(40 * time.Second):
		case <-r.Context().Done():
		}
	}, func(t *testing.T, client *http.Client) {
		_, err := client.Get("http://localhost")
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.EqualValues(t, 5, calls.Load())
		transport.AttemptTimeout = time.Minute
		response, err := client.Get("http://localhost")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.EqualValues(t, 6, calls.Load())
	})
}

// A POST may take as long as its context allows, before the dial, too.
func TestLongPost(t *testing.T) {
	transport := &httpretry.Transport{AttemptTimeout: time.Second}
	var calls atomic.Int32
	bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(10 * time.Minute):
		case <-r.Context().Done():
		}
	}, func(t *testing.T, client *http.Client) {
		base := transport.Base.(*http.Transport)
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			time.Sleep(time.Hour)
			return dial(ctx, network, address)
		}
		start := time.Now()
		response, err := client.Post("http://localhost", "text/plain", strings.NewReader("body"))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, time.Hour+10*time.Minute, time.Since(start))

		start = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err = client.Do(newRequest(t, "POST", "http://localhost", "body").WithContext(ctx))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(start))
		require.EqualValues(t, 2, calls.Load())
	})
}

// After AttemptTimeout, all functions receive an error that matches os.ErrDeadlineExceeded.
func TestTimeoutError(t *testing.T) {
	var received []error
	transport := &httpretry.Transport{
		AttemptTimeout: time.Second,
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1)
		},
		Retryable: func(_ *http.Request, _ *http.Response, err error) bool {
			received = append(received, err)
			return true
		},
		Notify: func(_ *http.Request, _ int, err error, _ time.Duration) { received = append(received, err) },
		Done:   func(_ *http.Request, _ int, err error) { received = append(received, err) },
	}
	bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}, func(t *testing.T, client *http.Client) {
		_, err := client.Get("http://localhost")
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
	require.Len(t, received, 4)
	for i, attempt := range []int{1, 1, 2, 2} { // Retryable, Notify, Retryable, Done
		require.ErrorIs(t, received[i], os.ErrDeadlineExceeded)
		require.ErrorIs(t, received[i], context.DeadlineExceeded)
		require.EqualError(t, received[i], fmt.Sprint("no response within 1s, attempt ", attempt))
	}
}

// The waits of the zero Transport.
func TestDefaultWaits(t *testing.T) {
	longest := map[int]time.Duration{}
	attempt := 0
	transport := &httpretry.Transport{
		Base:   baseFunc(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }),
		Budget: &backoff.Budget{RetryCost: -1},
		Notify: func(_ *http.Request, _ int, _ error, wait time.Duration) {
			attempt++
			longest[attempt] = max(longest[attempt], wait)
		},
	}
	synctest.Test(t, func(t *testing.T) {
		for range 500 {
			attempt = 0
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.NoError(t, err)
		}
	})
	for i, limit := range []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1125 * time.Millisecond, 1687500 * time.Microsecond} {
		require.LessOrEqual(t, longest[i+1], limit)
		require.Greater(t, longest[i+1], limit*9/10)
	}
	require.Len(t, longest, 4)
}

// The zero Transport gives up when the next wait would end more than 15 minutes after the start.
func TestDefaultLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &httpretry.Transport{AttemptTimeout: 10 * time.Minute}
		attempts := 0
		transport.Base = baseFunc(func(req *http.Request) (*http.Response, error) {
			attempts++
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 2, attempts)
	})
}

func TestCancel(t *testing.T) {
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	bubble(t, &httpretry.Transport{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel(errGone)
	}, func(t *testing.T, client *http.Client) {
		start := time.Now()
		_, err := client.Do(newRequest(t, "GET", "http://localhost", "").WithContext(ctx))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errGone)
		require.Zero(t, time.Since(start))
	})
}

// slowBody is a request's body that comes 256 bytes at a time, with a pause before each. If left is
// negative, it is endless.
type slowBody struct {
	left  int
	pause time.Duration
	reads *atomic.Int32
}

func (s *slowBody) Read(p []byte) (int, error) {
	s.reads.Add(1)
	time.Sleep(s.pause)
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(256, len(p))
	if s.left > 0 {
		n = min(n, s.left)
		s.left -= n
	}
	return n, nil
}

func (s *slowBody) Close() error { return nil }

// A request ends in time, whatever its body. If no connection is made, nobody reads the body.
func TestRequestBody(t *testing.T) {
	for _, test := range []struct {
		name           string
		pause          time.Duration
		refused        bool
		limit, timeout time.Duration // of the context, and the client's
	}{
		{"blocking, refused", 24 * time.Hour, true, 200 * time.Millisecond, 0},
		{"256 KiB/s, refused", time.Millisecond, true, time.Hour, 300 * time.Millisecond},
		{"256 KiB/s, sent", time.Millisecond, false, time.Hour, 300 * time.Millisecond},
	} {
		for name, length := range map[string]int64{"unknown length": -1, "ten bytes": 10, "half a mebibyte": 512 << 10} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				transport := &httpretry.Transport{
					Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(50 * time.Millisecond) },
					Budget: &backoff.Budget{RetryCost: -1}, // without limit
				}
				bubble(t, transport, func(_ http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				}, func(t *testing.T, client *http.Client) {
					if test.refused {
						transport.Base.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
							return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
						}
					}
					ctx, cancel := context.WithTimeout(context.Background(), test.limit)
					defer cancel()
					client.Timeout = test.timeout
					request, err := http.NewRequestWithContext(ctx, "PUT", "http://localhost", nil)
					require.NoError(t, err)
					var opened, reads atomic.Int32
					request.ContentLength = length
					request.GetBody = func() (io.ReadCloser, error) {
						opened.Add(1)
						return &slowBody{int(length), test.pause, &reads}, nil
					}
					request.Body, _ = request.GetBody()
					start := time.Now()
					_, err = client.Do(request)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					last := time.Millisecond // net/http waits for a Read that it has called
					require.LessOrEqual(t, time.Since(start), cmp.Or(test.timeout, test.limit)+last)
					if test.refused {
						require.Greater(t, opened.Load(), int32(1))
						require.Zero(t, reads.Load())
					}
				})
			})
		}
	}
}

// A response is not given up for a first wait that would outlast the deadline. An error is: that wait starts, as in
// every loop.
func TestDeadlineFirstWait(t *testing.T) {
	budget := &backoff.Budget{Capacity: 100}
	transport := &httpretry.Transport{Budget: budget, Policy: func() backoff.BackOff {
		return backoff.NewConstantBackOff(time.Minute)
	}}
	bubble(t, transport, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}, func(t *testing.T, client *http.Client) {
		get := func(path string) (resp *http.Response, took time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.test"+path, nil)
			require.NoError(t, err)
			start := time.Now()
			resp, err = client.Do(req)
			return resp, time.Since(start), err
		}

		resp, took, err := get("/")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Zero(t, took)
		require.Equal(t, 100, budget.Tokens(), "no retry, no token")

		_, took, err = get("/cut")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, took)
	})
}

// A Policy that returns nil means the default one of the library.
func TestNilPolicy(t *testing.T) {
	attempts := 0
	transport := &httpretry.Transport{Policy: func() backoff.BackOff { return nil }}
	bubble(t, transport, func(w http.ResponseWriter, _ *http.Request) {
		if attempts++; attempts < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}, func(t *testing.T, client *http.Client) {
		resp, err := client.Get("http://server.test/")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	})
	require.Equal(t, 3, attempts)
}

// A later wait that would outlast the deadline is refused: the response is returned, and Done receives the reason.
func TestDeadlineLaterWait(t *testing.T) {
	var end error
	transport := &httpretry.Transport{
		Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(6 * time.Second) },
		Done:   func(_ *http.Request, _ int, err error) { end = err },
	}
	bubble(t, transport, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}, func(t *testing.T, client *http.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.test/", nil)
		require.NoError(t, err)
		start := time.Now()
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Equal(t, 6*time.Second, time.Since(start))
		require.ErrorIs(t, end, context.DeadlineExceeded)
	})
}
