//go:build go1.25

package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// The waits of the zero Transport are those of a Retrier.
func TestDefaultWaits(t *testing.T) {
	longest := map[int]time.Duration{}
	transport, _ := answering(503)
	transport.Policy = nil
	transport.Notify = func(_ *http.Request, attempt int, _ error, wait time.Duration) {
		longest[attempt] = max(longest[attempt], wait)
	}
	synctest.Test(t, func(t *testing.T) {
		for range 500 {
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.NoError(t, err)
		}
	})
	require.Len(t, longest, 3)
	for i, limit := range []time.Duration{750 * time.Millisecond, 1125 * time.Millisecond, 1687500 * time.Microsecond} {
		require.LessOrEqual(t, longest[i+1], limit)
		require.Greater(t, longest[i+1], limit*9/10)
	}
}

func TestMaxAttempts(t *testing.T) {
	ten := func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10) }
	for _, test := range []struct {
		maxAttempts int
		policy      func() backoff.BackOff
		want        int // attempts
	}{
		{0, nil, 4},
		{0, ten, 4},
		{0, func() backoff.BackOff { return nil }, 4},
		{3, ten, 3},
		{12, ten, 11},
		{1, ten, 1},
		{-1, ten, 11},
		{math.MinInt, ten, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, sent := answering(io.EOF)
			transport.Policy = test.policy
			transport.MaxAttempts = test.maxAttempts
			var notified []int
			transport.Notify = func(_ *http.Request, attempt int, _ error, _ time.Duration) {
				notified = append(notified, attempt)
			}
			_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, test.maxAttempts != 1, errors.Is(err, backoff.ErrRetriesExhausted))
			require.Equal(t, test.want, *sent)
			require.Len(t, notified, test.want-1)
			for i, attempt := range notified {
				require.Equal(t, i+1, attempt)
			}
		})
	}
}

// After AttemptTimeout, all functions receive an error that matches os.ErrDeadlineExceeded, and the caller too.
func TestTimeoutError(t *testing.T) {
	var received []error
	transport := &httpretry.Transport{
		AttemptTimeout: time.Second,
		Policy:         noWaits,
		MaxAttempts:    2,
		Retryable: func(req *http.Request, _ *http.Response, err error) bool {
			require.Equal(t, "localhost", req.Host)
			received = append(received, err)
			return true
		},
		Notify: func(_ *http.Request, _ int, err error, _ time.Duration) { received = append(received, err) },
		Done:   func(_ *http.Request, _ int, err error) { received = append(received, err) },
	}
	bubble(t, 1, transport, silent, func(t *testing.T, client *http.Client) {
		start := time.Now()
		_, err := client.Get("http://localhost")
		require.Equal(t, 2*time.Second, time.Since(start))
		require.True(t, err.(*url.Error).Timeout())
		require.True(t, os.IsTimeout(err))
		received = append(received, err)
	})
	const text = "no response within 1s, attempt "
	for i, want := range []string{ // of Retryable, Notify, Retryable, Done, and RoundTrip
		text + "1", text + "1", text + "2",
		"retries exhausted: " + text + "2",
		`Get "http://localhost": retries exhausted: ` + text + "2",
	} {
		require.ErrorIs(t, received[i], os.ErrDeadlineExceeded)
		require.ErrorIs(t, received[i], context.DeadlineExceeded)
		require.EqualError(t, received[i], want)
	}
}

