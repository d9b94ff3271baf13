package pages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry4 "github.com/avast/retry-go/v4"
	retry5 "github.com/avast/retry-go/v5"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

// Delays is a policy whose waits are those of a function. It receives the number of the retry, from 1,
// and the error of the last attempt.
type Delays struct {
	Delay func(n uint, err error) time.Duration

	n   uint
	err error
}

// Reset starts the numbers over.
func (d *Delays) Reset() { d.n = 0 }

// Observe is called after each attempt.
func (d *Delays) Observe(err error) { d.err = err }

// NextBackOff returns the next wait of the function.
func (d *Delays) NextBackOff() time.Duration {
	d.n++
	return d.Delay(d.n, d.err)
}

// retryAll is like Retry, but its error has the errors of all attempts.
func retryAll(op func() error, policy backoff.BackOff) error {
	var earlier []error
	var last error
	err := backoff.Retry(func() error {
		if last != nil {
			earlier = append(earlier, last)
		}
		last = op()
		return last
	}, policy)
	if err == nil {
		return nil
	}
	return errors.Join(append(earlier, err)...)
}

// upTo returns a function that reports whether target has been found fewer than n times.
func upTo(n int, target error) func(error) bool {
	return func(err error) bool {
		if errors.Is(err, target) {
			n--
		}
		return n > 0
	}
}

// instant is a delay that retry-go accepts and that tests do not notice.
const instant = time.Nanosecond

func fail() error { return errBusy }

func linear(n uint, _ error) time.Duration { return time.Duration(n) * time.Second }

func linear4(n uint, err error, _ *retry4.Config) time.Duration { return linear(n, err) }

func linear5(n uint, err error, _ retry5.DelayContext) time.Duration { return linear(n, err) }

var errFull = errors.New("full")

// fullAtFirst returns op, but what its first call fails with goes through full.
func fullAtFirst(op func() (int, error), full func(error) error) func() (int, error) {
	first := true
	return func() (int, error) {
		n, err := op()
		if err != nil && first {
			err = full(err)
		}
		first = false
		return n, err
	}
}

func temporary(err error) bool { return !errors.Is(err, errBusy) }

// retryGoDefaults returns a policy with the attempts and the waits that retry-go has without options.
func retryGoDefaults(ctx context.Context) backoff.BackOff {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithJitter(backoff.AdditiveJitter),
		backoff.WithMaxElapsedTime(0),
	)
	return backoff.WithContext(backoff.WithMaxRetries(b, 9), ctx)
}

// doubling returns the policy of retry-go's defaults, but without their jitter.
func doubling(options ...backoff.ExponentialBackOffOpts) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(append([]backoff.ExponentialBackOffOpts{
		backoff.WithInitialInterval(100 * time.Millisecond),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),
		backoff.WithJitter(backoff.NoJitter),
	}, options...)...)
}

// retryGo4 and retryGo5 call retry-go with the waits of doubling, unless options say otherwise.
func retryGo4(g given, options ...retry4.Option) (any, error) {
	before := []retry4.Option{retry4.Context(g.ctx), retry4.DelayType(retry4.BackOffDelay)}
	return retry4.DoWithData(g.op, append(before, options...)...)
}

func retryGo5(g given, options ...retry5.Option) (any, error) {
	before := []retry5.Option{retry5.Context(g.ctx), retry5.DelayType(retry5.BackOffDelay)}
	return retry5.NewWithData[int](append(before, options...)...).Do(g.op)
}

