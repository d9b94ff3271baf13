// Package unused throws marks away.
package unused

import (
	"context"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
	v5 "github.com/cenkalti/backoff/v5"
)

func dropped(err error) error {
	own.Permanent(err)                      // want `Permanent changes nothing but what it returns, and nothing uses that \[unused\]`
	own.RetryAfter(err, time.Second)        // want `RetryAfter changes nothing`
	backoff.Permanent(err)                  // want `Permanent changes nothing`
	v5.Permanent(err)                       // want `Permanent changes nothing`
	v5.RetryAfter(3)                        // want `RetryAfter changes nothing`
	_ = own.Permanent(err)                  // want `Permanent changes nothing`
	_, _ = err, own.RetryAfter(err, 0)      // want `RetryAfter changes nothing`
	func() { _ = backoff.Permanent(err) }() // want `Permanent changes nothing`
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

// A decorator changes nothing either.
func decorators(ctx context.Context, b own.BackOff, budget *own.Budget) {
	own.WithMaxRetries(b, 3)             // want `WithMaxRetries changes nothing but what it returns, and nothing uses that \[unused\]`
	_ = backoff.WithContext(b, ctx)      // want `WithContext changes nothing`
	own.WithBudget(b, budget)            // want `WithBudget changes nothing`
	own.NewExponentialBackOff()          // nobody writes it
	v5.WithBackOff(b)                    // want `WithBackOff changes nothing`
	own.WithInitialInterval(time.Second) // want `WithInitialInterval changes nothing`

	b = own.WithMaxRetries(b, 3)
	_ = own.Retry(func() error { return nil }, own.WithContext(b, ctx))
	defer use(own.WithMaxRetries(b, 3))
	budget.Withdraw()
}

func use(own.BackOff) {}

func log(error) {}
