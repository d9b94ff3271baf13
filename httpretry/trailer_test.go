//go:build go1.25

package httpretry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/httpretry"
)

// A summedBody is a body that comes slowly, and sets a trailer at its end. Of those of one request, only one is open at a
// time.
type summedBody struct {
	t    *testing.T
	req  *http.Request
	open *atomic.Int32
	left int
}

func (b *summedBody) Read(p []byte) (int, error) {
	b.req.Trailer.Set("Progress", fmt.Sprint(b.left))
	if b.left == 0 {
		b.req.Trailer.Set("Sum", "right")
		return 0, io.EOF
	}
	time.Sleep(10 * time.Millisecond)
	b.left--
	p[0] = 'x'
	return 1, nil
}

func (b *summedBody) Close() error {
	require.EqualValues(b.t, 0, b.open.Add(-1))
	return nil
}

// Each attempt has a trailer of its own, whose values the body sets as it is read. A server that answers before it has
// read the body does not make two attempts share anything. The race detector has a say in this.
func TestTrailer(t *testing.T) {
	for _, major := range []int{1, 2} {
		for early := range 4 {
			t.Run(fmt.Sprint("HTTP ", major, "/", early), func(t *testing.T) {
				var requests atomic.Int32
				var sums []string
				transport := &httpretry.Transport{Policy: noWaits}
				bubble(t, major, transport, func(w http.ResponseWriter, r *http.Request) {
					if int(requests.Add(1)) <= early {
						r.Body.Read(make([]byte, 1))
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					_, err := io.ReadAll(r.Body)
					require.NoError(t, err)
					sums = append(sums, r.Trailer.Get("Sum"))
				}, func(t *testing.T, client *http.Client) {
					req := newRequest(t, "PUT", "http://localhost", "")
					req.Trailer = http.Header{"Sum": nil, "Progress": nil}
					req.ContentLength = -1
					var open atomic.Int32
					req.GetBody = func() (io.ReadCloser, error) {
						require.EqualValues(t, 1, open.Add(1))
						return &summedBody{t: t, req: req, open: &open, left: 20}, nil
					}
					req.Body, _ = req.GetBody()
					resp, err := client.Do(req)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, 200, resp.StatusCode)
				})
				require.Equal(t, []string{"right"}, sums)
			})
		}
	}
}

// A lateBody's Read takes a while, and sets a trailer then.
type lateBody struct {
	req  *http.Request
	read time.Duration
}

func (b lateBody) Read([]byte) (int, error) {
	time.Sleep(b.read)
	b.req.Trailer.Set("Sum", b.read.String())
	return 0, io.EOF
}

func (lateBody) Close() error { return nil }

// A Read that outlasts its attempt sets the values of the same Trailer as the next attempt's. The race detector has a say
// in this, too.
func TestTrailerOfLateRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trailers []http.Header
		transport, _ := counted(func(req *http.Request) (*http.Response, error) {
			if trailers = append(trailers, req.Trailer); len(trailers) == 1 {
				go io.ReadAll(req.Body)
				synctest.Wait()
				return &http.Response{StatusCode: 503}, nil
			}
			io.ReadAll(req.Body)
			req.Body.Close()
			return &http.Response{StatusCode: 200}, nil
		})
		req := newRequest(t, "PUT", "http://localhost", "")
		req.Trailer = http.Header{"Sum": nil}
		reads := []time.Duration{400 * time.Millisecond, 300 * time.Millisecond}
		req.GetBody = func() (io.ReadCloser, error) {
			read := reads[0]
			reads = reads[1:]
			return lateBody{req, read}, nil
		}
		req.Body, _ = req.GetBody()
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, "300ms", trailers[1].Get("Sum"))
	})
}

// A pausingBody's Read and Close take some time.
type pausingBody struct {
	io.Reader
	read, close time.Duration
}

func (b pausingBody) Read(p []byte) (int, error) {
	time.Sleep(b.read)
	return b.Reader.Read(p)
}

func (b pausingBody) Close() error {
	time.Sleep(b.close)
	return nil
}

// The next attempt begins when Base has closed the body of the last one, and does not read it any more, or after a tenth
// of a second.
func TestBodyInUse(t *testing.T) {
	const soon, late, limit = 60 * time.Millisecond, time.Hour, 100 * time.Millisecond
	read := func(req *http.Request) { req.Body.Read(make([]byte, 1)) }
	closes := func(req *http.Request) { req.Body.Close() }
	for _, test := range []struct {
		name        string
		read, close time.Duration
		base        func(req *http.Request)
		want        time.Duration
	}{
		{"closed", 0, 0, func(req *http.Request) { read(req); closes(req) }, 0},
		{"closed soon", 0, 0, func(req *http.Request) { read(req); time.AfterFunc(soon, func() { closes(req) }) }, soon},
		{"closed late", 0, 0, func(req *http.Request) { read(req); time.AfterFunc(late, func() { closes(req) }) }, limit},
		{"Close takes some time", 0, soon, func(req *http.Request) { read(req); go closes(req) }, soon},
		{"Close hangs", 0, late, func(req *http.Request) { read(req); go closes(req) }, limit},
		{"a Read goes on", soon, 0, func(req *http.Request) { go read(req); synctest.Wait(); closes(req) }, soon},
		{"a Read hangs", late, 0, func(req *http.Request) { go read(req); synctest.Wait(); closes(req) }, limit},
		{"a Read after Close", late, 0, func(req *http.Request) { closes(req); go read(req) }, 0},
		{"before the first Read", 0, 0, func(req *http.Request) {
			httptrace.ContextClientTrace(req.Context()).GetConn("localhost:80")
			time.AfterFunc(soon, func() { closes(req) })
		}, soon},
		{"a Base that takes no notice of it", 0, 0, func(*http.Request) {}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport, attempts := counted(func(req *http.Request) (*http.Response, error) {
					test.base(req)
					return &http.Response{StatusCode: 503}, nil
				})
				transport.MaxAttempts = 2
				req := newRequest(t, "PUT", "http://localhost", "")
				req.GetBody = func() (io.ReadCloser, error) {
					return pausingBody{strings.NewReader("body"), test.read, test.close}, nil
				}
				req.Body, _ = req.GetBody()
				start := time.Now()
				_, err := transport.RoundTrip(req)
				require.NoError(t, err)
				require.Equal(t, 2, *attempts)
				require.Equal(t, test.want, time.Since(start))
				time.Sleep(2 * time.Hour) // until nothing of it goes on
			})
		})
	}
}

// A body that Base has not closed in time is not read any more when the next attempt may have begun.
func TestReadTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []*strings.Reader
		transport, _ := counted(func(req *http.Request) (*http.Response, error) {
			read := func() error {
				_, err := req.Body.Read(make([]byte, 1))
				return err
			}
			require.NoError(t, read())
			if len(bodies) == 1 {
				time.AfterFunc(time.Second, func() { require.Equal(t, io.ErrClosedPipe, read()) })
			}
			return &http.Response{StatusCode: 503}, nil
		})
		req := newRequest(t, "PUT", "http://localhost", "")
		req.GetBody = func() (io.ReadCloser, error) {
			bodies = append(bodies, strings.NewReader("body"))
			return io.NopCloser(bodies[len(bodies)-1]), nil
		}
		req.Body, _ = req.GetBody()
		_, err := transport.RoundTrip(req)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		require.Equal(t, len("ody"), bodies[0].Len())
	})
}