// retryGoPairs are calls as programs write them for avast/retry-go, and what to write instead. The list
// in migrating.md shows them; TestRetryGoPage looks for each line of it here.
var retryGoPairs = []struct {
	name         string
	v4, v5, here func(g given) (any, error)
}{
	{
		"Attempts",
		func(g given) (any, error) { return retryGo4(g, retry4.Attempts(5)) },
		func(g given) (any, error) { return retryGo5(g, retry5.Attempts(5)) },
		func(g given) (any, error) {
			b := doubling()
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(b, 4), g.ctx))
		},
	},
	{
		"no limit",
		func(g given) (any, error) {
			return retryGo4(g, retry4.Attempts(0), retry4.MaxDelay(time.Minute), retry4.WrapContextErrorWithLastError(true))
		},
		func(g given) (any, error) {
			return retryGo5(g, retry5.UntilSucceeded(), retry5.MaxDelay(time.Minute), retry5.WrapContextErrorWithLastError(true))
		},
		func(g given) (any, error) {
			b := doubling(backoff.WithMaxElapsedTime(0))
			return backoff.RetryWithData(g.op, backoff.WithContext(b, g.ctx))
		},
	},
	{
		"delays",
		func(g given) (any, error) {
			return retryGo4(g, retry4.Delay(time.Second), retry4.MaxDelay(5*time.Second))
		},
		func(g given) (any, error) {
			return retryGo5(g, retry5.Delay(time.Second), retry5.MaxDelay(5*time.Second))
		},
		func(g given) (any, error) {
			b := doubling(backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(5*time.Second))
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(b, 9), g.ctx))
		},
	},
	{
		"BackOffDelay",
		func(g given) (any, error) {
			return retry4.DoWithData(g.op, retry4.Context(g.ctx), retry4.DelayType(retry4.BackOffDelay))
		},
		func(g given) (any, error) {
			return retry5.NewWithData[int](retry5.Context(g.ctx), retry5.DelayType(retry5.BackOffDelay)).Do(g.op)
		},
		func(g given) (any, error) {
			b := backoff.NewExponentialBackOff(
				backoff.WithInitialInterval(100*time.Millisecond),
				backoff.WithMultiplier(2), backoff.WithJitter(backoff.NoJitter),
			)
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(b, 9), g.ctx))
		},
	},
	{
		"FixedDelay",
		func(g given) (any, error) {
			return retryGo4(g, retry4.DelayType(retry4.FixedDelay), retry4.Delay(time.Second))
		},
		func(g given) (any, error) {
			return retryGo5(g, retry5.DelayType(retry5.FixedDelay), retry5.Delay(time.Second))
		},
		func(g given) (any, error) {
			b := backoff.NewConstantBackOff(time.Second)
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(b, 9), g.ctx))
		},
	},
	{
		"a function of one's own",
		func(g given) (any, error) { return retryGo4(g, retry4.DelayType(linear4)) },
		func(g given) (any, error) { return retryGo5(g, retry5.DelayType(linear5)) },
		func(g given) (any, error) {
			b := &Delays{Delay: linear}
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(b, 9), g.ctx))
		},
	},
	{
		"a function that calls BackOffDelay",
		func(g given) (any, error) {
			delay := func(n uint, err error, config *retry4.Config) time.Duration {
				if errors.Is(err, errFull) {
					return time.Minute
				}
				return retry4.BackOffDelay(n, err, config)
			}
			op := fullAtFirst(g.op, func(err error) error { return fmt.Errorf("%w: %w", errFull, err) })
			return retry4.DoWithData(op, retry4.Context(g.ctx), retry4.DelayType(delay))
		},
		func(g given) (any, error) {
			delay := func(n uint, err error, config retry5.DelayContext) time.Duration {
				if errors.Is(err, errFull) {
					return time.Minute
				}
				return retry5.BackOffDelay(n, err, config)
			}
			op := fullAtFirst(g.op, func(err error) error { return fmt.Errorf("%w: %w", errFull, err) })
			return retry5.NewWithData[int](retry5.Context(g.ctx), retry5.DelayType(delay)).Do(op)
		},
		func(g given) (any, error) {
			op := fullAtFirst(g.op, func(err error) error { return backoff.RetryAfter(err, time.Minute) })
			return backoff.RetryWithData(op, backoff.WithContext(backoff.WithMaxRetries(doubling(), 9), g.ctx))
		},
	},
	{
		"RetryIf",
		func(g given) (any, error) { return retryGo4(g, retry4.RetryIf(temporary)) },
		func(g given) (any, error) { return retryGo5(g, retry5.RetryIf(temporary)) },
		func(g given) (any, error) {
			b := backoff.WithMaxRetries(doubling(), 9)
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithRetryIf(b, temporary), g.ctx))
		},
	},
	{
		"Unrecoverable",
		func(g given) (any, error) {
			return retry4.DoWithData(func() (int, error) {
				n, err := g.op()
				return n, ifFailed(err, retry4.Unrecoverable(err))
			}, retry4.Context(g.ctx))
		},
		func(g given) (any, error) {
			return retry5.NewWithData[int](retry5.Context(g.ctx)).Do(func() (int, error) {
				n, err := g.op()
				return n, ifFailed(err, retry5.Unrecoverable(err))
			})
		},
		func(g given) (any, error) {
			return backoff.RetryWithData(func() (int, error) {
				n, err := g.op()
				return n, backoff.Permanent(err)
			}, backoff.WithContext(doubling(), g.ctx))
		},
	},
	{
		"AttemptsForError",
		func(g given) (any, error) { return retryGo4(g, retry4.AttemptsForError(3, errBusy)) },
		func(g given) (any, error) { return retryGo5(g, retry5.AttemptsForError(3, errBusy)) },
		func(g given) (any, error) {
			b := backoff.WithMaxRetries(doubling(), 9)
			b = backoff.WithRetryIf(b, upTo(3, errBusy))
			return backoff.RetryWithData(g.op, backoff.WithContext(b, g.ctx))
		},
	},
	{
		"LastErrorOnly",
		func(g given) (any, error) { return retryGo4(g, retry4.LastErrorOnly(true)) },
		func(g given) (any, error) { return retryGo5(g, retry5.LastErrorOnly(true)) },
		func(g given) (any, error) {
			return backoff.RetryWithData(g.op, backoff.WithContext(backoff.WithMaxRetries(doubling(), 9), g.ctx))
		},
	},
	{
		"the errors of all attempts",
		func(g given) (any, error) { return nil, retry4.Do(g.do, retry4.Context(g.ctx), retry4.MaxJitter(1)) },
		func(g given) (any, error) {
			return nil, retry5.New(retry5.Context(g.ctx), retry5.MaxJitter(1)).Do(g.do)
		},
		func(g given) (any, error) {
			return nil, retryAll(g.do, backoff.WithContext(backoff.WithMaxRetries(doubling(), 9), g.ctx))
		},
	},
	{
		"a throttle",
		nil,
		func(g given) (any, error) {
			throttle := retry5.NewFixedTokenBucketThrottle(retry5.FixedTokenBucketThrottleConfig{MaxCapacity: 15})
			return retryGo5(g, retry5.WithThrottle(throttle))
		},
		func(g given) (any, error) {
			b := backoff.WithMaxRetries(doubling(), 9)
			b = backoff.WithBudget(b, &backoff.Budget{Capacity: 15})
			return backoff.RetryWithData(g.op, backoff.WithContext(b, g.ctx))
		},
	},
}

