package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var errDown = errors.New("down")

// A request that finds no slot waits for four of its five seconds. An order that does not exist is looked for once.
func TestHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		server := Server{store: func(context.Context, int64) (*Order, error) {
			calls++
			return nil, sql.ErrNoRows
		}}
		_, err := server.order(t.Context(), 1)
		require.Equal(t, sql.ErrNoRows, err)
		require.Equal(t, 1, calls)

		for range 15 {
			require.NoError(t, orders.Slots.Acquire(t.Context(), 0))
			defer orders.Slots.Release()
		}
		start := time.Now()
		_, err = server.order(t.Context(), 1)
		require.ErrorIs(t, err, backoff.ErrNoSlot)
		require.Equal(t, 4*time.Second, time.Since(start))
	})
}

// A message is set aside after eleven attempts, which take about a minute.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts, aside := 0, 0
		worker := Worker{
			deliver:    func(context.Context, *Message) error { attempts++; return errDown },
			deadLetter: func(context.Context, *Message, error) error { aside++; return nil },
		}
		start := time.Now()
		require.NoError(t, worker.handle(t.Context(), nil))
		require.Equal(t, 11, attempts)
		require.Equal(t, 1, aside)
		require.InDelta(t, time.Minute, time.Since(start), float64(30*time.Second))

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		require.ErrorIs(t, worker.handle(ctx, nil), context.Canceled)
		require.Equal(t, 1, aside)
	})
}

// Where nothing succeeds, a batch ends early, with a short error. Bad files do not end it.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		var attempts atomic.Int64
		upload = func(context.Context, ...any) error {
			attempts.Add(1)
			return errDown
		}
		start := time.Now()
		err := uploadAll(t.Context(), make5000())
		require.ErrorIs(t, err, errDown)
		require.ErrorContains(t, err, "5000 files are not uploaded\ntwenty failures in a row")
		require.LessOrEqual(t, attempts.Load(), int64(100*21+100))
		require.InDelta(t, 13*time.Minute, time.Since(start), float64(3*time.Minute))

		upload = func(_ context.Context, with ...any) error {
			if strings.HasPrefix(with[0].(string), "file 7") {
				return backoff.Permanent(errDown)
			}
			return nil
		}
		require.EqualError(t, uploadAll(t.Context(), make5000()), "111 files are not uploaded")

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err = uploadAll(ended, make5000())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "5000 files are not uploaded")
	})
}

func make5000() []string {
	files := make([]string, 5000)
	for i := range files {
		files[i] = fmt.Sprint("file ", i)
	}
	return files
}

type baseFunc func(req *http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Of two hundred POSTs at once to an API of ten a second none is lost.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var second atomic.Int64
		var inSecond atomic.Int64
		limited.Transport.(*httpretry.Transport).Base = baseFunc(func(*http.Request) (*http.Response, error) {
			now := time.Now().Unix()
			if second.Swap(now) != now {
				inSecond.Store(0)
			}
			resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
			if inSecond.Add(1) > 10 {
				resp.StatusCode = 429
				resp.Header.Set("Retry-After", "1")
			}
			return resp, nil
		})

		good := make(chan bool)
		for range 200 {
			go func() {
				resp, err := limited.Post("http://localhost", "", strings.NewReader("body"))
				good <- err == nil && resp.Body.Close() == nil && resp.StatusCode == 200
			}()
		}
		for range 200 {
			require.True(t, <-good)
		}
	})
}

// An overloaded API is asked again. A stream that stalls ends with an error, and so does one that ends too early.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, answer := 0, ""
		model.Transport.(*httpretry.Transport).Base = baseFunc(func(req *http.Request) (*http.Response, error) {
			requests++
			if requests < 3 {
				return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
			}
			if answer != "" {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(answer))}, nil
			}
			read, write := io.Pipe()
			go fmt.Fprintln(write, "Hello")
			context.AfterFunc(req.Context(), func() { write.CloseWithError(req.Context().Err()) })
			return &http.Response{StatusCode: 200, Body: read}, nil
		})
		modelURL = "http://localhost"

		var lines []string
		err := ask(t.Context(), []byte("question"), func(line string) { lines = append(lines, line) })
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, []string{"Hello"}, lines)
		require.Equal(t, 3, requests)

		answer = "Hello\n"
		require.Equal(t, io.ErrUnexpectedEOF, ask(t.Context(), nil, func(string) {}))
		answer = "Hello\ndata: [DONE]\n"
		require.NoError(t, ask(t.Context(), nil, func(string) {}))
	})
}

// A POST is sent again with a new token, and the next one has it. Without a new token, nothing is sent.
func TestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, requests := 0, 0
		newToken = func() (string, error) {
			tokens++
			return fmt.Sprint("token ", tokens), nil
		}
		defaultTransport := http.DefaultTransport
		defer func() { http.DefaultTransport = defaultTransport }()
		http.DefaultTransport = baseFunc(func(req *http.Request) (*http.Response, error) {
			requests++
			resp := &http.Response{StatusCode: 200, Body: http.NoBody}
			if req.Header.Get("Authorization") != "Bearer token 2" {
				resp.StatusCode = http.StatusUnauthorized
			}
			return resp, nil
		})

		for range 2 {
			resp, err := account.Post("http://localhost", "", strings.NewReader("body"))
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, 200, resp.StatusCode)
		}
		require.Equal(t, 2, tokens)
		require.Equal(t, 3, requests)

		newToken = func() (string, error) {
			tokens++
			return "", errDown
		}
		account.Transport.(*httpretry.Transport).Base.(*signer).token.Store(nil)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", nil)
			require.NoError(t, err)
			_, err = account.Do(req)
			require.ErrorIs(t, err, errDown)
		}
		require.Equal(t, 4, tokens)
		require.Equal(t, 3, requests)
	})
}

