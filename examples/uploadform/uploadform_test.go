//go:build go1.25

package uploadform_test

import (
	"context"
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

	"example.com/backoff/examples/memory"
	"example.com/backoff/examples/uploadform"
)

var content = strings.Repeat("content.", 10<<10)

// A service is a server in memory, its client with a file, and what it has seen.
type service struct {
	client   *http.Client
	network  *memory.Listener
	path     string // the file
	requests int
	types    map[string]bool // the Content-Types, with their boundaries
}

// run calls f in a synctest bubble, with a service that runs handler. The first request is number 1.
func run(t *testing.T, handler func(w http.ResponseWriter, r *http.Request, n int), f func(t *testing.T, s *service)) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{
			network: memory.Listen(),
			path:    filepath.Join(t.TempDir(), "file.txt"),
			types:   make(map[string]bool),
		}
		require.NoError(t, os.WriteFile(s.path, []byte(content), 0o666))
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests++
			s.types[r.Header.Get("Content-Type")] = true
			handler(w, r, s.requests)
		})}
		go server.Serve(s.network)
		defer server.Close()
		s.client = uploadform.NewClient(&http.Transport{DialContext: s.network.Dial})
		defer s.client.CloseIdleConnections()
		f(t, s)
	})
}

// upload uploads the file.
func (s *service) upload(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	return uploadform.Upload(ctx, s.client, "http://localhost/", s.path, "key 1")
}

// received returns nil if the form of r is whole.
func received(r *http.Request) error {
	file, header, err := r.FormFile("file")
	if err != nil {
		return err
	}
	got, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if string(got) != content || header.Filename != "file.txt" || r.Header.Get("Idempotency-Key") != "key 1" {
		return fmt.Errorf("%d bytes of %q, with the key %q", len(got), header.Filename, r.Header.Get("Idempotency-Key"))
	}
	return nil
}

// A form comes whole, and the same in each attempt, after a refusal, a connection that broke in the middle, and silence.
func TestUpload(t *testing.T) {
	var err error
	run(t, func(w http.ResponseWriter, r *http.Request, n int) {
		switch n {
		case 1:
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			io.CopyN(io.Discard, r.Body, 1000)
			panic(http.ErrAbortHandler)
		case 3:
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		case 4:
			err = received(r)
		}
	}, func(t *testing.T, s *service) {
		require.NoError(t, s.upload(t))
		require.NoError(t, err)
		require.Equal(t, 4, s.requests)
		require.Len(t, s.types, 1)
	})
}

// Uploads whose answers have bodies use one connection.
func TestConnection(t *testing.T) {
	for _, status := range []int{201, 400} {
		run(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			io.WriteString(w, strings.Repeat("answer ", 1000))
		}, func(t *testing.T, s *service) {
			for range 5 {
				err := s.upload(t)
				require.Equal(t, status < 300, err == nil)
			}
			require.Equal(t, 5, s.requests)
			require.Equal(t, 1, s.network.Dials())
		})
	}
}

// The error of a refusal says what the server says, in up to 1 KB.
func TestRefusal(t *testing.T) {
	for _, answer := range []string{"", "the field \"date\" is missing", strings.Repeat("no", 1000)} {
		run(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, answer)
		}, func(t *testing.T, s *service) {
			want := fmt.Sprintf("400 Bad Request: %q", answer[:min(len(answer), 1<<10)])
			require.EqualError(t, s.upload(t), want)
		})
	}
}

// A redirect is an error, and is not followed.
func TestRedirect(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		run(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/new")
			w.WriteHeader(status)
		}, func(t *testing.T, s *service) {
			require.Contains(t, fmt.Sprint(s.upload(t)), fmt.Sprint(status))
			require.Equal(t, 1, s.requests)
		})
	}
}

// A file that has changed between two attempts, or is gone, is not sent.
func TestChanged(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"shorter": func(path string) error { return os.WriteFile(path, []byte("short"), 0o666) },
		"longer":  func(path string) error { return os.WriteFile(path, []byte(content+"more"), 0o666) },
		"gone":    os.Remove,
	} {
		var path string
		run(t, func(w http.ResponseWriter, r *http.Request, n int) {
			io.Copy(io.Discard, r.Body)
			if n == 1 && change(path) == nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, func(t *testing.T, s *service) {
			path = s.path
			require.Error(t, s.upload(t), name)
		})
	}
}
