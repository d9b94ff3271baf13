// Package fallback asks a primary, and a secondary such as a replica or a cache if the primary has not answered in time.
//
// What may happen twice: the question, to both. So it is for reads. A write that the primary may have made, though its
// answer was lost, must not be made elsewhere.
//
// What must hold of the other side: its answers may be older than those of the primary. And it can bear all calls at
// once: it gets them in the moment when the primary fails. If it is not asked on other days, nobody knows whether it works.
//
// The fallback stands around [backoff.DoWithData], and not in the operation. An operation that returns the secondary's
// value and nil after a hang has succeeded. So the Slots of the primary never learn that it hangs, and all calls go on
// waiting for it.
package fallback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/backoff"
)

// A Source is where values come from. Its Retrier is shared by all that read from it.
type Source[T any] struct {
	Retrier *backoff.Retrier

	// Get makes one attempt. An answer that is final, such as that there is no value, is marked with
	// [backoff.Permanent].
	Get func(ctx context.Context, key string) (T, error)
}

// A Pair is a primary, and a secondary that stands in for it.
type Pair[T any] struct {
	Primary   Source[T]
	Secondary Source[T]

	// Patience is how long the primary is asked, with its retries. If a call has a deadline, that is half of its time
	// at most.
	Patience time.Duration
}

// Get returns the value of key from the primary, or else from the secondary.
//
// A final answer of the primary is the answer of Get. If both fail, the error matches that of the primary, and has the
// secondary's in its text only: that a cache lacks a value does not mean that there is none.
func (p *Pair[T]) Get(ctx context.Context, key string) (T, error) {
	value, final, err := p.askPrimary(ctx, key)
	if err == nil || final {
		return value, err
	}

	value, _, second := p.Secondary.get(ctx, key) // asks nobody if ctx has ended: the caller has left
	if second != nil {
		return value, fmt.Errorf("%w (the secondary: %v)", err, second)
	}
	return value, nil
}

// askPrimary asks the primary for as long as there is patience.
func (p *Pair[T]) askPrimary(ctx context.Context, key string) (value T, final bool, err error) {
	patience := p.Patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.Primary.get(ctx, key)
}

// get makes a call to the source, and reports whether its error is a final answer. (Do takes the mark off.)
func (s *Source[T]) get(ctx context.Context, key string) (value T, final bool, err error) {
	value, err = backoff.DoWithData(ctx, s.Retrier, func(ctx context.Context) (T, error) {
		value, err := s.Get(ctx, key)
		final = errors.As(err, new(*backoff.PermanentError))
		return value, err
	})
	return value, final, err
}
