//go:build go1.25

package token_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/memory"
	"example.com/backoff/examples/token"
	"example.com/backoff/httpretry"
)

// A base sends requests without TLS, whose last words a connection in memory would wait for. The path says what was asked
// for.
type base struct{ *http.Transport }

func (b base) RoundTrip(req *http.Request) (*http.Response, error) {
	plain := req.Clone(req.Context())
	plain.URL.Path = "/" + req.URL.Scheme + req.URL.Path
	plain.URL.Scheme = "http"
	return b.Transport.RoundTrip(plain)
}

// An api accepts one token. It has any host, and notes the requests.
type api struct {
	signer   *token.Signer
	network  *memory.Listener
	fetched  atomic.Int64 // tokens
	mu       sync.Mutex
	valid    string // the token
	refuse   func(w http.ResponseWriter, r *http.Request) bool
	requests []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wait, _ := time.ParseDuration(r.URL.Query().Get("wait"))
	time.Sleep(wait)
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	request := fmt.Sprintf("%s %s%s %s %s", r.Method, r.Host, r.URL.Path, body, sent)
	a.requests = append(a.requests, strings.TrimSpace(request))
	switch {
	case a.refuse != nil && a.refuse(w, r):
	case r.URL.Path == "/https/away":
		http.Redirect(w, r, "https://other.example.com/", http.StatusFound)
	case r.Host == "example.com" && (sent != a.valid || r.URL.Path == "/https/secret"):
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, strings.Repeat("no ", 1000))
	default:
		io.WriteString(w, "welcome")
	}
}

// run calls f in a synctest bubble, with an api whose token server gives token1, token2 and so on.
func run(t *testing.T, f func(t *testing.T, a *api)) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{network: memory.Listen(), valid: "token1"}
		server := &http.Server{Handler: a}
		go server.Serve(a.network)
		defer server.Close()
		defer synctest.Wait() // until no connection is being made
		transport := &http.Transport{DialContext: a.network.Dial}
		defer transport.CloseIdleConnections()

		a.signer = &token.Signer{
			Host: "example.com",
			Fetch: func(context.Context) (string, error) {
				return fmt.Sprint("token", a.fetched.Add(1)), nil
			},
			Base: base{transport},
		}
		f(t, a)
	})
}

// post sends a POST.
func post(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// status returns the status of the answer to a POST.
func status(t *testing.T, client *http.Client, url string) int {
	resp, err := post(t.Context(), client, url)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp.StatusCode
}

// A POST is sent again with a new token if the old one has expired, and the next one has that token.
func TestExpired(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		client := token.NewClient(a.signer)
		require.Equal(t, 200, status(t, client, "https://example.com/"))
		time.Sleep(time.Hour)
		a.valid = "token2"
		require.Equal(t, 200, status(t, client, "https://example.com/"))
		require.Equal(t, 200, status(t, client, "https://example.com/"))
		require.Equal(t, []string{
			"POST example.com/https/ body token1",
			"POST example.com/https/ body token1",
			"POST example.com/https/ body token2",
			"POST example.com/https/ body token2",
		}, a.requests)
		require.Equal(t, 1, a.network.Dials())
	})
}

// Requests that are refused together get one new token, though the answers come at different times.
func TestRenewed(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		client := token.NewClient(a.signer)
		require.Equal(t, 200, status(t, client, "https://example.com/"))
		time.Sleep(time.Hour)
		a.valid = "token2"
		var group sync.WaitGroup
		for n := 1; n <= 4; n++ { // seconds, less than AttemptTimeout
			group.Go(func() { status(t, client, fmt.Sprintf("https://example.com/?wait=%ds", n)) })
		}
		group.Wait()
		require.Len(t, a.requests, 1+2*4)
		require.EqualValues(t, 2, a.fetched.Load())
	})
}

// A poll goes on when its token expires, with one new token.
func TestPoll(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		reader := token.NewReader(a.signer)
		for minute := range 180 {
			a.mu.Lock()
			a.valid = fmt.Sprint("token", minute/60+1)
			a.mu.Unlock()
			body, err := reader.Read(t.Context(), "https://example.com/")
			require.NoError(t, err)
			require.Equal(t, "welcome", string(body))
			time.Sleep(time.Minute)
		}
		require.Len(t, a.requests, 180+2)
		require.EqualValues(t, 3, a.fetched.Load())
		require.Equal(t, 1, a.network.Dials())
	})
}

// A page that is forbidden to all tokens costs one of them in ten seconds, and one request for each call with a fresh one.
func TestForbidden(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		client := token.NewClient(a.signer)
		reader := token.NewReader(a.signer)
		for range 3 {
			require.Equal(t, 401, status(t, client, "https://example.com/secret"))
			_, err := reader.Read(t.Context(), "https://example.com/secret")
			require.EqualError(t, err, "401 Unauthorized")
		}
		require.Len(t, a.requests, 6)
		require.EqualValues(t, 1, a.fetched.Load())

		time.Sleep(time.Hour)
		for range 3 {
			require.Equal(t, 401, status(t, client, "https://example.com/secret"))
			_, err := reader.Read(t.Context(), "https://example.com/secret")
			require.EqualError(t, err, "401 Unauthorized")
		}
		require.Len(t, a.requests, 6+7)
		require.EqualValues(t, 2, a.fetched.Load())
	})
}

