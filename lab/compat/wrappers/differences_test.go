package wrappers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"example.com/backoff/lab/compat/builds"
)

// A difference is something that v4.3.0 does otherwise than what replaces it.
type difference struct {
	row   int // of the page's list
	name  string
	there string // what v4.3.0 does
	here  string
	run   func(ctx context.Context) string
}

var differences = []difference{
	{
		3, "attempts without waits", "goes on", "ends",
		func(ctx context.Context) string {
			for range 100 { // in v4 it is left to chance
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				calls := 0
				b := backoff.WithContext(&backoff.ZeroBackOff{}, ctx)
				_ = backoff.RetryNotify(func() error {
					calls++
					return errBusy
				}, b, func(error, time.Duration) { cancel() })
				if calls > 1 {
					return "goes on"
				}
			}
			return "ends"
		},
	},
	{
		3, "a policy that goes on", "notified 1 times", "notified 0 times",
		func(ctx context.Context) string {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			notified := 0
			_ = backoff.RetryNotify(func() error {
				cancel()
				return errBusy
			}, bound{backoff.NewConstantBackOff(time.Second), ctx}, func(error, time.Duration) { notified++ })
			return fmt.Sprintf("notified %d times", notified)
		},
	},
	{
		5, "through a decorator with Unwrap", "ended after 10s", "ended after 1s",
		func(ctx context.Context) string {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			start := time.Now()
			_ = backoff.Retry(func() error { return errBusy }, unwrapped{backoff.WithContext(backoff.NewConstantBackOff(10*time.Second), ctx)})
			return fmt.Sprintf("ended after %v", time.Since(start))
		},
	},
	{
		5, "a context of a policy whose context changes", "waited for the first", "waited for the second",
		func(ctx context.Context) string {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			b := &bound{exponential(), ctx}
			start := time.Now()
			_ = backoff.RetryNotify(func() error {
				b.ctx = context.Background()
				if time.Since(start) > time.Second {
					return nil
				}
				return errBusy
			}, b, nil)
			if time.Since(start) == time.Second {
				return "waited for the first"
			}
			return "waited for the second"
		},
	},
	{
		5, "a context whose Err is set and whose Done is nil", "25 calls", "1 calls",
		func(ctx context.Context) string {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return calls(backoff.WithContext(&backoff.ZeroBackOff{}, endless{ctx}))
		},
	},
	{
		5, "a context whose Done is closed and whose Err is nil", "notified 0 times", "notified 1 times",
		func(ctx context.Context) string {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			notified := 0
			b := backoff.WithContext(backoff.NewConstantBackOff(time.Second), silenced{ctx})
			_ = backoff.RetryNotify(func() error { return errBusy }, b, func(error, time.Duration) { notified++ })
			return fmt.Sprintf("notified %d times", notified)
		},
	},
	{
		5, "a context that is nil", "nil context", "backoff: WithContext called with a nil context",
		func(context.Context) (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			backoff.WithContext(&backoff.ZeroBackOff{}, nil)
			return ""
		},
	},
	{
		6, "a negative wait", "25 calls", "1 calls",
		func(context.Context) string { return calls(backoff.NewConstantBackOff(-2)) },
	},
	{
		6, "a wait that overflows", "negative: true", "negative: false",
		func(context.Context) string {
			b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(math.MaxInt64), backoff.WithMaxInterval(math.MaxInt64), backoff.WithMaxElapsedTime(0))
			negative := false
			for range 100 {
				negative = negative || b.NextBackOff() < 0
			}
			return fmt.Sprintf("negative: %v", negative)
		},
	},
	{
		6, "the first wait above MaxInterval", "first wait 1m0s", "first wait 10s",
		func(context.Context) string {
			return firstWait(exponential(backoff.WithInitialInterval(time.Minute), backoff.WithMaxInterval(10*time.Second)))
		},
	},
	{
		6, "a literal without Clock", "panic", "first wait 1s",
		func(context.Context) string {
			return firstWait(&backoff.ExponentialBackOff{InitialInterval: time.Second})
		},
	},
	{
		6, "a literal without Stop", "25 calls", "3 calls",
		func(context.Context) string {
			return calls(&backoff.ExponentialBackOff{
				InitialInterval: time.Second,
				Multiplier:      2,
				MaxInterval:     time.Minute,
				MaxElapsedTime:  5 * time.Second,
				Clock:           backoff.SystemClock,
			})
		},
	},
	{
		6, "a field set after New, without Reset, and steps by hand", "first wait 500ms", "first wait 1s",
		func(context.Context) string {
			b := exponential()
			b.InitialInterval = time.Second
			return firstWait(b)
		},
	},
	{
		6, "waits of zero times infinity", "waits [0s 1m0s]", "waits [0s 0s]",
		func(context.Context) string {
			b := exponential(backoff.WithInitialInterval(0), backoff.WithMultiplier(math.Inf(1)))
			return fmt.Sprintf("waits %v", []time.Duration{b.NextBackOff(), b.NextBackOff()})
		},
	},
	{
		6, "waits of zero until InitialInterval changes", "waits [0s 0s]", "waits [0s 1s]",
		func(context.Context) string {
			b := exponential(backoff.WithInitialInterval(0))
			first := b.NextBackOff()
			b.InitialInterval = time.Second
			return fmt.Sprintf("waits %v", []time.Duration{first, b.NextBackOff()})
		},
	},
	{
		6, "JSON", "7 fields", "9 fields",
		func(context.Context) string {
			text, err := json.Marshal(exponential())
			if err != nil {
				return err.Error()
			}
			var fields map[string]any
			_ = json.Unmarshal(text, &fields)
			return fmt.Sprintf("%d fields", len(fields))
		},
	},
	{
		10, "a Multiplier below 1", "waits [1s 500ms 250ms]", "waits [1s 1s 1s]",
		func(context.Context) string {
			b := exponential(backoff.WithInitialInterval(time.Second), backoff.WithMultiplier(0.5))
			return fmt.Sprintf("waits %v", []time.Duration{b.NextBackOff(), b.NextBackOff(), b.NextBackOff()})
		},
	},
	{
		10, "a negative RandomizationFactor", "random: true", "random: false",
		func(context.Context) string {
			b := backoff.NewExponentialBackOff(backoff.WithRandomizationFactor(-0.5), backoff.WithMultiplier(1))
			random := false
			for range 100 {
				random = random || b.NextBackOff() != backoff.DefaultInitialInterval
			}
			return fmt.Sprintf("random: %v", random)
		},
	},
	{
		9, "steps by hand, long after New", "first wait -1ns", "first wait 500ms",
		func(context.Context) string {
			b := exponential(backoff.WithMaxElapsedTime(time.Minute))
			time.Sleep(time.Hour)
			return firstWait(b)
		},
	},
	{
		9, "a Clock that steps back to before the start", "first wait 500ms, 30m0s later 750ms", "first wait 500ms, 30m0s later -1ns",
		func(context.Context) string {
			clock := &stepping{time.Now()}
			b := exponential(backoff.WithClockProvider(clock))
			b.Reset()
			clock.now = clock.now.Add(-time.Hour)
			text := firstWait(b)
			clock.now = clock.now.Add(30 * time.Minute)
			return fmt.Sprintf("%s, %v later %v", text, 30*time.Minute, b.NextBackOff())
		},
	},
	{
		4, "a mark without an error", "panic", "permanent error",
		func(context.Context) string { return (&backoff.PermanentError{}).Error() },
	},
	{
		4, "a mark that is a nil pointer", "panic", "*backoff.PermanentError",
		func(context.Context) string {
			err := backoff.Retry(func() error { return (*backoff.PermanentError)(nil) }, &backoff.ZeroBackOff{})
			return fmt.Sprintf("%T", err)
		},
	},
	{
		4, "a mark compared with another", "matches: true", "matches: false",
		func(context.Context) string {
			return fmt.Sprintf("matches: %v", errors.Is(backoff.Permanent(errGone), backoff.Permanent(errBusy)))
		},
	},
	{
		7, "a ticker whose context has ended, and nobody receives", "2 ticks", "1 ticks",
		func(ctx context.Context) string {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			ticker := backoff.NewTicker(backoff.WithContext(backoff.NewConstantBackOff(time.Second), ctx))
			ticks := 0
			for range ticker.C {
				ticks++
				time.Sleep(2 * time.Second)
				synctest.Wait()
				cancel()
			}
			return fmt.Sprintf("%d ticks", ticks)
		},
	},
	{
		7, "a ticker with a Timer", "", "0s: stop; ",
		func(ctx context.Context) string {
			w := &world{began: time.Now()}
			ticker := backoff.NewTickerWithTimer(&backoff.StopBackOff{}, &ownTimer{w: w})
			<-ticker.C
			synctest.Wait()
			return w.trace.String()
		},
	},
	{
		7, "a Timer without a channel", "ended after 1m0s: context deadline exceeded", "ended after 0s: busy",
		func(ctx context.Context) string {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			start := time.Now()
			err := backoff.RetryNotifyWithTimer(func() error { return errBusy }, backoff.WithContext(exponential(), ctx), nil, silent{})
			return fmt.Sprintf("ended after %v: %v", time.Since(start), err)
		},
	},
	{
		8, "nil", "panic", "gone",
		func(context.Context) string {
			err := backoff.Retry(func() error { return backoff.Permanent(errGone) }, nil)
			return err.Error()
		},
	},
}

