//go:build go1.25

package download_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/examples/download"
	"example.com/backoff/examples/memory"
)

const (
	old     = "what was there before"
	part    = 4 << 10 // bytes, after which a connection breaks
	minutes = float64(time.Minute)
)

// Two versions of a file, of five parts each.
var first, second = strings.Repeat("first...", 5*part/8), strings.Repeat("second..", 5*part/8)

// A mirror is a server in memory whose handler gets the number of the request, from 1 on.
type mirror struct {
	handler  func(w http.ResponseWriter, r *http.Request, n int)
	network  *memory.Listener
	requests int
	start    time.Time
}

// get returns what is at a path after a download to it, which already has old.
func (m *mirror) get(t *testing.T) (string, error) {
	m.start = time.Now()
	m.network = memory.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.requests++
		m.handler(w, r, m.requests)
	})}
	go server.Serve(m.network)
	defer server.Close()
	client := download.NewClient(&http.Transport{DialContext: m.network.Dial})
	defer client.CloseIdleConnections()

	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(old), 0o666))
	err := download.Get(t.Context(), client, "http://localhost/", path)
	files, errRead := os.ReadDir(filepath.Dir(path))
	require.NoError(t, errRead)
	require.Len(t, files, 1) // no temporary one
	got, errRead := os.ReadFile(path)
	require.NoError(t, errRead)
	return string(got), err
}

// breaking is a response that breaks after a part.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(data []byte) (int, error) {
	n, err := b.ResponseWriter.Write(data[:min(len(data), b.left)])
	b.left -= n
	if b.left == 0 {
		b.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// serve sends content, or the part of it that is asked for, until the connection breaks.
func serve(w http.ResponseWriter, r *http.Request, etag, content string) {
	w.Header().Set("ETag", etag)
	http.ServeContent(&breaking{w, part}, r, "", time.Time{}, strings.NewReader(content))
}

// serveEndless is like serve, but a whole file has no length, and its connection breaks only where its end should be.
func serveEndless(w http.ResponseWriter, r *http.Request, etag, content string) {
	w.Header().Set("ETag", etag)
	if r.Header.Get("Range") != "" {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		return
	}
	io.WriteString(w, content)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// A file comes over connections that break, and whatever happens between them.
func TestBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		handler  func(w http.ResponseWriter, r *http.Request, n int)
		want     string
		requests int
	}{
		"ranges": {func(w http.ResponseWriter, r *http.Request, _ int) {
			serve(w, r, `"1"`, first)
		}, first, 5},
		"changed": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n <= 2 {
				serve(w, r, `"1"`, first)
			} else {
				serve(w, r, `"2"`, second)
			}
		}, second, 7},
		"changed, If-Range ignored": {func(w http.ResponseWriter, r *http.Request, n int) {
			r.Header.Del("If-Range")
			if n <= 2 {
				serve(w, r, `"1"`, first)
			} else {
				serve(w, r, `"2"`, second)
			}
		}, second, 8},
		"shorter, If-Range ignored": {func(w http.ResponseWriter, r *http.Request, n int) {
			r.Header.Del("If-Range")
			if n <= 2 {
				serve(w, r, `"1"`, first)
			} else {
				serve(w, r, `"2"`, second[:part/2])
			}
		}, second[:part/2], 4},
		"as long as what has come, If-Range ignored": {func(w http.ResponseWriter, r *http.Request, n int) {
			r.Header.Del("If-Range")
			if n <= 2 {
				serve(w, r, `"1"`, first)
			} else {
				w.Header().Set("ETag", `"2"`)
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(second[:2*part]))
			}
		}, second[:2*part], 5},
		"another part than asked for": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 2 {
				r.Header.Set("Range", "bytes=0-99")
			}
			serve(w, r, `"1"`, first)
		}, first, 7},
		"less than asked for": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 2 {
				r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part, part+99))
			}
			serve(w, r, `"1"`, first)
		}, first, 6},
		"no length at first": {func(w http.ResponseWriter, r *http.Request, n int) {
			switch n {
			case 1:
				w.Header().Set("ETag", `"1"`)
				w.(http.Flusher).Flush()
				io.WriteString(&breaking{w, part}, first)
			case 2:
				r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", part, part+99))
			}
			serve(w, r, `"1"`, first)
		}, first, 6},
		"no length, and no end": {func(w http.ResponseWriter, r *http.Request, _ int) {
			serveEndless(w, r, `"1"`, first)
		}, first, 3},
		"no length, no end, and no total in parts": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n < 3 {
				serveEndless(w, r, `"1"`, first)
				return
			}
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", len(first)-1, len(first)-1))
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte(first[len(first)-1:]))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, first, 3},
		"no length, no end, and a server that repeats the ETag": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 2 {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(first)))
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			serveEndless(w, r, `"1"`, first)
		}, first, 3},
		"no length, no end, changed, If-Range ignored": {func(w http.ResponseWriter, r *http.Request, n int) {
			r.Header.Del("If-Range")
			if n == 1 {
				serveEndless(w, r, `"1"`, first)
			} else {
				serveEndless(w, r, `"2"`, second)
			}
		}, second, 6},
		"busy for more than ten minutes": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n%2 == 0 {
				w.Header().Set("Retry-After", "180")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			serve(w, r, `"1"`, first)
		}, first, 9},
		"a new token": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				w.Header().Set("X-Should-Retry", "true")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			serve(w, r, `"1"`, first)
		}, first, 6},
		"silence": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				defer func() {
					recover()
					<-r.Context().Done()
				}()
			}
			serve(w, r, `"1"`, first)
		}, first, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &mirror{handler: test.handler}
			got, err := m.get(t)
			require.NoError(t, err, name)
			require.True(t, got == test.want, name)
			require.Equal(t, test.requests, m.requests, name)
		})
	}
}