// A program that was migrated makes the same calls at the same times and returns the same value, and
// its error matches what the old one's does.
func TestRetryGo(t *testing.T) {
	for _, m := range retryGoPairs {
		t.Run(m.name, func(t *testing.T) {
			for _, c := range []migrationCase{
				{successAt: 1, timeout: 24 * time.Hour},
				{successAt: 3, timeout: 24 * time.Hour},
				{timeout: 24 * time.Hour},
				{timeout: 2150 * time.Millisecond}, // during the second wait
			} {
				here := c.run(t, m.here)
				for _, old := range []func(given) (any, error){m.v4, m.v5} {
					if old == nil {
						continue
					}
					want, got := c.run(t, old), here
					require.Equal(t, want.err == nil, got.err == nil, "%+v: %v", c, want.err)
					for _, target := range []error{errBusy, errShutdown} {
						require.True(t, errors.Is(got.err, target) || !errors.Is(want.err, target), "%v: %v", target, got.err)
					}
					if want.err != nil {
						want.value = got.value // theirs is the zero value
					}
					want.err, got.err = nil, nil
					require.Equal(t, want, got, "%+v", c)
				}
			}
		})
	}
}

// The program that the page shows before and after.
func TestRetryGoProgram(t *testing.T) {
	type loader func(context.Context, func(context.Context) (string, error)) (string, error)
	for name, script := range map[string][]error{
		"succeeds":  {errBusy, errBusy, nil},
		"gives up":  {errBusy, errBusy, errBusy, errBusy, errBusy, nil},
		"not found": {errBusy, fmt.Errorf("user: %w", errNotFound), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var traces []string
			logTo(t, io.Discard, "")
			for _, program := range []loader{loadWithRetryGo, loadWithBackoff} {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					var calls []time.Duration
					value, err := program(t.Context(), func(context.Context) (string, error) {
						calls = append(calls, time.Since(start))
						return "value", script[len(calls)-1]
					})
					if err != nil {
						value = ""
					}
					traces = append(traces, fmt.Sprint(calls, value, err))
				})
			}
			require.Equal(t, traces[0], traces[1])
		})
	}
}

