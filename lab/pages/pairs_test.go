package pages_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v5 "github.com/cenkalti/backoff/v5"
	v6 "github.com/cenkalti/backoff/v6"
	v7 "github.com/cenkalti/backoff/v7"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

var (
	errBusy     = errors.New("busy")
	errShutdown = errors.New("shutting down")
	errTime     = errors.New("out of time")
	errTries    = errors.New("out of tries")
)

// migrations are calls as programs write them for v5, v6 and v7 of cenkalti/backoff, and what to
// write instead. The list in migrating.md shows them; TestMigratingPage looks for each line of it here.
var migrations = []struct {
	name             string
	v5, v6, v7, here func(g given) (any, error)
}{
	{
		"a policy",
		func(g given) (any, error) { return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5)) },
		func(g given) (any, error) { return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6)) },
		func(g given) (any, error) { return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7)) },
		func(g given) (any, error) { return backoff.RetryWithData(g.op, backoff.WithContext(g.b, g.ctx)) },
	},
	{
		"an operation with a type",
		func(g given) (any, error) {
			return v5.Retry(g.ctx, v5.Operation[int](g.op), v5.WithBackOff(g.b5))
		},
		func(g given) (any, error) {
			return v6.Retry(g.ctx, v6.Operation[int](g.op), v6.WithBackOff(g.b6))
		},
		func(g given) (any, error) {
			return v7.Retry(g.ctx, v7.Operation[int](g.op), v7.WithBackOff(g.b7))
		},
		func(g given) (any, error) {
			return backoff.RetryWithData(backoff.OperationWithData[int](g.op), backoff.WithContext(g.b, g.ctx))
		},
	},
	{
		"options from a helper",
		func(g given) (any, error) {
			options := []v5.RetryOption{v5.WithBackOff(g.b5), v5.WithMaxTries(5)}
			return v5.Retry(g.ctx, g.op, options...)
		},
		func(g given) (any, error) {
			options := []v6.RetryOption{v6.WithBackOff(g.b6), v6.WithMaxTries(5)}
			return v6.Retry(g.ctx, g.op, options...)
		},
		func(g given) (any, error) {
			options := []v7.RetryOption{v7.WithBackOff(g.b7), v7.WithMaxTries(5)}
			return v7.Retry(g.ctx, g.op, options...)
		},
		func(g given) (any, error) {
			policy := backoff.WithMaxRetries(g.b, 4)
			return backoff.RetryWithData(g.op, backoff.WithContext(policy, g.ctx))
		},
	},
	{
		"no value",
		func(g given) (any, error) {
			return v5.Retry(g.ctx, func() (any, error) { return nil, g.do() }, v5.WithBackOff(g.b5))
		},
		func(g given) (any, error) {
			return v6.Retry(g.ctx, func() (any, error) { return nil, g.do() }, v6.WithBackOff(g.b6))
		},
		func(g given) (any, error) {
			return v7.Retry(g.ctx, func() (any, error) { return nil, g.do() }, v7.WithBackOff(g.b7))
		},
		func(g given) (any, error) { return nil, backoff.Retry(g.do, backoff.WithContext(g.b, g.ctx)) },
	},
	{
		"attempts",
		func(g given) (any, error) { return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5), v5.WithMaxTries(5)) },
		func(g given) (any, error) { return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6), v6.WithMaxTries(5)) },
		func(g given) (any, error) { return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7), v7.WithMaxTries(5)) },
		func(g given) (any, error) {
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(g.b, 4), g.ctx))
		},
	},
	{
		"any number of attempts",
		func(g given) (any, error) { return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5), v5.WithMaxTries(0)) },
		func(g given) (any, error) { return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6), v6.WithMaxTries(0)) },
		func(g given) (any, error) { return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7), v7.WithMaxTries(0)) },
		func(g given) (any, error) { return backoff.RetryWithData(g.op, backoff.WithContext(g.b, g.ctx)) },
	},
	{
		"notifications",
		func(g given) (any, error) {
			return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5), v5.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6), v6.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7), v7.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			return backoff.RetryNotifyWithData(g.op, backoff.WithContext(g.b, g.ctx), g.notify)
		},
	},
	{
		"time",
		func(g given) (any, error) {
			return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5), v5.WithMaxElapsedTime(time.Hour))
		},
		func(g given) (any, error) {
			return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6), v6.WithMaxElapsedTime(time.Hour))
		},
		func(g given) (any, error) {
			return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7), v7.WithMaxElapsedTime(time.Hour))
		},
		func(g given) (any, error) {
			g.b.MaxElapsedTime = time.Hour
			return backoff.RetryWithData(g.op, backoff.WithContext(g.b, g.ctx))
		},
	},
	{
		"time of another policy",
		func(g given) (any, error) {
			return v5.Retry(g.ctx, g.op, v5.WithBackOff(v5.NewConstantBackOff(time.Minute)))
		},
		func(g given) (any, error) {
			return v6.Retry(g.ctx, g.op, v6.WithBackOff(v6.NewConstantBackOff(time.Minute)))
		},
		func(g given) (any, error) {
			return v7.Retry(g.ctx, g.op, v7.WithBackOff(v7.NewConstantBackOff(time.Minute)))
		},
		func(g given) (any, error) {
			ctx, cancel := context.WithTimeout(g.ctx, 15*time.Minute)
			defer cancel()
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.NewConstantBackOff(time.Minute), ctx))
		},
	},
	{
		"another policy for any time",
		func(g given) (any, error) {
			b := v5.NewConstantBackOff(time.Minute)
			return v5.Retry(g.ctx, g.op, v5.WithBackOff(b), v5.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			b := v6.NewConstantBackOff(time.Minute)
			return v6.Retry(g.ctx, g.op, v6.WithBackOff(b), v6.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			b := v7.NewConstantBackOff(time.Minute)
			return v7.Retry(g.ctx, g.op, v7.WithBackOff(b), v7.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			b := backoff.NewConstantBackOff(time.Minute)
			return backoff.RetryWithData(g.op, backoff.WithContext(b, g.ctx))
		},
	},
	{
		"which limit",
		nil,
		func(g given) (any, error) {
			n, err := v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6), v6.WithMaxTries(g.n), v6.WithMaxElapsedTime(time.Hour))
			g.limits(errors.Is(err, v6.ErrMaxElapsedTime), errors.Is(err, v6.ErrExhausted))
			return n, err
		},
		func(g given) (any, error) {
			n, err := v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7), v7.WithMaxTries(g.n), v7.WithMaxElapsedTime(time.Hour))
			g.limits(errors.Is(err, v7.ErrMaxElapsedTime), errors.Is(err, v7.ErrExhausted))
			return n, err
		},
		func(g given) (any, error) {
			g.b.MaxElapsedTime = time.Hour
			b := backoff.WithStopCause(g.b, errTime)
			b = backoff.WithStopCause(backoff.WithMaxRetries(b, uint64(g.n-1)), errTries)
			n, err := backoff.RetryWithData(g.op, backoff.WithContext(b, g.ctx))
			g.limits(errors.Is(err, errTime), errors.Is(err, errTries))
			return n, err
		},
	},
	{
		"permanent errors",
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, v5.Permanent(err) }
			return v5.Retry(g.ctx, op, v5.WithBackOff(g.b5))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, v6.Permanent(err) }
			return v6.Retry(g.ctx, op, v6.WithBackOff(g.b6))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, v7.Permanent(err) }
			return v7.Retry(g.ctx, op, v7.WithBackOff(g.b7))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, backoff.Permanent(err) }
			return backoff.RetryWithData(op, backoff.WithContext(g.b, g.ctx))
		},
	},
	{
		"a server's wait",
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, ifFailed(err, v5.RetryAfter(30)) }
			return v5.Retry(g.ctx, op, v5.WithBackOff(v5.NewConstantBackOff(time.Second)), v5.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, ifFailed(err, v6.RetryAfter(30)) }
			return v6.Retry(g.ctx, op, v6.WithBackOff(v6.NewConstantBackOff(time.Second)), v6.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, ifFailed(err, v7.RetryAfter(30*time.Second, err)) }
			return v7.Retry(g.ctx, op, v7.WithBackOff(v7.NewConstantBackOff(time.Second)), v7.WithMaxElapsedTime(0))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, backoff.RetryAfter(err, 30*time.Second) }
			return backoff.RetryWithData(op, backoff.WithContext(backoff.NewConstantBackOff(time.Second), g.ctx))
		},
	},
	{
		"a ticker",
		func(g given) (any, error) { t := v5.NewTicker(g.b5); return g.tick(t.C, t.Stop) },
		func(g given) (any, error) { t := v6.NewTicker(g.b6); return g.tick(t.C, t.Stop) },
		func(g given) (any, error) { t := v7.NewTicker(g.b7); return g.tick(t.C, t.Stop) },
		func(g given) (any, error) {
			g.b.MaxElapsedTime = 0
			t := backoff.NewTicker(g.b)
			return g.tick(t.C, t.Stop)
		},
	},
}