// Which requests AttemptTimeout limits, and to what, whether Slots are set or not.
func TestAttemptTimeout(t *testing.T) {
	for _, test := range []struct {
		request  string
		timeout  time.Duration
		slots    bool
		want     time.Duration // of an attempt; 0 is no limit
		attempts int
	}{
		{"GET", 0, false, 30 * time.Second, 4},
		{"GET", 0, true, 30 * time.Second, 4},
		{"GET", time.Minute, false, time.Minute, 4},
		{"GET", -1, true, 0, 1},
		{"POST", 0, false, 0, 1},
		{"POST", 0, true, 0, 1},
		{"POST", time.Minute, false, time.Minute, 1},
		{"POST", time.Minute, true, time.Minute, 1},
		{"POST", -1, true, 0, 1},
		{"POST, key", 0, false, 30 * time.Second, 4},
		{"PUT, once", 0, false, 0, 1},
		{"PUT, once", 0, true, 0, 1},
		{"PUT, once", time.Minute, false, time.Minute, 1},
		{"GET, upgrade", 0, false, 0, 1},
		{"GET, upgrade", 0, true, 0, 1},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport, attempts := counted(func(req *http.Request) (*http.Response, error) {
					<-req.Context().Done()
					return nil, req.Context().Err()
				})
				transport.AttemptTimeout = test.timeout
				if test.slots {
					transport.Slots = backoff.NewSlots(1)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				method, kind, _ := strings.Cut(test.request, ", ")
				req := newRequest(t, method, "http://localhost", "body").WithContext(ctx)
				switch kind {
				case "key":
					req.Header.Set("Idempotency-Key", "1")
				case "once":
					req.GetBody = nil
				case "upgrade":
					req.Header.Set("Upgrade", "websocket")
				}

				start := time.Now()
				_, err := transport.RoundTrip(req)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, test.attempts, *attempts)
				if test.want == 0 {
					require.Equal(t, time.Hour, time.Since(start))
					return
				}
				require.Equal(t, time.Duration(test.attempts)*test.want, time.Since(start))
				require.Contains(t, fmt.Sprint(err), fmt.Sprintf("no response within %v, attempt %d", test.want, test.attempts))
			})
		})
	}
}

// AttemptTimeout limits silence: a server that receives a long body slowly is waited for, one that stops is not.
func TestLongUpload(t *testing.T) {
	const second = 128 << 10 // bytes
	for _, major := range []int{1, 2} {
		for _, stops := range []bool{false, true} {
			for _, once := range []bool{false, true} {
				var requests, received atomic.Int32
				transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: noWaits}
				bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
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
					req := newRequest(t, "PUT", "http://localhost", strings.Repeat("x", 60*second))
					want := 4
					if once {
						req.GetBody = nil
						want = 1
					}
					start := time.Now()
					resp, err := client.Do(req)
					if stops {
						require.ErrorIs(t, err, os.ErrDeadlineExceeded)
						require.Contains(t, fmt.Sprint(err), fmt.Sprint("no response within 10s, attempt ", want))
						require.EqualValues(t, want, requests.Load())
						time.Sleep(time.Minute) // until the handlers have ended
						return
					}
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.EqualValues(t, 1, requests.Load())
					require.EqualValues(t, 60*second, received.Load())
					require.Equal(t, time.Minute, time.Since(start))
				})
			}
		}
	}
}

// slowBody is a request's body of 512 bytes that comes in two parts, with a pause before each.
type slowBody struct {
	left  int
	pause time.Duration
}

func (s *slowBody) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(256, len(p), s.left)
	s.left -= n
	return n, nil
}

func (s *slowBody) Close() error { return nil }

// slowUpload returns a request whose body is a slowBody of this length.
func slowUpload(t *testing.T, length int, pause time.Duration) *http.Request {
	req := newRequest(t, "PUT", "http://localhost", "")
	req.ContentLength = -1
	req.GetBody = func() (io.ReadCloser, error) { return &slowBody{length, pause}, nil }
	req.Body, _ = req.GetBody()
	return req
}

// The timeout begins again when the request is written, and not later.
func TestTimeoutAfterUpload(t *testing.T) {
	for answer, want := range map[time.Duration]int{9 * time.Second: 1, 11 * time.Second: 4} {
		requests := 0
		transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: noWaits}
		bubble(t, 1, transport, func(_ http.ResponseWriter, r *http.Request) {
			requests++
			io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(answer):
			case <-r.Context().Done():
			}
		}, func(t *testing.T, client *http.Client) {
			resp, err := client.Do(slowUpload(t, 512, 9*time.Second))
			require.Equal(t, want == 1, err == nil)
			if err == nil {
				require.NoError(t, resp.Body.Close())
			}
		})
		require.Equal(t, want, requests)
	}
}