// Many requests may find at once that a token has expired, and a request ends with its context.
func TestTokens(t *testing.T) {
	defaultTransport := http.DefaultTransport
	defer func() { http.DefaultTransport = defaultTransport }()
	http.DefaultTransport = baseFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, nil
	})
	newToken = func() (string, error) { return "token", nil }
	signer := new(signer)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			for range 200 {
				_, err := signer.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil))
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()

	hang := make(chan struct{})
	defer close(hang)
	newToken = func() (string, error) { <-hang; return "", errDown }
	signer.token.Store(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := signer.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	require.ErrorIs(t, err, context.Canceled)
}

// A file of 20 KB comes through a connection that breaks after each four, also if it changes meanwhile. A server that
// always breaks at the same place, and has no ranges, is given up.
func TestDownload(t *testing.T) {
	content := strings.Repeat("content.", 20<<10/8)
	changed := "changed" + content

	for _, test := range []struct {
		name     string
		etag     string
		changes  bool
		requests int
		want     string
	}{
		{"ranges", `"a"`, false, 5, content},
		{"changes", `"a"`, true, 8, changed},
		{"no ranges", "", false, 6, ""},
		{"weak", `W/"a"`, false, 6, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			mirror.Transport.(*httpretry.Transport).Base = baseFunc(func(req *http.Request) (*http.Response, error) {
				requests++
				served, etag := content, test.etag
				if test.changes && requests > 2 {
					served, etag = changed, `"b"`
				}
				recorder := httptest.NewRecorder()
				recorder.Header().Set("ETag", etag)
				http.ServeContent(recorder, req, "", time.Time{}, strings.NewReader(served))
				resp := recorder.Result()
				resp.Body = breaking(resp.Body)
				return resp, nil
			})
			file, err := os.Create(filepath.Join(t.TempDir(), "file"))
			require.NoError(t, err)
			defer file.Close()

			sum := sha256.Sum256([]byte(test.want))
			err = download(t.Context(), file, "http://localhost", hex.EncodeToString(sum[:]))
			require.Equal(t, test.requests, requests, test.name)
			if test.want == "" {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, test.name)
				return
			}
			require.NoError(t, err, test.name)
			got, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			require.Equal(t, test.want, string(got), test.name)
		})
	}
}

// breaking returns a body that breaks after 4 KB, if it is longer.
func breaking(body io.ReadCloser) io.ReadCloser {
	content, _ := io.ReadAll(body)
	if len(content) <= 4<<10 {
		return io.NopCloser(bytes.NewReader(content))
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(content[:4<<10]), iotest.ErrReader(io.ErrUnexpectedEOF)))
}

// Of a program's calls each is tried three times, and the first that fails ends it.
func TestCLI(t *testing.T) {
	remote.Policy = func() backoff.BackOff { return &backoff.ZeroBackOff{} } // signals know no bubble
	var calls []any
	upload = func(_ context.Context, with ...any) error {
		calls = append(calls, with[0])
		if with[0] == "b" {
			return errDown
		}
		return nil
	}
	require.ErrorIs(t, run(t.Context(), []string{"a", "b", "c"}), errDown)
	require.Equal(t, []any{"a", "b", "b", "b"}, calls)
}

// A database is one that answers each login with an error.
type database string

func (d database) Error() string         { return "SQLSTATE " + string(d) }
func (d database) SQLState() string      { return string(d) }
func (d database) Driver() driver.Driver { return nil }
func (d database) Connect(context.Context) (driver.Conn, error) {
	return nil, fmt.Errorf("login: %w", d)
}

// Waiting for a database ends after its time and not after three retries, but at once if the password is wrong. A
// report is asked for at equal distances.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		for state, after := range map[database]time.Duration{"57P03": 2 * time.Minute, "28P01": 0} {
			db := sql.OpenDB(state)
			defer db.Close()
			start := time.Now()
			require.ErrorIs(t, waitForDB(t.Context(), db), state)
			require.InDelta(t, after, time.Since(start), float64(after/15))
		}

		asked := 0
		last := time.Time{}
		reportState = func(context.Context, string) (string, error) {
			asked++
			if asked > 1 {
				require.GreaterOrEqual(t, time.Since(last), 5*time.Second)
				require.LessOrEqual(t, time.Since(last), 15*time.Second)
			}
			last = time.Now()
			if asked == 20 {
				return "done", nil
			}
			return "running", nil
		}
		state, err := waitForReport(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, "done", state)
	})
}

// The loop of a connection goes on until its context ends, and starts over after a healthy minute.
func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		dials := 0
		lost := time.Time{}
		connect = func(context.Context) (*Conn, error) {
			dials++
			switch {
			case dials == 21:
				return &Conn{}, nil // healthy for an hour
			case dials == 22:
				require.LessOrEqual(t, time.Since(lost), 750*time.Millisecond)
				stop()
			}
			return nil, errDown
		}
		listen = func(context.Context, *Conn) error {
			time.Sleep(time.Hour)
			lost = time.Now()
			return nil
		}
		err := stayConnected(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errDown)
		require.Equal(t, 22, dials)
	})
}
