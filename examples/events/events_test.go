//go:build go1.25

package events_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/examples/events"
	"example.com/backoff/examples/memory"
)

// A service is a server in memory, its client, and what it has seen.
type service struct {
	*http.Client
	network  *memory.Listener
	requests []time.Duration // when they came
	last     string          // the newest Last-Event-ID
}

// run calls f in a synctest bubble, with the client of a server that runs handler. The first request is number 1.
func run(t *testing.T, handler func(w http.ResponseWriter, r *http.Request, n int), f func(t *testing.T, s *service)) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{network: memory.Listen()}
		start := time.Now()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests = append(s.requests, time.Since(start))
			s.last = r.Header.Get("Last-Event-ID")
			handler(w, r, len(s.requests))
		})}
		go server.Serve(s.network)
		defer time.Sleep(time.Minute) // of the bubble's time, in which the handlers end
		defer server.Close()

		s.Client = events.NewClient(&http.Transport{DialContext: s.network.Dial})
		defer s.CloseIdleConnections()
		f(t, s)
	})
}

// follow returns the events of a stream, as text.
func (s *service) follow(ctx context.Context) (string, error) {
	var got strings.Builder
	err := events.Follow(ctx, s.Client, "http://localhost/", "", func(event events.Event) {
		fmt.Fprintf(&got, "%s/%s/%q ", event.ID, event.Type, event.Data)
	})
	return strings.TrimSuffix(got.String(), " "), err
}

// stream sends parts of a stream, with a second before each but the first.
func stream(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for i, part := range parts {
		if i > 0 {
			time.Sleep(time.Second)
		}
		io.WriteString(w, part)
		w.(http.Flusher).Flush()
	}
}

// What a stream means, and the ID with which the next one is asked for.
func TestStream(t *testing.T) {
	for name, test := range map[string]struct{ stream, want, last string }{
		"LF":             {"id: 1\ndata: a\ndata: b\n\n", `1/message/"a\nb"`, "1"},
		"CR":             {"id: 1\rdata: a\rdata: b\r\r", `1/message/"a\nb"`, "1"},
		"CR LF":          {"id: 1\r\ndata: a\r\ndata: b\r\n\r\n", `1/message/"a\nb"`, "1"},
		"all":            {"id: 1\rdata: a\r\ndata: b\n\r\n", `1/message/"a\nb"`, "1"},
		"no space":       {"id:1\ndata:  a\ndata\n\n", `1/message/" a\n"`, "1"},
		"type":           {"event: add\ndata: a\n\ndata: b\n\n", `/add/"a" /message/"b"`, ""},
		"comment":        {": id: 2\nid: 1\ndata: a\n\n:\n\n", `1/message/"a"`, "1"},
		"byte order":     {"\ufeffdata: a\n\n\ufeffdata: b\n\n", `/message/"a"`, ""},
		"half":           {"id: 1\ndata: a\n\nid: 2\ndata: b\n", `1/message/"a"`, "1"},
		"NUL":            {"id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", `1/message/"a" 1/message/"b"`, "1"},
		"control":        {"id: 1\nid: \x1b\ndata: a\n\n", `1/message/"a"`, "1"},
		"ID alone":       {"id: 1\n\n", "", "1"},
		"ID taken back":  {"id: 1\ndata: a\n\nid\ndata: b\n\n", `1/message/"a" /message/"b"`, ""},
		"inherited":      {"id: 1\ndata: a\n\ndata: b\n\n", `1/message/"a" 1/message/"b"`, "1"},
		"unknown fields": {"data: a\nfoo: b\nbar\n\n", `/message/"a"`, ""},
	} {
		run(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 2 {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			stream(w, test.stream)
		}, func(t *testing.T, s *service) {
			got, err := s.follow(t.Context())
			require.NoError(t, err, name)
			require.Equal(t, test.want, got, name)
			require.Equal(t, test.last, s.last, name)
		})
	}
}

// An event comes when its line ends by CR, and not only with the byte after that.
func TestCarriageReturn(t *testing.T) {
	run(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		stream(w, "data: a\r\r", "\ndata: b\r\n\r", "\n")
	}, func(t *testing.T, s *service) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		err := events.Follow(ctx, s.Client, "http://localhost/", "", func(event events.Event) {
			got = append(got, event.Data+" "+time.Since(start).String())
			if event.Data == "b" {
				cancel()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []string{"a 0s", "b 1s"}, got)
	})
}