// given is what a program has to work with: an operation, its context, and policies for it.
type given struct {
	ctx    context.Context
	op     func() (int, error)
	do     func() error // op without its value
	notify func(error, time.Duration)
	limits func(time, tries bool) // which of them ended the loop
	n      uint                   // attempts

	// The default policies, but not random: otherwise no two runs would be the same.
	b5 *v5.ExponentialBackOff
	b6 *v6.ExponentialBackOff
	b7 *v7.ExponentialBackOff
	b  *backoff.ExponentialBackOff
}

// tick calls op at each tick until it succeeds or the context ends.
func (g given) tick(c <-chan time.Time, stop func()) (n any, err error) {
	defer stop()
	for range c {
		if n, err = g.op(); err == nil || g.ctx.Err() != nil {
			break
		}
	}
	return n, err
}

func ifFailed(err, then error) error {
	if err == nil {
		return nil
	}
	return then
}

// A trace is what a program did and when.
type trace struct {
	calls, waits []time.Duration
	took         time.Duration
	value        any
	time, tries  bool // which limit ended it
	err          error
}

// A migrationCase is an operation that takes a second, and the time after which its context ends.
type migrationCase struct {
	successAt int // the call that succeeds; 0 is none
	timeout   time.Duration
	n         uint
	instant   bool // the operation takes no time
}

