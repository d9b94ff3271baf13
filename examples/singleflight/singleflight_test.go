//go:build go1.25

package singleflight_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/singleflight"
)

var errDown = errors.New("down")

// newGroup returns a group whose attempts may take a second, and its calls five.
func newGroup() *singleflight.Group[string] {
	return &singleflight.Group[string]{
		Retrier: &backoff.Retrier{AttemptTimeout: time.Second, Slots: new(backoff.Slots)},
		Timeout: 5 * time.Second,
	}
}

// One call serves a hundred callers of the same key, though it fails at first, and its first caller leaves. Another key
// has its own, and who comes after the call begins another one.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup()
		var mu sync.Mutex
		calls := map[string]int{}
		load := func(key string) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) {
				mu.Lock()
				calls[key]++
				n := calls[key]
				mu.Unlock()
				time.Sleep(time.Second / 2)
				if n == 1 {
					return "", errDown
				}
				return "value of " + key, ctx.Err()
			}
		}

		first, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := group.Do(first, "a", load("a"))
			require.Equal(t, context.DeadlineExceeded, err)
		})
		synctest.Wait()
		for range 100 {
			for _, key := range []string{"a", "b"} {
				all.Go(func() {
					value, err := group.Do(t.Context(), key, load(key))
					require.NoError(t, err)
					require.Equal(t, "value of "+key, value)
				})
			}
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		require.Equal(t, map[string]int{"a": 2, "b": 2}, calls)

		_, err := group.Do(t.Context(), "a", load("a"))
		require.NoError(t, err)
		require.Equal(t, 3, calls["a"])
	})
}

// A service that hangs costs one attempt at a time, for five seconds, though all callers leave and others come. Slots see
// attempts that are late, and none that is cancelled.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup()
		var running, peak atomic.Int64
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			_, err := group.Do(ctx, "key", func(ctx context.Context) (string, error) {
				peak.Store(max(peak.Load(), running.Add(1)))
				<-ctx.Done()
				running.Add(-1)
				return "", ctx.Err()
			})
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.EqualValues(t, 1, peak.Load())
		require.Less(t, group.Retrier.Slots.Limit(), math.MaxInt)
		time.Sleep(5 * time.Second)
		require.Zero(t, running.Load())
	})
}

// A failure goes to all callers, with its reason, and is not kept.
func TestError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newGroup()
		missing := errors.New("no such user")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, err := group.Do(t.Context(), "key", func(context.Context) (string, error) {
					time.Sleep(time.Second)
					return "", backoff.Permanent(missing)
				})
				require.Equal(t, missing, err)
			})
		}
		all.Wait()

		_, err := group.Do(t.Context(), "key", func(context.Context) (string, error) { return "created", nil })
		require.NoError(t, err)
		_, err = group.Do(t.Context(), "key", func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
		require.EqualError(t, err, "the call has not returned")
	})
}

// The call has the values of its first caller, and no cancellation.
func TestContext(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
	defer cancel()
	value, err := newGroup().Do(ctx, "key", func(ctx context.Context) (string, error) {
		return ctx.Value(key{}).(string), ctx.Err()
	})
	require.NoError(t, err)
	require.Equal(t, "trace", value)
}