// Each event comes once, whole, and in order, however the streams end, and whatever happens between them.
func TestBreaks(t *testing.T) {
	const all = 50
	run(t, func(w http.ResponseWriter, r *http.Request, n int) {
		last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		next := fmt.Sprintf("id: %d\ndata: %d\n\n", last+1, last+1)
		switch {
		case last == all:
			w.WriteHeader(http.StatusNoContent)
		case n%6 == 0:
			stream(w, next) // a clean end
		case n%6 == 1:
			stream(w, ": hello\n\n")
		case n%6 == 2:
			stream(w, next, fmt.Sprintf("id: %d\ndata: half", last+2))
			panic(http.ErrAbortHandler)
		case n%6 == 3:
			stream(w, next, fmt.Sprintf("id: %d\n", last+2))
			<-r.Context().Done() // silence
		case n%6 == 4:
			panic(http.ErrAbortHandler)
		case n%6 == 5:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}, func(t *testing.T, s *service) {
		var got []string
		err := events.Follow(t.Context(), s.Client, "http://localhost/", "0", func(event events.Event) {
			got = append(got, event.Data)
		})
		require.NoError(t, err)
		require.Len(t, got, all)
		for i, data := range got {
			require.Equal(t, strconv.Itoa(i+1), data)
		}
	})
}

// What the server asks for is the least wait after each break, until it asks for another, and also while it is down.
func TestRetry(t *testing.T) {
	run(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 1:
			stream(w, "retry: 60000\n\ndata: a\n\n")
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			stream(w, "retry: soon\nretry: -1\n\ndata: a\n\n")
		case 4:
			stream(w, "retry: 99999999999\n\ndata: a\n\n") // three years
		case 5:
			stream(w, "retry: 0\n\ndata: a\n\n")
		case 6:
			w.WriteHeader(http.StatusNoContent)
		}
	}, func(t *testing.T, s *service) {
		_, err := s.follow(t.Context())
		require.NoError(t, err)
		require.Len(t, s.requests, 6)
		for i, want := range []time.Duration{time.Minute, time.Minute, time.Minute, time.Hour, 0} {
			require.InDelta(t, want, s.requests[i+1]-s.requests[i], float64(3*time.Second), i)
		}
	})
}

// A date in Retry-After is by the server's clock, which is two hours ahead here. The refusals use one connection.
func TestBusy(t *testing.T) {
	run(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 5 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		now := time.Now().Add(2 * time.Hour).UTC()
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, strings.Repeat("busy ", 1000))
	}, func(t *testing.T, s *service) {
		_, err := s.follow(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 4*time.Minute, s.requests[4], float64(10*time.Second))
		require.Equal(t, 1, s.network.Dials())
	})
}

// What is no stream is asked for once.
func TestNoStream(t *testing.T) {
	for status, text := range map[int]string{200: "200 OK", 401: "401", 404: "404", 302: "302"} {
		run(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			io.WriteString(w, "<html>data: a\n\n</html>")
		}, func(t *testing.T, s *service) {
			got, err := s.follow(t.Context())
			require.Contains(t, fmt.Sprint(err), text)
			require.Empty(t, got)
			require.Len(t, s.requests, 1)
		})
	}
}

// An event of more than a megabyte ends it, in one line or in many.
func TestTooLong(t *testing.T) {
	for _, text := range []string{"data: " + strings.Repeat("a", 1<<20), strings.Repeat("data: abcdefgh\n", 1<<17)} {
		run(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			stream(w, text)
			<-r.Context().Done()
		}, func(t *testing.T, s *service) {
			_, err := s.follow(t.Context())
			require.Contains(t, fmt.Sprint(err), "too long")
			require.Len(t, s.requests, 1)
		})
	}
}

// A server that ends each stream at once is asked once in a minute in the end.
func TestEmpty(t *testing.T) {
	run(t, func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, "") }, func(t *testing.T, s *service) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := s.follow(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, len(s.requests), 100)
	})
}