func (c migrationCase) run(t *testing.T, program func(given) (any, error)) (tr trace) {
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer time.AfterFunc(c.timeout, func() { cancel(errShutdown) }).Stop()
		start := time.Now()
		g := given{
			ctx: ctx,
			op: func() (int, error) {
				tr.calls = append(tr.calls, time.Since(start))
				if !c.instant {
					time.Sleep(time.Second)
				}
				if len(tr.calls) == c.successAt {
					return 42, nil
				}
				return len(tr.calls), errBusy
			},
			notify: func(_ error, wait time.Duration) { tr.waits = append(tr.waits, wait) },
			limits: func(time, tries bool) { tr.time, tr.tries = time, tries },
			n:      c.n,
			b5:     v5.NewExponentialBackOff(),
			b6:     v6.NewExponentialBackOff(),
			b7:     v7.NewExponentialBackOff(),
			b:      backoff.NewExponentialBackOff(),
		}
		g.do = func() error { _, err := g.op(); return err }
		g.b5.RandomizationFactor, g.b6.RandomizationFactor = 0, 0
		g.b7.RandomizationFactor, g.b.RandomizationFactor = 0, 0
		tr.value, tr.err = program(g)
		tr.took = time.Since(start)
	})
	return tr
}

// A program that was migrated makes the same calls at the same times and returns the same value, and
// its error matches what the old one's does.
func TestMigrating(t *testing.T) {
	for _, m := range migrations {
		t.Run(m.name, func(t *testing.T) {
			for _, c := range []migrationCase{
				{successAt: 3, timeout: 24 * time.Hour, n: 5},
				{timeout: 24 * time.Hour, n: 5},
				{timeout: 24 * time.Hour, n: 1000},
				{timeout: 3100 * time.Millisecond, n: 5}, // during the second wait
			} {
				here := c.run(t, m.here)
				for _, old := range []func(given) (any, error){m.v5, m.v6, m.v7} {
					if old == nil {
						continue
					}
					want, got := c.run(t, old), here
					require.Equal(t, want.err == nil, got.err == nil)
					for _, target := range []error{errBusy, errShutdown, context.Canceled} {
						require.True(t, errors.Is(got.err, target) || !errors.Is(want.err, target), "%v: %v", target, got.err)
					}
					want.err, got.err = nil, nil
					require.Equal(t, want, got, "%+v", c)
				}
			}
		})
	}
}