// The timeout begins again when the connection is made. Where it is over before that, nothing was sent, so that also a
// POST is sent again.
func TestTimeoutAfterDial(t *testing.T) {
	for dial, want := range map[time.Duration]int{9 * time.Second: 1, time.Hour: 4} {
		for _, major := range []int{1, 2} {
			transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: noWaits}
			requests := 0
			var dials atomic.Int64
			bubble(t, major, transport, func(_ http.ResponseWriter, r *http.Request) {
				requests++
				io.Copy(io.Discard, r.Body)
			}, func(t *testing.T, client *http.Client) {
				base := transport.Base.(*http.Transport)
				connect := base.DialContext
				base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					dials.Add(1)
					select {
					case <-time.After(dial):
						return connect(ctx, network, address)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				req := slowUpload(t, 512, 9*time.Second)
				req.Method = "POST"
				resp, err := client.Do(req)
				require.Equal(t, want == 1, err == nil)
				if err == nil {
					require.NoError(t, resp.Body.Close())
					return
				}
				require.Contains(t, fmt.Sprint(err), "no response within 10s, attempt 4")
				time.Sleep(time.Hour) // until the dials have ended
			})
			require.EqualValues(t, want, dials.Load())
			require.Equal(t, want == 1, requests == 1)
		}
	}
}

// A server that sends nothing but answers of status 1xx does not hold a request forever, also if the caller has a trace
// that wants more of them.
func TestEndlessInformational(t *testing.T) {
	more := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return nil }}
	for _, trace := range []*httptrace.ClientTrace{{}, more} {
		for _, major := range []int{1, 2} {
			transport := &httpretry.Transport{Policy: noWaits}
			var requests atomic.Int32
			bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				for range 1001 {
					w.WriteHeader(http.StatusEarlyHints)
				}
				<-r.Context().Done()
			}, func(t *testing.T, client *http.Client) {
				start := time.Now()
				req := newRequest(t, "GET", "http://localhost", "")
				_, err := client.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
				require.Zero(t, time.Since(start))
				require.Contains(t, fmt.Sprint(err), "too many informational responses")
				require.ErrorIs(t, err, backoff.ErrRetriesExhausted)
			})
			require.EqualValues(t, 4, requests.Load())
		}
	}
}

// A thousand answers of status 1xx are not too many.
func TestManyInformational(t *testing.T) {
	for _, major := range []int{1, 2} {
		bubble(t, major, new(httpretry.Transport), func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, func(t *testing.T, client *http.Client) {
			resp, err := client.Get("http://localhost")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)
		})
	}
}

// An answer of status 1xx is progress.
func TestInformational(t *testing.T) {
	for pause, want := range map[time.Duration]int{9 * time.Second: 1, 11 * time.Second: 4} {
		for _, major := range []int{1, 2} {
			var requests atomic.Int32
			transport := &httpretry.Transport{AttemptTimeout: 10 * time.Second, Policy: noWaits}
			bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				for range 5 {
					select {
					case <-time.After(pause):
						w.WriteHeader(http.StatusProcessing)
					case <-r.Context().Done():
						return
					}
				}
			}, func(t *testing.T, client *http.Client) {
				resp, err := client.Get("http://localhost")
				require.Equal(t, want == 1, err == nil)
				if err == nil {
					require.NoError(t, resp.Body.Close())
				}
			})
			require.EqualValues(t, want, requests.Load())
		}
	}
}

// The wait that a proxy asks for when it refuses to CONNECT is kept.
func TestProxyRetryAfter(t *testing.T) {
	connects := 0
	transport := &httpretry.Transport{Policy: noWaits}
	bubble(t, 1, transport, func(w http.ResponseWriter, r *http.Request) {
		connects++
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	}, func(t *testing.T, client *http.Client) {
		transport.Base.(*http.Transport).Proxy = through("http://proxy.test")
		start := time.Now()
		_, err := client.Post("https://site.test", "text/plain", strings.NewReader("body"))
		require.Contains(t, fmt.Sprint(err), "429 Too Many Requests (retry after 3s)")
		require.Equal(t, 4, connects)
		require.Equal(t, 9*time.Second, time.Since(start))
	})
}

