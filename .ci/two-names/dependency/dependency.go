// Package dependency is a library that was written for github.com/cenkalti/backoff/v4 and knows
// nothing of example.com/backoff.
package dependency

import (
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// ErrGone is what Fetch fails with.
var ErrGone = errors.New("gone")

// Fetch fails with an error that must not be retried.
func Fetch() error { return backoff.Permanent(ErrGone) }

// FetchWithData is Fetch as an operation that returns a value.
var FetchWithData backoff.OperationWithData[string] = func() (string, error) { return "nothing", Fetch() }

// IsPermanent reports whether err is permanent, by the type probe that programs use.
func IsPermanent(err error) bool { return errors.Is(err, &backoff.PermanentError{}) }

// Cause returns the error that a permanent one holds.
func Cause(err error) error {
	var permanent *backoff.PermanentError
	if !errors.As(err, &permanent) {
		return nil
	}
	return permanent.Err
}

// Call retries operation as policy says, and returns how many calls it made.
func Call(operation func() error, policy backoff.BackOff) (int, error) {
	return backoff.RetryWithData(count(operation), policy)
}

func count(operation func() error) backoff.OperationWithData[int] {
	calls := 0
	return func() (int, error) {
		calls++
		return calls, operation()
	}
}

// HasContext reports whether policy has a context.
func HasContext(policy backoff.BackOff) bool {
	_, ok := policy.(backoff.BackOffContext)
	return ok
}

// Policy is a policy as users of v4 write them: a struct with the exponential one embedded.
type Policy struct {
	*backoff.ExponentialBackOff
	Asked int
}

// NextBackOff counts the calls.
func (p *Policy) NextBackOff() time.Duration {
	p.Asked++
	return p.ExponentialBackOff.NextBackOff()
}

// NewPolicy returns a Policy with short waits.
func NewPolicy() *Policy {
	exponential := backoff.NewExponentialBackOff(
		backoff.WithMaxElapsedTime(10*time.Second),
		backoff.WithClockProvider(backoff.SystemClock),
		Short,
	)
	exponential.MaxInterval = 5 * time.Millisecond
	return &Policy{ExponentialBackOff: exponential}
}

// Short is an option for a policy.
var Short = backoff.WithInitialInterval(time.Millisecond)

// Ticks returns a ticker of n ticks.
func Ticks(n uint64) *backoff.Ticker {
	return backoff.NewTicker(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, n-1))
}

// Log is a notify function.
func Log(err error, wait time.Duration) { fmt.Println("log:", err, wait > 0) }
