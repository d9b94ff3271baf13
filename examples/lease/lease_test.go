//go:build go1.25

package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/examples/lease"
)

var errDown = errors.New("down")

// renewing is a lease of 30 s, renewed by a function.
type renewing func(ctx context.Context) error

func (l renewing) Renew(ctx context.Context) error { return l(ctx) }

// Work goes on through ten seconds of outage. It ends before its lease when that cannot be renewed, when the server asks
// for a wait that is too long, or when somebody else has the lease.
func TestDo(t *testing.T) {
	taken := errors.New("taken")
	for name, test := range map[string]struct {
		outage time.Duration // after a minute
		err    error
		ends   bool
	}{
		"short":    {10 * time.Second, errDown, false},
		"refuses":  {time.Hour, errDown, true},
		"hangs":    {time.Hour, nil, true},
		"asks":     {10 * time.Second, backoff.RetryAfter(errDown, 5*time.Second), false},
		"too long": {10 * time.Second, backoff.RetryAfter(errDown, 20*time.Second), true},
		"taken":    {time.Hour, backoff.Permanent(taken), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var expires time.Time
			renewals := renewing(func(ctx context.Context) error {
				age := time.Since(start)
				switch {
				case age < time.Minute || age > time.Minute+test.outage:
					expires = time.Now().Add(30 * time.Second)
					time.Sleep(time.Second)
					return nil
				case test.err == nil:
					<-ctx.Done()
					return ctx.Err()
				}
				return test.err
			})
			ended := errors.New("done")
			err := lease.Do(t.Context(), renewals, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					require.Greater(t, time.Until(expires), 5*time.Second-1, name)
					if test.outage == time.Hour && name != "taken" {
						require.Less(t, time.Until(expires), 8*time.Second, name)
					}
					return fmt.Errorf("interrupted: %w", ctx.Err())
				case <-time.After(10 * time.Minute):
					return ended
				}
			})
			require.Equal(t, test.ends, err != ended, name)
			if test.ends {
				require.ErrorIs(t, err, lease.ErrLost)
				require.Contains(t, err.Error(), "interrupted")
				require.NotErrorIs(t, err, context.Canceled, "the caller has not gone")
			}
			require.Equal(t, name == "taken", errors.Is(err, taken))
		})
	}
}

// A caller that goes is the reason for the end, though a renewal fails then.
func TestCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
		defer cancel()
		renewed := false
		err := lease.Do(ctx, renewing(func(ctx context.Context) error {
			if !renewed {
				renewed = true
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.Equal(t, context.DeadlineExceeded, err)
	})
}

// After Do there is no renewal, also if the work panics while one is under way.
func TestRelease(t *testing.T) {
	for _, work := range []func(context.Context) error{
		func(context.Context) error { time.Sleep(10500 * time.Millisecond); return nil },
		func(context.Context) error { time.Sleep(10500 * time.Millisecond); panic("bug") },
	} {
		synctest.Test(t, func(t *testing.T) {
			running, renewed := 0, 0
			func() {
				defer func() { _ = recover() }()
				_ = lease.Do(t.Context(), renewing(func(context.Context) error {
					running++
					time.Sleep(time.Second)
					running--
					renewed++
					return nil
				}), work)
			}()
			require.Zero(t, running)
			require.Equal(t, 2, renewed)
			time.Sleep(time.Minute)
			require.Equal(t, 2, renewed)
		})
	}
}