// No other host sees a token, nor does a connection without TLS.
func TestHost(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		client := token.NewClient(a.signer)
		require.Equal(t, 302, status(t, client, "https://example.com/away"))
		client.CheckRedirect = nil
		for _, url := range []string{"https://example.com/away", "http://example.com/", "https://sub.example.com/"} {
			status(t, client, url)
		}
		require.Equal(t, []string{
			"POST example.com/https/away body token1",
			"POST example.com/https/away body token1",
			"GET other.example.com/https/",
			"POST example.com/http/ body",
			"POST sub.example.com/https/ body",
		}, a.requests)
	})
}

// A token server that fails is left alone for a second, or as long as it says, or for ten seconds if it refuses for good.
// Meanwhile nothing is sent.
func TestTokenServer(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		err           error
		fewest, calls int // of Fetch, in a minute
	}{
		"fails":                {down, 50, 60},
		"asks for a minute":    {backoff.RetryAfter(down, time.Minute), 1, 1},
		"refuses":              {backoff.Permanent(down), 6, 6},
		"refuses for a minute": {backoff.RetryAfter(backoff.Permanent(down), time.Minute), 1, 1},
	} {
		run(t, func(t *testing.T, a *api) {
			a.signer.Fetch = func(context.Context) (string, error) {
				a.fetched.Add(1)
				return "", test.err
			}
			client := token.NewClient(a.signer)
			reader := token.NewReader(a.signer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var group sync.WaitGroup
			for range 600 {
				group.Go(func() {
					_, err := post(ctx, client, "https://example.com/")
					require.ErrorIs(t, err, down, name)
				})
				group.Go(func() {
					_, err := reader.Read(ctx, "https://example.com/")
					require.ErrorIs(t, err, down, name)
				})
				time.Sleep(time.Second / 10)
			}
			group.Wait()
			require.GreaterOrEqual(t, int(a.fetched.Load()), test.fewest, name)
			require.LessOrEqual(t, int(a.fetched.Load()), test.calls, name)
			require.Empty(t, a.requests, name)
		})
	}
}

// While the token server fails or hangs for a few seconds, no request is lost, and none is sent twice, though they are
// POSTs. The API has not been slow, so its Slots limit nothing.
func TestTokenServerBack(t *testing.T) {
	for name, hangs := range map[string]bool{"fails": false, "hangs": true} {
		run(t, func(t *testing.T, a *api) {
			start := time.Now()
			a.signer.Fetch = func(ctx context.Context) (string, error) {
				switch {
				case time.Since(start) > 2500*time.Millisecond:
					return "token1", nil
				case hangs:
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "", errors.New("down")
			}
			client := token.NewClient(a.signer)
			slots := client.Transport.(*httpretry.Transport).Slots
			var group sync.WaitGroup
			for range 600 {
				group.Go(func() {
					require.Equal(t, 200, status(t, client, "https://example.com/"), name)
					require.Less(t, time.Since(start), 8*time.Second, name)
				})
				require.Equal(t, math.MaxInt, slots.Limit(), name)
				time.Sleep(time.Second / 100)
			}
			group.Wait()
			require.Len(t, a.requests, 600, name)
		})
	}
}

// Requests share a call of the token server. One whose context ends leaves it to the others. One that hangs ends.
func TestFetch(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		var hang time.Duration
		a.signer.Fetch = func(ctx context.Context) (string, error) {
			select {
			case <-time.After(hang):
				return fmt.Sprint("token", a.fetched.Add(1)), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		reader := token.NewReader(a.signer)
		start := time.Now()

		hang = time.Hour
		_, err := reader.Read(t.Context(), "https://example.com/")
		require.Contains(t, fmt.Sprint(err), context.DeadlineExceeded.Error())
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the API has not been slow")
		var timeout interface{ Timeout() bool }
		require.False(t, errors.As(err, &timeout) && timeout.Timeout())
		require.InDelta(t, 4*4+3, time.Since(start).Seconds(), 3, "four attempts")

		time.Sleep(time.Minute)
		hang = 3 * time.Second
		start = time.Now()
		var group sync.WaitGroup
		for n := range 10 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n+1)*time.Minute)
				defer cancel()
				if n == 0 {
					time.AfterFunc(time.Second, cancel)
				}
				_, err := reader.Read(ctx, "https://example.com/")
				require.Equal(t, n == 0, errors.Is(err, context.Canceled), "%v", err)
				require.Equal(t, n == 0, time.Since(start) == time.Second)
			})
		}
		group.Wait()
		require.Equal(t, 3*time.Second, time.Since(start))
		require.EqualValues(t, 1, a.fetched.Load())
	})
}

// A Reader asks again after a body that broke, and a service that is busy, by whose clock its dates are. It does not take a
// body that is too long for a whole one.
func TestRead(t *testing.T) {
	run(t, func(t *testing.T, a *api) {
		a.refuse = func(w http.ResponseWriter, r *http.Request) bool {
			now := time.Now().Add(2 * time.Hour).UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			switch {
			case r.URL.Path == "/https/long":
				io.WriteString(w, strings.Repeat("long", 1<<18)+"!")
				return true
			case len(a.requests) == 1:
				w.Header().Set("Content-Length", "7")
				io.WriteString(w, "wel")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			case len(a.requests) == 2:
				w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			return false
		}
		reader := token.NewReader(a.signer)
		start := time.Now()
		body, err := reader.Read(t.Context(), "https://example.com/")
		require.NoError(t, err)
		require.Equal(t, "welcome", string(body))
		require.Len(t, a.requests, 3)
		require.InDelta(t, time.Minute, time.Since(start), float64(5*time.Second))

		_, err = reader.Read(t.Context(), "https://example.com/long")
		require.Contains(t, fmt.Sprint(err), "too long")
		require.Len(t, a.requests, 4)
	})
}