// Without the limit of 15 minutes that the others have for every policy, a constant policy goes on
// until its context ends. A context with a timeout is such a limit; it also ends an attempt that hangs.
func TestMigratingTimeLimit(t *testing.T) {
	c := migrationCase{timeout: 24*time.Hour - time.Second, instant: true}
	calls := func(program func(given) (any, error)) int { return len(c.run(t, program).calls) }
	require.Equal(t, 16, calls(func(g given) (any, error) {
		return v5.Retry(g.ctx, g.op, v5.WithBackOff(v5.NewConstantBackOff(time.Minute)))
	}))
	require.Equal(t, 16, calls(func(g given) (any, error) {
		return v6.Retry(g.ctx, g.op, v6.WithBackOff(v6.NewConstantBackOff(time.Minute)))
	}))
	require.Equal(t, 16, calls(func(g given) (any, error) {
		return v7.Retry(g.ctx, g.op, v7.WithBackOff(v7.NewConstantBackOff(time.Minute)))
	}))
	require.Equal(t, 1440, calls(func(g given) (any, error) {
		return backoff.RetryWithData(g.op, backoff.WithContext(backoff.NewConstantBackOff(time.Minute), g.ctx))
	}))
	hangs := c.run(t, func(g given) (any, error) {
		ctx, cancel := context.WithTimeout(g.ctx, 15*time.Minute)
		defer cancel()
		return nil, backoff.Retry(func() error {
			<-ctx.Done()
			return g.do()
		}, backoff.WithContext(backoff.NewConstantBackOff(time.Minute), ctx))
	})
	require.Equal(t, 15*time.Minute, hangs.took)
	require.ErrorIs(t, hangs.err, context.DeadlineExceeded)
	require.ErrorIs(t, hangs.err, errBusy)
}

// literals are policies whose fields mean something else there: each with the intervals of the others, and ours.
var literals = map[string]struct {
	first, longest time.Duration
	multiplier     float64
	old, here      []time.Duration
}{
	"a Multiplier of zero":          {1, 60, 0, []time.Duration{1000, 1000, 1000}, []time.Duration{1000, 1500, 2250}},
	"a Multiplier below 1":          {1, 60, 0.5, []time.Duration{1000, 500, 250}, []time.Duration{1000, 1000, 1000}},
	"a MaxInterval of zero":         {1, 0, 2, []time.Duration{1000, 1000, 1000}, []time.Duration{1000, 2000, 4000}},
	"an interval above MaxInterval": {10, 4, 2, []time.Duration{10000, 4000, 4000}, []time.Duration{4000, 4000, 4000}},
	"no MaxInterval, up to 60 s":    {40, 0, 2, []time.Duration{40000, 40000, 40000}, []time.Duration{40000, 60000, 60000}},
	"equal waits":                   {1, 60, 1, []time.Duration{1000, 1000, 1000}, []time.Duration{1000, 1000, 1000}},
}

func TestMigratingLiterals(t *testing.T) {
	for name, test := range literals {
		t.Run(name, func(t *testing.T) {
			first := test.first * time.Second
			longest := test.longest * time.Second
			policies := map[string]policy{
				"v5": &v5.ExponentialBackOff{InitialInterval: first, Multiplier: test.multiplier, MaxInterval: longest},
				"v6": &v6.ExponentialBackOff{InitialInterval: first, Multiplier: test.multiplier, MaxInterval: longest},
				"v7": &v7.ExponentialBackOff{InitialInterval: first, Multiplier: test.multiplier, MaxInterval: longest},
				"":   &backoff.ExponentialBackOff{InitialInterval: first, Multiplier: test.multiplier, MaxInterval: longest},
			}
			for version, p := range policies {
				want := test.old
				if version == "" {
					want = test.here
				}
				for n, interval := range want {
					require.Equal(t, interval*time.Millisecond, p.NextBackOff(), "%s, wait %d", version, n+1)
				}
			}
		})
	}
}

type policy interface{ NextBackOff() time.Duration }