// A file that cannot come leaves what was there.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		handler  func(w http.ResponseWriter, r *http.Request, n int)
		requests int // 0: as many as ten minutes have
		err      string
	}{
		"gone":      {func(w http.ResponseWriter, r *http.Request, _ int) { http.NotFound(w, r) }, 1, "404"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusUnauthorized) }, 1, "401"},
		"416 to the whole": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		}, 1, "416"},
		"gzip": {func(w http.ResponseWriter, r *http.Request, _ int) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "packed")
		}, 1, "gzip"},
		"gzip from the middle": {func(w http.ResponseWriter, r *http.Request, n int) {
			if n > 1 {
				w.Header().Set("Content-Encoding", "gzip")
			}
			serve(w, r, `"1"`, first)
		}, 2, "gzip"},
		"a wait too long": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Retry-After", "1200")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 1, "503"},
		"no ranges": {func(w http.ResponseWriter, r *http.Request, _ int) {
			r.Header.Del("Range")
			serve(w, r, `"1"`, first)
		}, 0, "EOF"},
		"a weak ETag": {func(w http.ResponseWriter, r *http.Request, _ int) {
			r.Header.Del("If-Range")
			serve(w, r, `W/"1"`, first)
		}, 0, "EOF"},
		"changes all the time": {func(w http.ResponseWriter, r *http.Request, n int) {
			serve(w, r, fmt.Sprintf(`"%d"`, n), first)
		}, 0, "EOF"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &mirror{handler: test.handler}
			got, err := m.get(t)
			require.Contains(t, fmt.Sprint(err), test.err, name)
			require.Equal(t, old, got, name)
			if test.requests > 0 {
				require.Equal(t, test.requests, m.requests, name)
				return
			}
			require.InDelta(t, 9*time.Minute, time.Since(m.start), 2*minutes, name)
		})
	}
}

// A date in Retry-After is by the server's clock, which is two hours ahead here. The refusals use one connection.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mirror{handler: func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 5 {
				io.WriteString(w, first)
				return
			}
			now := time.Now().Add(2 * time.Hour).UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, strings.Repeat("busy ", 1000))
		}}
		got, err := m.get(t)
		require.NoError(t, err)
		require.True(t, got == first)
		require.InDelta(t, 4*time.Minute, time.Since(m.start), minutes/6)
		require.Equal(t, 1, m.network.Dials())
	})
}
