package token

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.com/backoff"
)

const (
	fetchTimeout = 4 * time.Second  // less than an attempt may take
	freshFor     = 10 * time.Second // no other token is fetched before, nor after a refusal for good
	failedFor    = time.Second      // nor after a failure
)

// A Signer sends a token to one host, and to no other. Its first use fetches the token. It must not be changed after that.
// It is safe for concurrent use if Fetch is.
type Signer struct {
	// Host is the host and port, as in the URLs.
	Host string

	// Fetch gets a token from the token server. All requests share a call. Its context ends after four seconds, and Fetch
	// must return then. It need not retry: after an error, the requests ask for a token again in a second, or when a
	// [backoff.RetryAfterError] says. An error after which no token will come, such as a wrong password, is marked with
	// [backoff.Permanent].
	Fetch func(ctx context.Context) (string, error)

	// Base sends the requests. Nil means http.DefaultTransport.
	Base http.RoundTripper

	mu    sync.Mutex
	token *token // nil if there is none yet, or none any more
}

// A token is what the token server has answered: a text, or a failure if err is not nil.
type token struct {
	fetched chan struct{} // closed when the fields below are set
	text    string
	err     error
	fresh   time.Time // until then
}

// RoundTrip sends req once. If the answer is 401, a header of it tells httpretry.Retryable whether there will be another
// token.
func (s *Signer) RoundTrip(req *http.Request) (*http.Response, error) {
	base := s.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if req.URL.Scheme != "https" || req.URL.Host != s.Host { // such as a redirect's
		return base.RoundTrip(req)
	}

	t, err := s.current(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	signed := req.Clone(req.Context())
	signed.Header.Set("Authorization", "Bearer "+t.text)
	resp, err := base.RoundTrip(signed)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp.Header.Set("X-Should-Retry", strconv.FormatBool(s.drop(t)))
	}
	return resp, err
}

// current returns the token. If there is none, it fetches one.
func (s *Signer) current(ctx context.Context) (*token, error) {
	s.mu.Lock()
	if s.token == nil || s.token.expired() {
		s.token = &token{fetched: make(chan struct{})}
		go s.fetch(s.token)
	}
	t := s.token
	s.mu.Unlock()

	select {
	case <-t.fetched:
		return t, t.failure()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fetch sets the fields of t. Its context is not that of a request: others wait for the token as well, and httpretry would
// take the connection to the token server for the request's own.
func (s *Signer) fetch(t *token) {
	defer close(t.fetched)
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	t.text, t.err = s.Fetch(ctx)

	holds := freshFor
	if t.err != nil && !t.final() {
		holds = failedFor
	}
	var asked *backoff.RetryAfterError
	if errors.As(t.err, &asked) {
		holds = max(holds, asked.Duration)
	}
	t.fresh = time.Now().Add(holds)
}

// final reports whether Fetch has said that no token will come.
func (t *token) final() bool { return errors.Is(t.err, &backoff.PermanentError{}) }

// failure returns the error of a request for which t is no token, or nil.
func (t *token) failure() error {
	switch {
	case t.err == nil:
		return nil
	case t.final():
		return backoff.Permanent(tokenError{t.err})
	}
	// Nothing was sent, so a POST may be repeated.
	err := &net.OpError{Op: "dial", Err: tokenError{t.err}}
	return backoff.RetryAfter(err, time.Until(t.fresh))
}

// A tokenError has an error of Fetch, and matches what that matches. But it is no timeout: Slots would take it for one of the
// API's.
type tokenError struct{ err error }

func (e tokenError) Error() string { return "no token: " + e.err.Error() }

func (e tokenError) Is(target error) bool {
	return target != context.DeadlineExceeded && errors.Is(e.err, target)
}

// expired reports whether t is a failure that holds no longer.
func (t *token) expired() bool {
	select {
	case <-t.fetched:
		return t.err != nil && time.Now().After(t.fresh)
	default:
		return false
	}
}

// drop forgets t, which the server has refused, unless another request has renewed it. It reports whether there will be
// another token: a fresh one is refused for another reason than its age.
func (s *Signer) drop(t *token) bool {
	if time.Now().Before(t.fresh) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == t {
		s.token = nil
	}
	return true
}
