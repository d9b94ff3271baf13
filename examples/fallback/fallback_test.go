//go:build go1.25

package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/fallback"
)

var (
	errDown    = errors.New("down")
	errMissing = errors.New("no such user")
)

type source = fallback.Source[string]

// hang is a Get that answers when it is too late.
func hang(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// fails is a Get that fails immediately.
func fails(err error) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return "", err }
}

// answers is a Get that answers.
func answers(value string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return value, nil }
}

// newPair returns a pair for callers that have two seconds.
func newPair(primary, secondary func(context.Context, string) (string, error)) *fallback.Pair[string] {
	retrier := func() *backoff.Retrier {
		return &backoff.Retrier{AttemptTimeout: 300 * time.Millisecond, Slots: new(backoff.Slots)}
	}
	return &fallback.Pair[string]{
		Primary:   source{Retrier: retrier(), Get: primary},
		Secondary: source{Retrier: retrier(), Get: secondary},
		Patience:  1200 * time.Millisecond,
	}
}

func TestGet(t *testing.T) {
	for name, test := range map[string]struct {
		primary   func(context.Context, string) (string, error)
		secondary func(context.Context, string) (string, error)
		want      string
		err       error
	}{
		"primary":   {answers("new"), answers("old"), "new", nil},
		"hangs":     {hang, answers("old"), "old", nil},
		"refuses":   {fails(errDown), answers("old"), "old", nil},
		"asks":      {fails(backoff.RetryAfter(errDown, time.Hour)), answers("old"), "old", nil},
		"missing":   {fails(backoff.Permanent(errMissing)), answers("old"), "", errMissing},
		"both hang": {hang, hang, "", context.DeadlineExceeded},
		"both fail": {fails(errDown), fails(backoff.Permanent(errMissing)), "", errDown},
	} {
		for _, attempts := range []int{4, 1} {
			t.Run(fmt.Sprint(name, ", attempts: ", attempts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					pair := newPair(test.primary, test.secondary)
					pair.Primary.Retrier.MaxAttempts = attempts

					value, err := pair.Get(ctx, "key")
					require.ErrorIs(t, err, test.err)
					require.Equal(t, test.want, value)
					if name == "both fail" {
						require.NotErrorIs(t, err, errMissing, "nobody knows that")
						require.Contains(t, err.Error(), errMissing.Error())
					}
				})
			})
		}
	}
}

// The secondary has its time, also for a caller that has less than usual, or no deadline.
func TestTime(t *testing.T) {
	for patience, timeout := range map[time.Duration]time.Duration{
		250 * time.Millisecond:  500 * time.Millisecond,
		1200 * time.Millisecond: time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			pair := newPair(hang, answers("old"))
			pair.Primary.Retrier.MaxAttempts = -1
			_, err := pair.Get(ctx, "key")
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(start), patience)
		})
	}
}

// A caller that leaves asks nobody any more.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/10, cancel)
		asked := false
		_, err := newPair(hang, func(context.Context, string) (string, error) { asked = true; return "", nil }).Get(ctx, "key")
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, asked)
	})
}

// A trouble is a primary that hangs for twenty seconds, from the tenth on.
type trouble struct {
	start   time.Time
	running atomic.Int64
	peak    atomic.Int64 // while it hangs, but for the first two seconds
}

func (s *trouble) get(ctx context.Context, key string) (string, error) {
	age := time.Since(s.start)
	if age < 10*time.Second || age > 30*time.Second {
		time.Sleep(20 * time.Millisecond)
		return "new", nil
	}
	running := s.running.Add(1)
	defer s.running.Add(-1)
	if age > 12*time.Second {
		s.peak.Store(max(s.peak.Load(), running))
	}
	return hang(ctx, key)
}

// crowd makes fifty calls a second for 45 s, and returns when the last "old" came, and how many of them failed.
func crowd(t *testing.T, get func(ctx context.Context) (string, error)) (recovered time.Duration, failed int64) {
	var lastOld atomic.Int64
	var failures atomic.Int64
	start := time.Now()
	for range 45 * 50 {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			value, err := get(ctx)
			switch {
			case err != nil:
				failures.Add(1)
			case value == "old":
				lastOld.Store(int64(time.Since(start)))
			}
		}()
		time.Sleep(time.Second / 50)
	}
	time.Sleep(5 * time.Second)
	return time.Duration(lastOld.Load()), failures.Load()
}

// While the primary hangs, everybody gets an answer, and few calls wait for the primary at once. After the hang, the
// answers are the primary's again.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &trouble{start: time.Now()}
		pair := newPair(s.get, answers("old"))
		recovered, failed := crowd(t, func(ctx context.Context) (string, error) { return pair.Get(ctx, "key") })
		t.Logf("at most %d calls at once, recovered after %s", s.peak.Load(), recovered-30*time.Second)
		require.Zero(t, failed)
		require.Less(t, s.peak.Load(), int64(14))
		require.Less(t, recovered, 40*time.Second)
	})
}

// A fallback in the operation hides the hang from the Slots: there never is a limit.
func TestInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &trouble{start: time.Now()}
		retrier := newPair(nil, nil).Primary.Retrier
		_, failed := crowd(t, func(ctx context.Context) (string, error) {
			return backoff.DoWithData(ctx, retrier, func(ctx context.Context) (string, error) {
				require.Equal(t, math.MaxInt, retrier.Slots.Limit())
				value, err := s.get(ctx, "key")
				if err != nil {
					return "old", nil
				}
				return value, nil
			})
		})
		require.Zero(t, failed)
		require.GreaterOrEqual(t, s.peak.Load(), int64(14)) // those of 0.3 s
	})
}