// A span is the shortest and the longest of some waits.
type span struct{ shortest, longest time.Duration }

const (
	jitterAttempts = 10
	ms             = time.Millisecond
)

var retryGoJitters = []struct {
	name string
	v4   []retry4.Option
	v5   []retry5.Option
	here backoff.BackOff
	span func(n int) span // of the n-th wait, from 0
}{
	{
		"the defaults", nil, nil,
		retryGoDefaults(context.Background()),
		func(n int) span { return span{100 * ms << n, 100*ms<<n + 100*ms} },
	},
	{
		"the defaults by name",
		[]retry4.Option{retry4.DelayType(retry4.CombineDelay(retry4.BackOffDelay, retry4.RandomDelay))},
		[]retry5.Option{retry5.DelayType(retry5.CombineDelay(retry5.BackOffDelay, retry5.RandomDelay))},
		retryGoDefaults(context.Background()),
		func(n int) span { return span{100 * ms << n, 100*ms<<n + 100*ms} },
	},
	{
		"FixedDelay and RandomDelay",
		[]retry4.Option{retry4.DelayType(retry4.CombineDelay(retry4.FixedDelay, retry4.RandomDelay))},
		[]retry5.Option{retry5.DelayType(retry5.CombineDelay(retry5.FixedDelay, retry5.RandomDelay))},
		backoff.WithMaxRetries(backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(100*time.Millisecond),
			backoff.WithMultiplier(1), backoff.WithJitter(backoff.AdditiveJitter),
		), 9),
		func(int) span { return span{100 * ms, 200 * ms} },
	},
	{
		"RandomDelay",
		[]retry4.Option{retry4.DelayType(retry4.RandomDelay), retry4.MaxJitter(time.Second)},
		[]retry5.Option{retry5.DelayType(retry5.RandomDelay), retry5.MaxJitter(time.Second)},
		backoff.WithMaxRetries(backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(time.Second),
			backoff.WithMultiplier(1), backoff.WithJitter(backoff.FullJitter),
		), 9),
		func(int) span { return span{0, time.Second} },
	},
	{
		"FullJitterBackoffDelay",
		[]retry4.Option{retry4.DelayType(retry4.FullJitterBackoffDelay), retry4.MaxDelay(time.Second)},
		[]retry5.Option{retry5.DelayType(retry5.FullJitterBackoffDelay), retry5.MaxDelay(time.Second)},
		backoff.WithMaxRetries(backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(200*time.Millisecond), backoff.WithMaxInterval(time.Second),
			backoff.WithMultiplier(2), backoff.WithJitter(backoff.FullJitter),
		), 9),
		func(n int) span { return span{0, min(200*ms<<n, time.Second)} },
	},
}

