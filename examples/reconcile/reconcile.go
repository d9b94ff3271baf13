// Package reconcile says when a key of a reconcile loop, such as a controller's, is to be reconciled again. Each key
// waits by itself, so a key that fails does not hold up the others.
//
// What may happen twice: everything. A key is reconciled again after each failure, whatever of it was done.
//
// What must hold of the other side, which is the queue: it does not reconcile a key twice at once, it brings a key again
// when something of it changes, and it also brings keys that are gone, so that their waits are forgotten.
package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"example.com/backoff"
)

// ErrInvalid is for what no retry will mend, such as a specification with a negative number of copies. Return an error
// that wraps it. ([backoff.Permanent] alone is not enough if the error comes out of a Do or a Retry: these take the mark
// off.)
var ErrInvalid = errors.New("it must be changed first")

// longestAsked limits what a server may ask for.
const longestAsked = time.Hour

// A Reconciler reconciles keys. It may be used by several workers.
type Reconciler struct {
	// Reconcile makes one attempt. It may call Do of a Retrier.
	Reconcile func(ctx context.Context, key string) error

	mu    sync.Mutex
	waits map[string]*backoff.ExponentialBackOff // of the keys that have failed
}

// Run reconciles a key, and returns after how long to do that again: the RequeueAfter of a controller, or what AddAfter
// of a work queue takes. Zero means that nothing is to be done until the key changes: it is reconciled, or invalid.
func (r *Reconciler) Run(ctx context.Context, key string) time.Duration {
	err := r.Reconcile(ctx, key)
	if err == nil {
		r.forget(key) // the next failure begins with a short wait
		return 0
	}

	// A cancelled call may match any error, such as the reason why its context was cancelled.
	if !errors.Is(err, context.Canceled) && isFinal(err) {
		slog.ErrorContext(ctx, "not reconciled until it changes", "key", key, "err", err)
		r.forget(key)
		return 0
	}

	wait, since := r.failed(key)
	var asked *backoff.RetryAfterError
	if errors.As(err, &asked) {
		wait = max(wait, min(asked.Duration, longestAsked))
	}
	slog.WarnContext(ctx, "not reconciled", "key", key, "err", err, "fails_for", since, "wait", wait)
	return wait
}

// isFinal reports whether no retry will mend err.
func isFinal(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.As(err, new(*backoff.PermanentError))
}

// failed returns the wait of a key, which grows with each failure, and for how long the key has failed.
func (r *Reconciler) failed(key string) (wait, since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	policy := r.waits[key]
	if policy == nil {
		policy = backoff.NewExponentialBackOff(
			backoff.WithMaxInterval(5*time.Minute),
			backoff.WithMaxElapsedTime(0), // never give up
		)
		if r.waits == nil {
			r.waits = make(map[string]*backoff.ExponentialBackOff)
		}
		r.waits[key] = policy
	}
	wait = policy.NextBackOff() // first, since it starts the time of a new policy
	return wait, policy.GetElapsedTime()
}

// forget forgets the failures of a key.
func (r *Reconciler) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, key)
}
