//go:build go1.25

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/reconcile"
)

func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

var errDown = errors.New("down")

// A queue brings keys to four workers. A key that is to wait comes again by itself.
type queue struct {
	keys  chan string
	mu    sync.Mutex
	count map[string]int
	wait  map[string]time.Duration // the longest
}

// newQueue returns a queue that works until ctx ends.
func newQueue(ctx context.Context, r *reconcile.Reconciler) *queue {
	q := &queue{keys: make(chan string, 100), count: map[string]int{}, wait: map[string]time.Duration{}}
	for range 4 {
		go func() {
			for {
				select {
				case key := <-q.keys:
					wait := r.Run(ctx, key)
					q.note(key, wait)
					if wait > 0 {
						time.AfterFunc(wait, func() { q.keys <- key })
					}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return q
}

func (q *queue) note(key string, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count[key]++
	q.wait[key] = max(q.wait[key], wait)
}

// In a day, a key that works comes once, and so does one that is invalid, however its error is made. One that fails
// without end waits for minutes, one that fails for a while is done soon after it, and one whose server asks for half an
// hour, or for a year, waits for as long, but for an hour at most.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls backoff.Retrier
		r := reconcile.Reconciler{Reconcile: func(ctx context.Context, key string) error {
			switch key {
			case "good":
				return nil
			case "invalid":
				return calls.Do(ctx, func(context.Context) error {
					return backoff.Permanent(fmt.Errorf("%w: -1 copies", reconcile.ErrInvalid))
				})
			case "permanent":
				return fmt.Errorf("check: %w", backoff.Permanent(errDown))
			case "asks":
				return backoff.RetryAfter(errDown, 30*time.Minute)
			case "asks for a year":
				return backoff.RetryAfter(errDown, 365*24*time.Hour)
			case "down":
				if time.Since(start) > time.Minute {
					return nil
				}
			}
			return errDown
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		q := newQueue(ctx, &r)
		for _, key := range []string{"fails", "good", "invalid", "permanent", "asks", "asks for a year", "down"} {
			q.keys <- key
		}
		<-ctx.Done()
		synctest.Wait()

		require.Equal(t, 1, q.count["good"])
		require.Equal(t, 1, q.count["invalid"])
		require.Equal(t, 1, q.count["permanent"])
		require.InDelta(t, 24*12+15, q.count["fails"], 30)
		require.LessOrEqual(t, q.wait["fails"], 7*time.Minute+30*time.Second)
		require.InDelta(t, 48, q.count["asks"], 2)
		require.InDelta(t, 24, q.count["asks for a year"], 2)
		require.LessOrEqual(t, q.wait["down"], time.Minute)
		require.Less(t, q.count["down"], 20)
	})
}

// A key that was done, or is gone, begins with a short wait when it fails again.
func TestForget(t *testing.T) {
	var err error
	r := reconcile.Reconciler{Reconcile: func(context.Context, string) error { return err }}
	for _, err = range []error{nil, reconcile.ErrInvalid} {
		end := err
		err = errDown
		for range 20 {
			require.Positive(t, r.Run(t.Context(), "key"))
		}
		require.Greater(t, r.Run(t.Context(), "key"), time.Minute)
		err = end
		require.Zero(t, r.Run(t.Context(), "key"))
		err = errDown
		require.LessOrEqual(t, r.Run(t.Context(), "key"), 750*time.Millisecond)
	}
}

// A call that was cancelled is no verdict on the key, whatever the reason was.
func TestCanceled(t *testing.T) {
	r := reconcile.Reconciler{Reconcile: func(ctx context.Context, _ string) error {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(fmt.Errorf("another key: %w", reconcile.ErrInvalid))
		return new(backoff.Retrier).Do(ctx, func(context.Context) error { return nil })
	}}
	require.Positive(t, r.Run(t.Context(), "key"))
}