// When net/http sends a request again by itself, its timeout does not begin again. What had not been sent before is
// progress.
func TestResend(t *testing.T) {
	for _, test := range []struct {
		first string // what is read of the body before the resend
		want  time.Duration
	}{
		{"body", 10 * time.Second},
		{"bo", 6*time.Second + 10*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, attempts := counted(func(req *http.Request) (*http.Response, error) {
				trace := httptrace.ContextClientTrace(req.Context())
				trace.GotConn(httptrace.GotConnInfo{})
				_, err := io.ReadFull(req.Body, make([]byte, len(test.first)))
				require.NoError(t, err)
				if test.first == "body" {
					trace.WroteRequest(httptrace.WroteRequestInfo{})
				}
				require.NoError(t, req.Body.Close())

				time.Sleep(6 * time.Second)
				trace.GotConn(httptrace.GotConnInfo{Reused: true})
				body, err := req.GetBody()
				require.NoError(t, err)
				_, err = io.ReadAll(iotest.OneByteReader(body))
				require.NoError(t, err)
				if test.first == "body" {
					trace.WroteRequest(httptrace.WroteRequestInfo{})
				}
				<-req.Context().Done()
				return nil, req.Context().Err()
			})
			transport.AttemptTimeout = 10 * time.Second
			transport.MaxAttempts = 1
			start := time.Now()
			_, err := transport.RoundTrip(newRequest(t, "PUT", "http://localhost", "body"))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, 1, *attempts)
			require.Equal(t, test.want, time.Since(start))
		})
	}
}

// A request that could not be written is no progress.
func TestNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, _ := counted(func(req *http.Request) (*http.Response, error) {
			time.Sleep(6 * time.Second)
			httptrace.ContextClientTrace(req.Context()).WroteRequest(httptrace.WroteRequestInfo{Err: io.EOF})
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		transport.AttemptTimeout = 10 * time.Second
		transport.MaxAttempts = 1
		start := time.Now()
		_, err := transport.RoundTrip(newRequest(t, "GET", "http://localhost", ""))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

// An upload that goes on when the headers are there does not begin the timeout again, which would end the response.
func TestUploadAfterHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, _ := counted(func(req *http.Request) (*http.Response, error) {
			go func() {
				time.Sleep(5 * time.Second)
				io.Copy(io.Discard, req.Body)
			}()
			read, write := io.Pipe()
			stop := context.AfterFunc(req.Context(), func() { write.CloseWithError(req.Context().Err()) })
			time.AfterFunc(30*time.Second, func() {
				write.Close()
				stop()
			})
			return &http.Response{StatusCode: 200, Body: read}, nil
		})
		transport.AttemptTimeout = 10 * time.Second
		resp, err := transport.RoundTrip(newRequest(t, "PUT", "http://localhost", "body"))
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	})
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

// A stream of five parts is read to its end if it never pauses for BodyTimeout, however long it takes and however
// slowly it is read. Where it stalls, the Read ends in time and says how much had come.
func TestBodyTimeout(t *testing.T) {
	for _, test := range []struct {
		name  string
		body  time.Duration // BodyTimeout
		pause time.Duration // before each part
		reads time.Duration // pause before each Read
		want  int           // bytes
	}{
		{"none", 0, time.Hour, 0, 25},
		{"short pauses", 30 * time.Second, 29 * time.Second, 0, 25},
		{"a slow reader", 30 * time.Second, 0, time.Hour, 25},
		{"long pauses", 30 * time.Second, 31 * time.Second, 0, 5},
	} {
		for _, method := range []string{"GET", "POST"} {
			for _, major := range []int{1, 2} {
				t.Run(fmt.Sprint(test.name, "/", method, "/HTTP ", major), func(t *testing.T) {
					transport := &httpretry.Transport{AttemptTimeout: time.Second, BodyTimeout: test.body}
					bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
						for range 5 {
							io.WriteString(w, "part ")
							w.(http.Flusher).Flush()
							select {
							case <-time.After(test.pause):
							case <-r.Context().Done():
								return
							}
						}
					}, func(t *testing.T, client *http.Client) {
						resp, err := client.Do(newRequest(t, method, "http://localhost", ""))
						require.NoError(t, err)
						got, err := readSlowly(resp.Body, test.reads)
						require.Equal(t, test.want, got)
						if test.want == 25 {
							require.Equal(t, io.EOF, err)
							require.NoError(t, resp.Body.Close())
							return
						}
						require.EqualError(t, err, "no data within 30s, after 5 bytes of the response's body")
						require.ErrorIs(t, err, os.ErrDeadlineExceeded)
						require.ErrorIs(t, err, context.DeadlineExceeded)
						require.True(t, os.IsTimeout(err))
						_, again := resp.Body.Read(make([]byte, 1))
						require.Equal(t, err, again)
						require.NoError(t, resp.Body.Close())
					})
				})
			}
		}
	}
}

