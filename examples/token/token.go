// Package token sends a token that expires, over https and to one host, and renews it when the server refuses it.
//
// A request that was refused with 401 is sent twice, even a POST, and gets at most one new token. The server must have done
// nothing with what it refuses. A page that answers 401 to every token costs one token in ten seconds. So a token must
// live for longer than ten seconds.
//
// While the token server fails, nothing is sent, and a request tries again like one that found no connection: after a second
// or more, even if it is a POST.
package token

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

const maxSize = 1 << 20 // of a body that is read, in bytes

var errTooLong = errors.New("token: the body is too long")

// NewClient returns a client for the signer's host. It has no Budget, which each 401 would take from.
func NewClient(signer *Signer) *http.Client {
	return &http.Client{
		CheckRedirect: noRedirect,
		Transport: &httpretry.Transport{
			Base:           signer,
			AttemptTimeout: 5 * time.Second,
			BodyTimeout:    5 * time.Second, // for each silence of a body
			Slots:          new(backoff.Slots),
			// This is the default. It is set so that it is asked about a POST after a 401, too.
			Retryable: func(_ *http.Request, resp *http.Response, err error) bool {
				return httpretry.Retryable(resp, err)
			},
		},
	}
}

// noRedirect makes a redirect an error: net/http would follow some with a GET.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A Reader reads whole bodies. Where a body breaks, httpretry cannot try again, so a Retrier does, around a client
// without httpretry.
type Reader struct {
	client http.Client
	calls  backoff.Retrier
}

// NewReader returns a Reader for the signer's host.
func NewReader(signer *Signer) *Reader {
	return &Reader{
		client: http.Client{Transport: signer},
		calls: backoff.Retrier{
			AttemptTimeout: 5 * time.Second,
			Slots:          new(backoff.Slots),
			Retryable:      func(err error) bool { return httpretry.Retryable(nil, err) },
		},
	}
}

// Read returns the body at url.
func (r *Reader) Read(ctx context.Context, url string) ([]byte, error) {
	return backoff.DoWithData(ctx, &r.calls, func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()

		body, err := io.ReadAll(io.LimitReader(resp.Body, maxSize+1)) // to its end, so that the connection is used again
		switch {
		case httpretry.Retryable(resp, nil): // also a 401, if the signer will have another token
			return nil, backoff.RetryAfter(errors.New(resp.Status), retryAfter(resp))
		case resp.StatusCode != http.StatusOK:
			return nil, backoff.Permanent(errors.New(resp.Status))
		case len(body) > maxSize:
			return nil, backoff.Permanent(errTooLong)
		}
		return body, err
	})
}

// retryAfter returns the wait that resp asks for. A date is by the server's clock, as that of the response is.
func retryAfter(resp *http.Response) time.Duration {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait, _ := backoff.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	return wait
}