// What is random is drawn from the same range.
func TestRetryGoJitter(t *testing.T) {
	for _, test := range retryGoJitters {
		for version, program := range map[string]func(given) (any, error){
			"v4": func(g given) (any, error) {
				return nil, retry4.Do(g.do, test.v4...)
			},
			"v5": func(g given) (any, error) {
				return nil, retry5.New(test.v5...).Do(g.do)
			},
			"here": func(g given) (any, error) {
				return nil, backoff.Retry(g.do, test.here)
			},
		} {
			for i, drawn := range drawnSpans(t, program) {
				want := test.span(i)
				tenth := (want.longest - want.shortest) / 10
				where := fmt.Sprintf("%s, %s, wait %d: %v", test.name, version, i+1, drawn)
				require.GreaterOrEqual(t, drawn.shortest, want.shortest, where)
				require.Less(t, drawn.shortest, want.shortest+tenth, where)
				require.LessOrEqual(t, drawn.longest, want.longest, where)
				require.Greater(t, drawn.longest, want.longest-tenth, where)
			}
		}
	}
}

// drawnSpans returns the span of each wait of a program over many runs.
func drawnSpans(t *testing.T, program func(given) (any, error)) (spans [jitterAttempts - 1]span) {
	for run := range 300 {
		calls := migrationCase{timeout: time.Hour, instant: true}.run(t, program).calls
		require.Len(t, calls, jitterAttempts)
		for i := range spans {
			wait := calls[i+1] - calls[i]
			if run == 0 {
				spans[i] = span{wait, wait}
			}
			spans[i].shortest = min(spans[i].shortest, wait)
			spans[i].longest = max(spans[i].longest, wait)
		}
	}
	return spans
}

// At MaxDelay the delays have no jitter there. Here they stay spread below MaxInterval.
func TestRetryGoCap(t *testing.T) {
	const longest = 400 * ms
	for _, program := range []func(given) (any, error){
		func(g given) (any, error) { return nil, retry4.Do(g.do, retry4.MaxDelay(longest)) },
		func(g given) (any, error) { return nil, retry5.New(retry5.MaxDelay(longest)).Do(g.do) },
	} {
		require.Equal(t, span{longest, longest}, drawnSpans(t, program)[8])
	}
	here := drawnSpans(t, func(g given) (any, error) {
		b := doubling(backoff.WithMaxInterval(longest), backoff.WithJitter(backoff.AdditiveJitter))
		return nil, backoff.Retry(g.do, backoff.WithMaxRetries(b, 9))
	})[8]
	require.InDelta(t, 300, here.shortest.Milliseconds(), 10)
	require.InDelta(t, 400, here.longest.Milliseconds(), 10)
}

// OnRetry is called after the last attempt too.
func TestRetryGoOnRetry(t *testing.T) {
	var numbers []uint
	count := func(n uint, _ error) { numbers = append(numbers, n) }
	require.Error(t, retry4.Do(fail,
		retry4.Attempts(3), retry4.Delay(instant), retry4.MaxJitter(1), retry4.OnRetry(count)))
	require.Equal(t, []uint{0, 1, 2}, numbers)
	numbers = nil
	require.Error(t, retry5.New(
		retry5.Attempts(3), retry5.Delay(instant), retry5.MaxJitter(1), retry5.OnRetry(count)).Do(fail))
	require.Equal(t, []uint{0, 1, 2}, numbers)

	notified := 0
	policy := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2)
	require.Error(t, backoff.RetryNotify(fail, policy, func(error, time.Duration) { notified++ }))
	require.Equal(t, 2, notified)
}

// There the error is a list of all attempts' errors, here it is the last.
func TestRetryGoErrors(t *testing.T) {
	calls := 0
	first := errors.New("first")
	op := func() error {
		if calls++; calls == 1 {
			return first
		}
		return errBusy
	}
	text := "All attempts fail:\n#1: first\n#2: busy"
	require.EqualError(t, retry4.Do(op, retry4.Attempts(2), retry4.Delay(instant), retry4.MaxJitter(1)), text)
	calls = 0
	require.EqualError(t, retry5.New(retry5.Attempts(2), retry5.Delay(instant), retry5.MaxJitter(1)).Do(op), text)
	calls = 0
	one := backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 1)
	require.Same(t, errBusy, backoff.Retry(op, one))
	calls = 0
	require.EqualError(t, retryAll(op, one), "first\nbusy")
}

