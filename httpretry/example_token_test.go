package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// tokens is a base that sends a token to one host, and to no other, such as a redirect's. If the server no longer accepts
// an old token, the next attempt has a new one. If it does not accept a new one either, its answer is final.
type tokens struct {
	base  http.RoundTripper
	host  string
	fetch func(ctx context.Context) (string, error)

	mu    sync.Mutex
	token string
	err   error     // of fetch, in place of a token
	fresh time.Time // until then, fetch is not called again
}

func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != t.host {
		return t.base.RoundTrip(req)
	}
	token, err := t.get(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, backoff.Permanent(err)
	}

	req.Header.Set("Authorization", "Bearer "+token) // each attempt has a header of its own
	resp, err := t.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp.Header.Set("X-Should-Retry", strconv.FormatBool(t.drop(token)))
	}
	return resp, err
}

// get returns the token, or why there is none.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == "" && time.Now().After(t.fresh) {
		t.token, t.err = t.fetch(ctx)
		t.fresh = time.Now().Add(10 * time.Second)
	}
	return t.token, t.err
}

// drop forgets a token that was refused, and reports whether there will be another one.
func (t *tokens) drop(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		if time.Now().Before(t.fresh) {
			return false // it is new, so it was refused for another reason than its age
		}
		t.token = ""
	}
	return true
}

// A token that is renewed after a 401, also for a POST: the server has done nothing with it. Retryable must be set for
// that.
func Example_token() {
	const valid = "Bearer token 2"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != valid {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.Copy(w, r.Body)
	}))
	defer server.Close()

	fetched := 0
	client := &http.Client{
		Transport: &httpretry.Transport{
			Base: &tokens{
				base:  http.DefaultTransport,
				host:  server.Listener.Addr().String(),
				token: "token 1", // which has expired
				fetch: func(context.Context) (string, error) {
					fetched++
					return fmt.Sprint("token ", fetched+1), nil
				},
			},
			Slots: new(backoff.Slots), // fewer requests at once while many time out
			Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
				return httpretry.Retryable(resp, err)
			},
			Policy: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
		},
	}
	resp, err := client.Post(server.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Status, string(body))
	// Output:
	// POST Bearer token 1
	// POST Bearer token 2
	// 200 OK hello
}
