//go:build go1.25

package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v4 "github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Waits are those of the policy, however close the deadline is. What is left of it is waited for, so that it has passed
// when the loop gives up.
func TestWaits(t *testing.T) {
	const second = time.Second
	for _, row := range []struct {
		name     string
		policy   v4.BackOff
		timeout  time.Duration // of the context; 0 for none
		asked    time.Duration // by a server
		calls    []time.Duration
		notified []time.Duration
		end      time.Duration
		want     error
	}{
		{
			name:     "a later wait outlasts the deadline",
			policy:   v4.NewConstantBackOff(second),
			timeout:  1500 * time.Millisecond,
			calls:    []time.Duration{0, second},
			notified: []time.Duration{second, second},
			end:      1500 * time.Millisecond,
			want:     context.DeadlineExceeded,
		},
		{
			name:     "the first wait outlasts the deadline",
			policy:   v4.NewConstantBackOff(time.Hour),
			timeout:  second,
			calls:    []time.Duration{0},
			notified: []time.Duration{time.Hour},
			end:      second,
			want:     context.DeadlineExceeded,
		},
		{
			name:     "a server's wait outlasts the deadline",
			policy:   v4.NewConstantBackOff(second),
			timeout:  5 * second,
			asked:    time.Hour,
			calls:    []time.Duration{0},
			notified: []time.Duration{time.Hour},
			end:      5 * second,
			want:     context.DeadlineExceeded,
		},
		{
			name:     "a server's wait is longer than the policy's",
			policy:   v4.WithMaxRetries(v4.NewConstantBackOff(second), 2),
			asked:    10 * second,
			calls:    []time.Duration{0, 10 * second, 20 * second},
			notified: []time.Duration{10 * second, 10 * second},
			end:      20 * second,
			want:     errFail,
		},
		{
			name:     "a literal without Clock and Stop",
			policy:   &v4.ExponentialBackOff{InitialInterval: second, Multiplier: 2, MaxElapsedTime: 4 * second},
			calls:    []time.Duration{0, second, 3 * second},
			notified: []time.Duration{second, 2 * second},
			end:      3 * second,
			want:     errFail,
		},
		{
			name:   "a negative wait",
			policy: v4.NewConstantBackOff(-5),
			calls:  []time.Duration{0},
			want:   errFail,
		},
	} {
		for _, loop := range loops {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if row.timeout != 0 {
					limited, cancel := context.WithTimeout(ctx, row.timeout)
					defer cancel()
					ctx = limited
				}

				began := time.Now()
				var calls, notified []time.Duration
				last := error(errFail)
				if row.asked != 0 {
					last = backoff.RetryAfter(errFail, row.asked)
				}
				_, err := loop.run(func() (int, error) {
					calls = append(calls, time.Since(began))
					return 0, last
				}, v4.WithContext(row.policy, ctx), func(_ error, wait time.Duration) {
					notified = append(notified, wait)
				}, nil)

				want := row.want
				if want == errFail {
					want = last
				}
				require.True(t, err == want, "%s, %s: %v", row.name, loop.name, err)
				require.Equal(t, row.calls, calls, "%s, %s", row.name, loop.name)
				require.Equal(t, row.end, time.Since(began), "%s, %s", row.name, loop.name)
				if err == context.DeadlineExceeded {
					require.Error(t, ctx.Err(), "%s, %s", row.name, loop.name)
				}
				if loop.name != "Retry" && loop.name != "RetryWithData" {
					require.Equal(t, row.notified, notified, "%s, %s", row.name, loop.name)
				}
			})
		}
	}
}