// With a context that is done there is no call there, and one here.
func TestRetryGoDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	op := func() error { calls++; return errBusy }
	require.ErrorIs(t, retry4.Do(op, retry4.Context(ctx)), context.Canceled)
	require.ErrorIs(t, retry5.New(retry5.Context(ctx)).Do(op), context.Canceled)
	require.Equal(t, 0, calls)
	require.ErrorIs(t, backoff.Retry(op, backoff.WithContext(nil, ctx)), context.Canceled)
	require.Equal(t, 1, calls)
}

// There a loop waits until the deadline, here it gives up before a wait that would outlast it.
func TestRetryGoDeadline(t *testing.T) {
	within := func(program func(context.Context) error) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			start := time.Now()
			require.ErrorIs(t, program(ctx), context.DeadlineExceeded)
			took = time.Since(start)
		})
		return took
	}
	require.Equal(t, 2500*time.Millisecond, within(func(ctx context.Context) error {
		return retry4.Do(fail, retry4.Context(ctx), retry4.Delay(time.Second), retry4.DelayType(retry4.FixedDelay))
	}))
	require.Equal(t, 2500*time.Millisecond, within(func(ctx context.Context) error {
		return retry5.New(retry5.Context(ctx), retry5.Delay(time.Second), retry5.DelayType(retry5.FixedDelay)).Do(fail)
	}))
	require.Equal(t, 2*time.Second, within(func(ctx context.Context) error {
		return backoff.Retry(fail, backoff.WithContext(backoff.NewConstantBackOff(time.Second), ctx))
	}))
}

// With LastErrorOnly the error of a loop that its context ended is the cause alone.
func TestRetryGoContextError(t *testing.T) {
	ended := func(program func(given) (any, error)) error {
		return migrationCase{timeout: 2150 * time.Millisecond}.run(t, program).err
	}
	require.Same(t, errShutdown, ended(func(g given) (any, error) { return retryGo4(g, retry4.LastErrorOnly(true)) }))
	require.Same(t, errShutdown, ended(func(g given) (any, error) { return retryGo5(g, retry5.LastErrorOnly(true)) }))
	here := ended(func(g given) (any, error) { return nil, backoff.Retry(g.do, backoff.WithContext(doubling(), g.ctx)) })
	for _, target := range []error{errShutdown, context.Canceled, errBusy} {
		require.ErrorIs(t, here, target)
	}
}

// The value of a loop that failed is zero there, and the last call's here.
func TestRetryGoValue(t *testing.T) {
	op := func() (int, error) { return 7, errBusy }
	value, err := retry4.DoWithData(op, retry4.Attempts(1))
	require.Error(t, err)
	require.Equal(t, 0, value)
	value, err = retry5.NewWithData[int](retry5.Attempts(1)).Do(op)
	require.Error(t, err)
	require.Equal(t, 0, value)
	value, err = backoff.RetryWithData(op, &backoff.StopBackOff{})
	require.Error(t, err)
	require.Equal(t, 7, value)
}

// A function for RetryIf takes the place of the check for Unrecoverable.
func TestRetryGoRetryIf(t *testing.T) {
	always := func(error) bool { return true }
	calls := 0
	op4 := func() error { calls++; return retry4.Unrecoverable(errBusy) }
	require.Error(t, retry4.Do(op4,
		retry4.RetryIf(always), retry4.Attempts(3), retry4.Delay(instant), retry4.MaxJitter(1)))
	op5 := func() error { calls++; return retry5.Unrecoverable(errBusy) }
	require.Error(t, retry5.New(
		retry5.RetryIf(always), retry5.Attempts(3), retry5.Delay(instant), retry5.MaxJitter(1)).Do(op5))
	require.Equal(t, 6, calls)

	calls = 0
	here := func() error { calls++; return backoff.Permanent(errBusy) }
	require.Error(t, backoff.Retry(here, backoff.WithRetryIf(&backoff.ZeroBackOff{}, always)))
	require.Equal(t, 1, calls)
}