// A policy that is asked by hand never stops there. Here it does after 15 minutes.
func TestMigratingByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policies := map[string]interface{ NextBackOff() time.Duration }{
			"v5": v5.NewExponentialBackOff(), "v6": v6.NewExponentialBackOff(), "v7": v7.NewExponentialBackOff(),
			"without limit": backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)),
		}
		here := backoff.NewExponentialBackOff()
		policies["here"] = here
		for _, policy := range policies {
			require.Positive(t, policy.NextBackOff())
		}
		time.Sleep(15 * time.Minute)
		delete(policies, "here")
		for name, policy := range policies {
			require.Positive(t, policy.NextBackOff(), name)
		}
		require.Equal(t, backoff.Stop, here.NextBackOff())
	})
}

// After the wait that a server asked for, the others start their policy over; here it goes on.
func TestMigratingRetryAfter(t *testing.T) {
	c := migrationCase{successAt: 4, timeout: time.Hour}
	// first makes the first attempt's error ask for a wait.
	first := func(g given, ask func(error) error) func() (int, error) {
		g.b5.InitialInterval, g.b6.InitialInterval = 20*time.Second, 20*time.Second
		g.b7.InitialInterval, g.b.InitialInterval = 20*time.Second, 20*time.Second
		return func() (int, error) {
			n, err := g.op()
			if n == 1 {
				err = ask(err)
			}
			return n, err
		}
	}
	for _, old := range []func(given) (any, error){
		func(g given) (any, error) {
			op := first(g, func(error) error { return v5.RetryAfter(30) })
			return v5.Retry(g.ctx, op, v5.WithBackOff(g.b5), v5.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			op := first(g, func(error) error { return v6.RetryAfter(30) })
			return v6.Retry(g.ctx, op, v6.WithBackOff(g.b6), v6.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			op := first(g, func(err error) error { return v7.RetryAfter(30*time.Second, err) })
			return v7.Retry(g.ctx, op, v7.WithBackOff(g.b7), v7.WithNotify(g.notify))
		},
	} {
		require.Equal(t, []time.Duration{30 * time.Second, 20 * time.Second, 30 * time.Second}, c.run(t, old).waits)
	}
	here := c.run(t, func(g given) (any, error) {
		op := first(g, func(err error) error { return backoff.RetryAfter(err, 30*time.Second) })
		return backoff.RetryNotifyWithData(op, backoff.WithContext(g.b, g.ctx), g.notify)
	})
	require.Equal(t, []time.Duration{30 * time.Second, 30 * time.Second, 45 * time.Second}, here.waits)
}

// A wait of zero means "at once" there. Here it asks for nothing, and the policy's wait follows.
func TestMigratingRetryAfterZero(t *testing.T) {
	c := migrationCase{successAt: 2, timeout: time.Hour}
	for _, old := range []func(given) (any, error){
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, ifFailed(err, v5.RetryAfter(0)) }
			return v5.Retry(g.ctx, op, v5.WithBackOff(g.b5), v5.WithNotify(g.notify))
		},
		func(g given) (any, error) {
			op := func() (int, error) { n, err := g.op(); return n, ifFailed(err, v7.RetryAfter(0, err)) }
			return v7.Retry(g.ctx, op, v7.WithBackOff(g.b7), v7.WithNotify(g.notify))
		},
	} {
		require.Equal(t, []time.Duration{0}, c.run(t, old).waits)
	}
	here := c.run(t, func(g given) (any, error) {
		op := func() (int, error) { n, err := g.op(); return n, backoff.RetryAfter(err, 0) }
		return backoff.RetryNotifyWithData(op, backoff.WithContext(g.b, g.ctx), g.notify)
	})
	require.Equal(t, []time.Duration{500 * time.Millisecond}, here.waits)
	require.Same(t, errBusy, backoff.RetryAfter(errBusy, 0))
}

// v7's Stop waits until the ticker has ended, and so for the policy if that is being asked. Ours does not.
func TestMigratingTickerStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowPolicy{}
		took := func(c <-chan time.Time, stop func()) time.Duration {
			<-c
			synctest.Wait() // until the policy is asked
			start := time.Now()
			stop()
			return time.Since(start)
		}
		old := v7.NewTicker(slow)
		require.Equal(t, time.Minute, took(old.C, old.Stop))
		select {
		case _, ok := <-old.C:
			require.False(t, ok)
		default:
			t.Error("not closed")
		}

		here := backoff.NewTicker(slow)
		require.Zero(t, took(here.C, here.Stop))
		_, ok := <-here.C
		require.False(t, ok)
	})
}

