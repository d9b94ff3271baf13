// Package transport is a recipe to copy: an HTTP transport that retries.
package transport

import (
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/backoff"
)

// Transport is an [http.RoundTripper] that retries requests which may be repeated: those of an
// idempotent method, and others that carry an Idempotency-Key header. It retries after network
// errors and after the statuses of [backoff.RetryableStatus], and waits as long as a Retry-After
// header asks, up to a limit. When it gives up on a status, the caller gets that last response.
//
// Use one Transport for all requests to a service, from any number of goroutines: its Budget then
// bounds what retries add to the service's load. The zero value is ready to use.
type Transport struct {
	Base          http.RoundTripper      // nil: http.DefaultTransport
	Policy        func() backoff.BackOff // nil: exponential with full jitter, 4 retries
	Budget        backoff.Budget
	MaxRetryAfter time.Duration // the longest wait that a server may ask for; 0: one minute
	Notify        backoff.Notify
}

// RoundTrip sends request, and again as long as that makes sense.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if !repeatable(request) {
		return base.RoundTrip(request)
	}
	ctx := request.Context()
	policy := backoff.WithContext(backoff.WithBudget(t.policy(), &t.Budget), ctx)
	var last *http.Response
	attempt := 0
	_, err := backoff.RetryNotifyWithData(func() (*http.Response, error) {
		again, err := request, error(nil)
		if attempt++; attempt > 1 {
			if again, err = rewound(request); err != nil {
				return nil, backoff.Permanent(err)
			}
		}
		if last, err = base.RoundTrip(again); err != nil {
			return nil, err
		}
		return last, t.check(last)
	}, policy, func(err error, wait time.Duration) {
		discard(last)
		last = nil
		if t.Notify != nil {
			t.Notify(err, wait)
		}
	})
	if err == nil || last != nil && ctx.Err() == nil {
		return last, nil // the answer to hand on, be it one that no retry has made better
	}
	discard(last)
	return nil, err
}

func (t *Transport) policy() backoff.BackOff {
	if t.Policy != nil {
		return t.Policy()
	}
	return backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithJitter(backoff.FullJitter)), 4)
}

// check returns an error for an answer that is worth a retry.
func (t *Transport) check(response *http.Response) error {
	if !backoff.RetryableStatus(response.StatusCode) {
		return nil
	}
	limit := t.MaxRetryAfter
	if limit == 0 {
		limit = time.Minute
	}
	wait, _ := backoff.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now())
	return backoff.RetryAfter(errors.New(response.Status), min(wait, limit))
}

// repeatable reports whether request may be sent twice, and can be.
func repeatable(request *http.Request) bool {
	switch request.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
	default:
		if request.Header.Get("Idempotency-Key") == "" {
			return false
		}
	}
	return request.Body == nil || request.Body == http.NoBody || request.GetBody != nil
}

// rewound returns a copy of request with its body at the beginning.
func rewound(request *http.Request) (*http.Request, error) {
	again := request.Clone(request.Context())
	if request.GetBody == nil {
		return again, nil
	}
	var err error
	again.Body, err = request.GetBody()
	return again, err
}

// discard makes the response's connection free for the next request.
func discard(response *http.Response) {
	if response != nil {
		io.CopyN(io.Discard, response.Body, 64<<10)
		response.Body.Close()
	}
}
