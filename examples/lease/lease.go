// Package lease does work while this process alone has a lease, and renews the lease meanwhile.
//
// What may happen twice: a renewal. The work itself is not done twice at once, as long as it ends with its context: that
// ends five seconds before the lease does.
//
// What must hold of the other side: a lease lasts for at least 30 s from the moment when its renewal was asked for, and
// is refused while somebody else has it. A process that is stopped for a while, with its machine, does not see in time
// that its lease has ended. Where that matters, what the work writes to must compare a number that grows with each lease.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

const (
	duration = 30 * time.Second // of a lease
	toStop   = 5 * time.Second  // for the work, before its lease ends
	pause    = 10 * time.Second // between two renewals
)

// ErrLost says that the lease was lost while the work went on.
var ErrLost = errors.New("the lease is lost")

// A Lease is a lock that must be renewed.
type Lease interface {
	// Renew takes the lease, or renews it. If somebody else has it, the error is marked with [backoff.Permanent].
	Renew(ctx context.Context) error
}

// renewals are tried for as long as the lease lasts, unless the server asks for a longer wait.
var renewals = backoff.Retrier{
	AttemptTimeout: 2 * time.Second,
	MaxAttempts:    -1,
	Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithMaxInterval(time.Second), backoff.WithMaxElapsedTime(0))
	},
}

// Do takes the lease, and calls work with a context that ends if the lease cannot be renewed. It returns what work
// returns. If the lease was lost, and work returns an error, that of Do matches ErrLost, and the error of the last renewal:
// ask for ErrLost first. If ctx has ended, it is always the error of work.
//
// Do does not release the lease. After it has returned, nothing renews it any more, so that the caller can. Use
// [context.WithoutCancel] for that: ctx may have ended.
func Do(ctx context.Context, lease Lease, work func(ctx context.Context) error) error {
	until, err := renew(ctx, lease)
	if err != nil {
		return err
	}

	leased, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		cancel(keep(leased, lease, until))
	}()
	defer func() {
		cancel(nil)
		<-kept // else a renewal could take the lease again after its release
	}()

	err = work(leased)
	if err != nil && leased.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (the work: %v)", context.Cause(leased), err)
	}
	return err
}

// renew returns until when the work may go on.
func renew(ctx context.Context, lease Lease) (time.Time, error) {
	return backoff.DoWithData(ctx, &renewals, func(ctx context.Context) (time.Time, error) {
		asked := time.Now() // the lease begins between the question and the answer
		return asked.Add(duration - toStop), lease.Renew(ctx)
	})
}

// keep renews the lease again and again. It returns why that is no longer possible, or that ctx has ended.
func keep(ctx context.Context, lease Lease, until time.Time) error {
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}

		renewal, cancel := context.WithDeadline(ctx, until)
		next, err := renew(renewal, lease)
		cancel()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
		until = next
	}
}
