package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

// tokens is a base that signs each attempt with a token. If the server no longer accepts an old token, the next attempt
// has a new one. If it does not accept a new one either, its answer is final.
type tokens struct {
	base  http.RoundTripper
	fetch func(ctx context.Context) (string, error)

	mu    sync.Mutex
	token string // empty if a new one is needed
}

func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	token, fresh, err := t.get(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}

	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	t.drop(token)
	if !fresh {
		resp.Header.Set("X-Should-Retry", "true")
	}
	return resp, nil
}

// get returns the token, and whether it is new.
func (t *tokens) get(ctx context.Context) (token string, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" {
		return t.token, false, nil
	}
	t.token, err = t.fetch(ctx)
	return t.token, true, err
}

// drop forgets token, unless another request has done so.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
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
				token: "token 1", // which has expired
				fetch: func(context.Context) (string, error) {
					fetched++
					return fmt.Sprint("token ", fetched+1), nil
				},
			},
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