// readSlowly reads body with a pause before each Read. It returns the number of bytes, and the error of the last Read.
func readSlowly(body io.Reader, pause time.Duration) (all int, err error) {
	for err == nil {
		time.Sleep(pause)
		var n int
		n, err = body.Read(make([]byte, 100))
		all += n
	}
	return all, err
}

// The Timeout of an http.Client, and the deadline of a context, limit everything together. A response in hand is
// returned rather than a wait that is too long.
func TestDeadline(t *testing.T) {
	for _, test := range []struct {
		path string
		wait time.Duration
		took time.Duration
		want string // a status or an error
	}{
		{"/hang", time.Second, 3 * time.Second, "no response within 1s, attempt 2"},
		{"/down", time.Second, 3 * time.Second, "503"},
		{"/down", 4 * time.Second, 0, "503"},
		{"/down", 0, 0, "503"},
		{"/cut", 4 * time.Second, 0, "EOF"},
		{"/body", time.Second, 3500 * time.Millisecond, ""},
		{"/both", 0, 3500 * time.Millisecond, "503 Service Unavailable"},
		{"/asked", 0, 0, "503"},
	} {
		for _, byClient := range []bool{false, true} {
			t.Run(fmt.Sprint(test.path, test.wait, byClient), func(t *testing.T) {
				requests := 0
				transport := &httpretry.Transport{
					AttemptTimeout: time.Second,
					Policy:         func() backoff.BackOff { return backoff.NewConstantBackOff(test.wait) },
				}
				if test.path == "/both" {
					transport.AttemptTimeout = 10 * time.Second
				}
				bubble(t, 1, transport, func(w http.ResponseWriter, r *http.Request) {
					requests++
					switch {
					case r.URL.Path == "/cut":
						panic(http.ErrAbortHandler)
					case r.URL.Path == "/asked":
						w.Header().Set("Retry-After", "4")
						fallthrough
					case r.URL.Path == "/down", r.URL.Path == "/both" && requests == 1:
						w.WriteHeader(503)
						return
					case r.URL.Path == "/body":
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				}, func(t *testing.T, client *http.Client) {
					ctx := t.Context()
					if byClient {
						client.Timeout = 3500 * time.Millisecond
					} else {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, 3500*time.Millisecond)
						defer cancel()
					}
					start := time.Now()
					resp, err := client.Do(newRequest(t, "GET", "http://localhost"+test.path, "").WithContext(ctx))
					status := ""
					if err == nil {
						status = fmt.Sprint(resp.StatusCode)
						_, err = io.ReadAll(resp.Body)
						require.NoError(t, resp.Body.Close())
					}
					require.Equal(t, test.took, time.Since(start))
					if status == test.want {
						require.NoError(t, err)
						return
					}
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Contains(t, fmt.Sprint(err), test.want)
				})
			})
		}
	}
}

func TestCancel(t *testing.T) {
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	bubble(t, 1, &httpretry.Transport{}, func(w http.ResponseWriter, _ *http.Request) {
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

// A request's Cancel channel is that of an http.Client, whose Timeout ends the context as well.
func TestCancelChannel(t *testing.T) {
	transport, calls := counted(func(req *http.Request) (*http.Response, error) {
		require.Nil(t, req.Cancel) //lint:ignore SA1019 it is what is tested
		return &http.Response{StatusCode: 503}, nil
	})
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	_, err := client.Get("http://localhost")
	require.NoError(t, err)
	require.Equal(t, 4, *calls)
}

// A caller's own trace is called for each attempt.
func TestTrace(t *testing.T) {
	transport := &httpretry.Transport{Policy: noWaits}
	bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, func(t *testing.T, client *http.Client) {
		var written atomic.Int32
		trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { written.Add(1) }}
		req := newRequest(t, "PUT", "http://localhost", "body")
		resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		synctest.Wait() // net/http calls it after it has written
		require.EqualValues(t, 4, written.Load())
	})
}

// The earlier responses are read to their end, so that one connection serves all attempts.
func TestConnectionReuse(t *testing.T) {
	dials := 0
	transport := &httpretry.Transport{Policy: noWaits}
	bubble(t, 1, transport, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, strings.Repeat("answer ", 1000))
	}, func(t *testing.T, client *http.Client) {
		base := transport.Base.(*http.Transport)
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		resp, err := client.Get("http://localhost")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	})
	require.Equal(t, 1, dials)
}