// slowPolicy takes a minute for each answer.
type slowPolicy struct{}

func (*slowPolicy) Reset() {}

func (*slowPolicy) NextBackOff() time.Duration {
	time.Sleep(time.Minute)
	return 0
}

// A wait that would outlast the deadline is refused here, unless it is the first; the others wait until
// the deadline. So only their contexts have a cause then.
func TestMigratingDeadline(t *testing.T) {
	c := migrationCase{timeout: time.Hour}
	// within runs a program with a deadline after three seconds.
	within := func(program func(given) (any, error)) trace {
		return c.run(t, func(g given) (any, error) {
			ctx, cancel := context.WithTimeoutCause(g.ctx, 3*time.Second, errTime)
			defer cancel()
			g.ctx = ctx
			return program(g)
		})
	}
	here := within(func(g given) (any, error) { return backoff.RetryWithData(g.op, backoff.WithContext(g.b, g.ctx)) })
	require.Equal(t, 2500*time.Millisecond, here.took)
	require.ErrorIs(t, here.err, context.DeadlineExceeded)
	require.NotErrorIs(t, here.err, errTime)
	for _, program := range []func(given) (any, error){
		func(g given) (any, error) { return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5)) },
		func(g given) (any, error) { return v6.Retry(g.ctx, g.op, v6.WithBackOff(g.b6)) },
		func(g given) (any, error) { return v7.Retry(g.ctx, g.op, v7.WithBackOff(g.b7)) },
	} {
		old := within(program)
		require.Equal(t, here.calls, old.calls)
		require.Equal(t, 3*time.Second, old.took)
		require.ErrorIs(t, old.err, errTime)
	}
}

// v5 returns the context's cause alone. What v6 and v7 have in a RetryError is here the error itself.
func TestMigratingErrors(t *testing.T) {
	ended := migrationCase{timeout: 3100 * time.Millisecond}.run(t, func(g given) (any, error) {
		return v5.Retry(g.ctx, g.op, v5.WithBackOff(g.b5))
	}).err
	require.Same(t, errShutdown, ended)
	c := migrationCase{timeout: time.Hour}
	marked := c.run(t, func(g given) (any, error) {
		return v6.Retry(g.ctx, func() (int, error) { return 0, v6.Permanent(g.do()) })
	}).err
	require.ErrorIs(t, marked, v6.ErrPermanent)
	require.Same(t, errBusy, v6.AsRetryError(marked).LastErr)
	marked = c.run(t, func(g given) (any, error) {
		return v7.Retry(g.ctx, func() (int, error) { return 0, v7.Permanent(g.do()) })
	}).err
	require.ErrorIs(t, marked, v7.ErrPermanent)
	require.Same(t, errBusy, v7.AsRetryError(marked).LastErr)
	require.ErrorIs(t, v6.Permanent(errBusy), v6.ErrPermanent)
	require.ErrorIs(t, v7.Permanent(errBusy), v7.ErrPermanent)
	require.ErrorIs(t, backoff.Permanent(errBusy), &backoff.PermanentError{})
	var mark *v5.PermanentError
	require.ErrorAs(t, v5.Permanent(errBusy), &mark)
	require.Same(t, errBusy, c.run(t, func(g given) (any, error) {
		return nil, backoff.Retry(func() error { return backoff.Permanent(g.do()) }, g.b)
	}).err)
}

// Each line of code in the page's list stands in this file.
func TestMigratingPage(t *testing.T) {
	plain := regexp.MustCompile(`\b(v[567]|backoff|g)\.`).ReplaceAllString(read(t, "lab/pages/pairs_test.go"), "")
	plain = regexp.MustCompile(`\bb[567]\b`).ReplaceAllString(plain, "b")
	_, list, found := strings.Cut(read(t, "docs/migrating.md"), "## From v5 and later\n")
	require.True(t, found)
	_, list, found = strings.Cut(list, "\n\n- ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n\n")
	lines := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1)
	require.Greater(t, len(lines), 2*len(migrations))
	for _, line := range lines {
		require.Contains(t, plain, line[1])
	}
}
