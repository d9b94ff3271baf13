package wrappers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"example.com/backoff/lab/compat/builds"
)

// A difference is something that v4.3.0 does otherwise than what replaces it.
type difference struct {
	row   string // of the page's list
	name  string
	there string // what v4.3.0 does
	here  string
	run   func(ctx context.Context) string
}

var differences = []difference{
	{
		"After the context has ended", "attempts without waits", "goes on", "ends",
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
		"After the context has ended", "a policy that goes on", "notified 1 times", "notified 0 times",
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
		"A context is found", "through a decorator with Unwrap", "ended after 10s", "ended after 1s",
		func(ctx context.Context) string {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			start := time.Now()
			_ = backoff.Retry(func() error { return errBusy }, unwrapped{backoff.WithContext(backoff.NewConstantBackOff(10*time.Second), ctx)})
			return fmt.Sprintf("ended after %v", time.Since(start))
		},
	},
	{
		"Waits and fields", "a negative wait", "25 calls", "1 calls",
		func(context.Context) string { return calls(backoff.NewConstantBackOff(-2)) },
	},
	{
		"Waits and fields", "a wait that overflows", "negative: true", "negative: false",
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
		"Waits and fields", "the first wait above MaxInterval", "first wait 1m0s", "first wait 10s",
		func(context.Context) string {
			return firstWait(exponential(backoff.WithInitialInterval(time.Minute), backoff.WithMaxInterval(10*time.Second)))
		},
	},
	{
		"Waits and fields", "a literal without Clock", "panic", "first wait 1s",
		func(context.Context) string {
			return firstWait(&backoff.ExponentialBackOff{InitialInterval: time.Second})
		},
	},
	{
		"Waits and fields", "a literal without Stop", "25 calls", "3 calls",
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
		"Waits and fields", "a field set after New, without Reset, and steps by hand", "first wait 500ms", "first wait 1s",
		func(context.Context) string {
			b := exponential()
			b.InitialInterval = time.Second
			return firstWait(b)
		},
	},
	{
		"Waits and fields", "a Multiplier below 1", "waits [1s 500ms 250ms]", "waits [1s 1s 1s]",
		func(context.Context) string {
			b := exponential(backoff.WithInitialInterval(time.Second), backoff.WithMultiplier(0.5))
			return fmt.Sprintf("waits %v", []time.Duration{b.NextBackOff(), b.NextBackOff(), b.NextBackOff()})
		},
	},
	{
		"Waits and fields", "a negative RandomizationFactor", "random: true", "random: false",
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
		"The elapsed time", "steps by hand, long after New", "first wait -1ns", "first wait 500ms",
		func(context.Context) string {
			b := exponential(backoff.WithMaxElapsedTime(time.Minute))
			time.Sleep(time.Hour)
			return firstWait(b)
		},
	},
	{
		"A `PermanentError`", "without an error", "panic", "permanent error",
		func(context.Context) string { return (&backoff.PermanentError{}).Error() },
	},
	{
		"A `PermanentError`", "that is a nil pointer", "panic", "*backoff.PermanentError",
		func(context.Context) string {
			err := backoff.Retry(func() error { return (*backoff.PermanentError)(nil) }, &backoff.ZeroBackOff{})
			return fmt.Sprintf("%T", err)
		},
	},
	{
		"A `PermanentError`", "compared with another", "matches: true", "matches: false",
		func(context.Context) string {
			return fmt.Sprintf("matches: %v", errors.Is(backoff.Permanent(errGone), backoff.Permanent(errBusy)))
		},
	},
	{
		"A ticker", "whose context has ended, and nobody receives", "2 ticks", "1 ticks",
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
		"A ticker", "with a Timer", "", "0s: stop; ",
		func(ctx context.Context) string {
			w := &world{began: time.Now()}
			ticker := backoff.NewTickerWithTimer(&backoff.StopBackOff{}, &ownTimer{w: w})
			<-ticker.C
			synctest.Wait()
			return w.trace.String()
		},
	},
	{
		"A `Timer` without a channel", "in a loop", "ended after 1m0s: context deadline exceeded", "ended after 0s: busy",
		func(ctx context.Context) string {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			start := time.Now()
			err := backoff.RetryNotifyWithTimer(func() error { return errBusy }, backoff.WithContext(exponential(), ctx), nil, silent{})
			return fmt.Sprintf("ended after %v: %v", time.Since(start), err)
		},
	},
	{
		"A nil policy", "in a loop", "panic", "gone",
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

// Each difference is one, in both builds, and the page's list has a row for each and no others.
func TestDifferences(t *testing.T) {
	rows := map[string]bool{}
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
			require.Equal(t, want, did, "%s: %s", d.row, d.name)
		})
	}

	page, err := os.ReadFile("../../../docs/migrating.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## A dependency that imports v4\n")
	section, _, _ = strings.Cut(section, "\n## ")
	onPage := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^- \*\*(.*?)\*\*`).FindAllStringSubmatch(section, -1) {
		onPage[row[1]] = true
	}
	require.Equal(t, onPage, rows)
}
