// Package unused throws marks away.
package unused

import (
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
	v5 "github.com/cenkalti/backoff/v5"
)

func dropped(err error) error {
	own.Permanent(err)                      // want `Permanent marks the error that it returns, and nothing uses that \[unused\]`
	own.RetryAfter(err, time.Second)        // want `RetryAfter marks the error`
	backoff.Permanent(err)                  // want `Permanent marks the error`
	v5.Permanent(err)                       // want `Permanent marks the error`
	v5.RetryAfter(3)                        // want `RetryAfter marks the error`
	_ = own.Permanent(err)                  // want `Permanent marks the error`
	_, _ = err, own.RetryAfter(err, 0)      // want `RetryAfter marks the error`
	func() { _ = backoff.Permanent(err) }() // want `Permanent marks the error`
	return err
}

func used(err error) error {
	marked := own.Permanent(err)
	marked = own.RetryAfter(marked, time.Second)
	log(own.Permanent(err))
	if err != nil {
		return backoff.Permanent(err)
	}
	return marked
}

func log(error) {}