// Unrecoverable(nil) is an error there, Permanent(nil) is none here.
func TestRetryGoMarkedNil(t *testing.T) {
	require.Error(t, retry4.Unrecoverable(nil))
	require.Error(t, retry5.Unrecoverable(nil))
	require.NoError(t, backoff.Permanent(nil))
}

// A mark is found in an error that the operation returned, and in one that wraps it.
func TestRetryGoIsRecoverable(t *testing.T) {
	for mark, recoverable := range map[error]func(error) bool{
		retry4.Unrecoverable(errBusy): func(err error) bool { return retry4.IsRecoverable(err) },
		retry5.Unrecoverable(errBusy): func(err error) bool { return retry5.IsRecoverable(err) },
		backoff.Permanent(errBusy):    func(err error) bool { return !errors.Is(err, &backoff.PermanentError{}) },
	} {
		require.True(t, recoverable(errBusy))
		require.False(t, recoverable(mark))
		require.False(t, recoverable(fmt.Errorf("load: %w", mark)))
	}
}

// MaxDelay also cuts down what a function for DelayType returns. A server's wait is not cut down here.
func TestRetryGoServerWait(t *testing.T) {
	c := migrationCase{successAt: 2, timeout: time.Hour, instant: true}
	minute4 := func(uint, error, *retry4.Config) time.Duration { return time.Minute }
	minute5 := func(uint, error, retry5.DelayContext) time.Duration { return time.Minute }
	require.Equal(t, time.Second, c.run(t, func(g given) (any, error) {
		return retryGo4(g, retry4.DelayType(minute4), retry4.MaxDelay(time.Second))
	}).took)
	require.Equal(t, time.Second, c.run(t, func(g given) (any, error) {
		return retryGo5(g, retry5.DelayType(minute5), retry5.MaxDelay(time.Second))
	}).took)
	require.Equal(t, time.Minute, c.run(t, func(g given) (any, error) {
		return nil, backoff.Retry(func() error {
			return backoff.RetryAfter(g.do(), time.Minute)
		}, doubling(backoff.WithMaxInterval(time.Second)))
	}).took)
}

// With Attempts(0), v4 takes no notice of AttemptsForError.
func TestRetryGoAttemptsForError(t *testing.T) {
	c := migrationCase{successAt: 8, timeout: time.Hour, instant: true}
	calls := func(program func(given) (any, error)) int { return len(c.run(t, program).calls) }
	require.Equal(t, 8, calls(func(g given) (any, error) {
		return retryGo4(g, retry4.Attempts(0), retry4.AttemptsForError(3, errBusy))
	}))
	require.Equal(t, 3, calls(func(g given) (any, error) {
		return retryGo5(g, retry5.Attempts(0), retry5.AttemptsForError(3, errBusy))
	}))
	require.Equal(t, 3, calls(func(g given) (any, error) {
		return nil, backoff.Retry(g.do, backoff.WithRetryIf(doubling(), upTo(3, errBusy)))
	}))
}

// Each line of code in the page's list stands in this file.
func TestRetryGoPage(t *testing.T) {
	source, err := os.ReadFile("retrygo_test.go")
	require.NoError(t, err)
	plain := regexp.MustCompile(`\b(retry[45]|backoff|g)\.`).ReplaceAllString(string(source), "")
	_, list, found := strings.Cut(read(t, "docs/migrating.md"), "### Each option\n")
	require.True(t, found)
	_, list, found = strings.Cut(list, "\n\n- ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n\n")
	lines := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1)
	require.Greater(t, len(lines), 2*len(retryGoPairs))
	for _, line := range lines {
		if !strings.Contains(plain, line[1]) {
			t.Errorf("docs/migrating.md shows %s, which no pair in retrygo_test.go has", line[1])
		}
	}
}