// calls returns how often a loop calls an operation that fails, up to 24 times.
func calls(b backoff.BackOff) string {
	n := 0
	_ = backoff.Retry(func() error {
		n++
		if n < most {
			return errBusy
		}
		return nil
	}, b)
	return fmt.Sprintf("%d calls", n)
}

func firstWait(b backoff.BackOff) string { return fmt.Sprintf("first wait %v", b.NextBackOff()) }

type unwrapped struct{ backoff.BackOff }

func (u unwrapped) Unwrap() backoff.BackOff { return u.BackOff }

type silent struct{}

func (silent) Start(time.Duration) {}
func (silent) Stop()               {}
func (silent) C() <-chan time.Time { return nil }

// endless is a context without a Done, and silenced one without an Err.
type (
	endless  struct{ context.Context }
	silenced struct{ context.Context }
)

func (endless) Done() <-chan struct{} { return nil }
func (silenced) Err() error           { return nil }

// stepping is a Clock that a difference sets.
type stepping struct{ now time.Time }

func (s *stepping) Now() time.Time { return s.now }

// Each difference is one, in both builds, and they are those that the page says remain under v4's path.
func TestDifferences(t *testing.T) {
	rows := map[int]bool{}
	for _, d := range differences {
		rows[d.row] = true
		synctest.Test(t, func(t *testing.T) {
			did := "panic"
			_ = recovered(func() error {
				did = d.run(t.Context())
				return nil
			})
			want := d.there
			if builds.Replaced() {
				want = d.here
			}
			require.Equal(t, want, did, "%d: %s", d.row, d.name)
		})
	}

	page, err := os.ReadFile("../../../docs/migrating.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "Of the differences above, 3 and 5 to 10 remain. A `PermanentError`")
	require.Equal(t, []int{3, 4, 5, 6, 7, 8, 9, 10}, slices.Sorted(maps.Keys(rows)))
}
