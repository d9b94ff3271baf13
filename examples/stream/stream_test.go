//go:build go1.25

package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff/examples/memory"
	"example.com/backoff/examples/stream"
)

// A model is a server in memory, with what it has seen.
type model struct {
	client   *http.Client
	network  *memory.Listener
	requests int
}

// run calls f in a synctest bubble, with a model that runs handler. The first request is number 1.
func run(t *testing.T, handler func(w http.ResponseWriter, r *http.Request, n int), f func(t *testing.T, m *model)) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{network: memory.Listen()}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m.requests++
			question, err := io.ReadAll(r.Body)
			if err == nil && string(question) == `{"question": 1}` {
				handler(w, r, m.requests)
			}
		})}
		go server.Serve(m.network)
		defer server.Close()
		m.client = stream.NewClient(&http.Transport{DialContext: m.network.Dial})
		defer m.client.CloseIdleConnections()
		f(t, m)
	})
}

// ask returns the lines of the answer.
func (m *model) ask(t *testing.T) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	var lines strings.Builder
	err := stream.Ask(ctx, m.client, "http://localhost/", []byte(`{"question": 1}`), func(line string) {
		lines.WriteString(line + "|")
	})
	return lines.String(), err
}

// answer begins a stream with text.
func answer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// A question is asked again until the answer begins: after an overload, a conflict with its own earlier attempt, and
// silence. Then it is never asked again.
func TestAsk(t *testing.T) {
	for name, test := range map[string]struct {
		end  string
		err  error
		then func(r *http.Request)
	}{
		"whole":          {end: "data: [DONE]\n\n"},
		"ends too early": {err: io.ErrUnexpectedEOF},
		"breaks":         {err: io.ErrUnexpectedEOF, then: func(*http.Request) { panic(http.ErrAbortHandler) }},
		"stalls":         {err: os.ErrDeadlineExceeded, then: func(r *http.Request) { <-r.Context().Done() }},
	} {
		run(t, func(w http.ResponseWriter, r *http.Request, n int) {
			switch n {
			case 1:
				w.WriteHeader(529)
			case 2:
				w.Header().Set("Retry-After", "300")
				w.WriteHeader(http.StatusTooManyRequests)
			case 3:
				<-r.Context().Done()
			case 4:
				w.WriteHeader(http.StatusConflict)
			case 5:
				answer(w, "data: a\n\n"+test.end)
				if test.then != nil {
					test.then(r)
				}
			}
		}, func(t *testing.T, m *model) {
			got, err := m.ask(t)
			require.True(t, errors.Is(err, test.err), "%s: %v", name, err)
			require.Equal(t, "data: a||", got, name)
			require.Equal(t, 5, m.requests, name)
		})
	}
}

// Answers and refusals with bodies use one connection.
func TestConnection(t *testing.T) {
	run(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n%2 == 0 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, strings.Repeat("too long ", 1000))
			return
		}
		answer(w, strings.Repeat("data: a\n\n", 1000)+"data: [DONE]\n")
		time.Sleep(time.Second / 10)
		io.WriteString(w, "\n")
	}, func(t *testing.T, m *model) {
		for n := range 6 {
			_, err := m.ask(t)
			require.Equal(t, n%2 == 0, err == nil, "%v", err)
		}
		require.Equal(t, 6, m.requests)
		require.Equal(t, 1, m.network.Dials())
	})
}

// An answer that does not end takes no more than a second.
func TestNoEnd(t *testing.T) {
	run(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		answer(w, "data: [DONE]\n\n")
		<-r.Context().Done()
	}, func(t *testing.T, m *model) {
		start := time.Now()
		_, err := m.ask(t)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), time.Second)
	})
}

// What is no stream is an error that says what came instead.
func TestNoStream(t *testing.T) {
	for _, status := range []int{200, 302, 307, 400, 401} {
		run(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Location", "/new")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			io.WriteString(w, "please log in")
		}, func(t *testing.T, m *model) {
			got, err := m.ask(t)
			require.Contains(t, fmt.Sprint(err), fmt.Sprint(status))
			require.Contains(t, fmt.Sprint(err), "please log in")
			require.Empty(t, got)
			require.Equal(t, 1, m.requests)
		})
	}
}
