package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	v4 "github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"
)

// loops are the six functions. Each is called with what it takes of the arguments.
var loops = []struct {
	name       string
	takesTimer bool
	hasData    bool
	run        func(v4.OperationWithData[int], v4.BackOff, v4.Notify, v4.Timer) (int, error)
}{
	{"Retry", false, false, func(o v4.OperationWithData[int], b v4.BackOff, _ v4.Notify, _ v4.Timer) (int, error) {
		return 0, v4.Retry(withoutData(o), b)
	}},
	{"RetryNotify", false, false, func(o v4.OperationWithData[int], b v4.BackOff, n v4.Notify, _ v4.Timer) (int, error) {
		return 0, v4.RetryNotify(withoutData(o), b, n)
	}},
	{"RetryNotifyWithTimer", true, false, func(o v4.OperationWithData[int], b v4.BackOff, n v4.Notify, t v4.Timer) (int, error) {
		return 0, v4.RetryNotifyWithTimer(withoutData(o), b, n, t)
	}},
	{"RetryWithData", false, true, func(o v4.OperationWithData[int], b v4.BackOff, _ v4.Notify, _ v4.Timer) (int, error) {
		return v4.RetryWithData(o, b)
	}},
	{"RetryNotifyWithData", false, true, func(o v4.OperationWithData[int], b v4.BackOff, n v4.Notify, _ v4.Timer) (int, error) {
		return v4.RetryNotifyWithData(o, b, n)
	}},
	{"RetryNotifyWithTimerAndData", true, true, v4.RetryNotifyWithTimerAndData[int]},
}

func withoutData(o v4.OperationWithData[int]) v4.Operation {
	return func() error {
		_, err := o()
		return err
	}
}

var (
	errFail  = errors.New("fail")
	errGone  = errors.New("gone")
	errCause = errors.New("cause")
)

// ownMark is an error that says by a method As that it is a mark.
type ownMark struct{ mark *v4.PermanentError }

func (ownMark) Error() string { return "own mark" }

func (m ownMark) As(target any) bool {
	p, ok := target.(**v4.PermanentError)
	if ok {
		*p = m.mark
	}
	return ok
}

// unsearchable is an error that panics when what it wraps is asked for.
type unsearchable struct{}

func (unsearchable) Error() string { return "unsearchable" }
func (unsearchable) Unwrap() error { panic("unsearchable") }

// decorator is a user's, through which contexts are found.
type decorator struct{ v4.BackOff }

func (d decorator) Unwrap() v4.BackOff { return d.BackOff }

// canceler is a policy that ends a context while it is asked, and stops after as many waits.
type canceler struct {
	cancel func()
	waits  int
}

func (*canceler) Reset() {}

func (c *canceler) NextBackOff() time.Duration {
	c.cancel()
	if c.waits--; c.waits < 0 {
		return v4.Stop
	}
	return 0
}

// What a loop returns is the same value that v4.3.0 returns, and not one that matches it.
func TestResult(t *testing.T) {
	zero := func(context.Context, func()) v4.BackOff { return &v4.ZeroBackOff{} }
	tries := func(n uint64) func(context.Context, func()) v4.BackOff {
		return func(context.Context, func()) v4.BackOff { return v4.WithMaxRetries(&v4.ZeroBackOff{}, n) }
	}
	inContext := func(ctx context.Context, _ func()) v4.BackOff { return v4.WithContext(&v4.ZeroBackOff{}, ctx) }
	ends := func(err error) func(func()) error {
		return func(cancel func()) error {
			cancel()
			return err
		}
	}
	fails := func(err error) func(func()) error { return func(func()) error { return err } }
	mark := v4.Permanent(errGone)

	for _, row := range []struct {
		name   string
		policy func(ctx context.Context, cancel func()) v4.BackOff
		op     func(cancel func()) error
		want   error
		calls  int
	}{
		{"success", inContext, fails(nil), nil, 1},
		{"success, and the context has ended", inContext, ends(nil), nil, 1},

		{"mark", zero, fails(mark), errGone, 1},
		{"mark below", zero, fails(fmt.Errorf("outer: %w", mark)), errGone, 1},
		{"mark beside", zero, fails(errors.Join(errFail, mark)), errGone, 1},
		{"mark of a mark", zero, fails(v4.Permanent(mark)), mark, 1},
		{"mark of an As", zero, fails(ownMark{&v4.PermanentError{Err: errGone}}), errGone, 1},
		{"mark of what cannot be searched", zero, fails(v4.Permanent(unsearchable{})), unsearchable{}, 1},
		{"empty mark", zero, fails(&v4.PermanentError{}), nil, 1},
		{"empty mark below", zero, fails(fmt.Errorf("outer: %w", &v4.PermanentError{})), nil, 1},
		{"nil mark", zero, fails((*v4.PermanentError)(nil)), (*v4.PermanentError)(nil), 1},
		{"nil mark of an As", zero, fails(ownMark{}), ownMark{}, 1},
		{"mark, and the context has ended", inContext, ends(mark), errGone, 1},

		{"no retries", tries(0), fails(errFail), errFail, 1},
		{"two retries", tries(2), fails(errFail), errFail, 3},
		{"the context ends meanwhile", inContext, ends(errFail), context.Canceled, 1},
		{"the operation returns another context's error", tries(1), fails(context.DeadlineExceeded), context.DeadlineExceeded, 2},
		{
			"context below retries",
			func(ctx context.Context, _ func()) v4.BackOff {
				return v4.WithMaxRetries(v4.WithContext(&v4.ZeroBackOff{}, ctx), 5)
			},
			ends(errFail), context.Canceled, 1,
		},
		{
			"context below a user's decorator",
			func(ctx context.Context, _ func()) v4.BackOff {
				return decorator{v4.WithContext(&v4.ZeroBackOff{}, ctx)}
			},
			ends(errFail), context.Canceled, 1,
		},
		{
			"context around a context",
			func(ctx context.Context, _ func()) v4.BackOff {
				return v4.WithContext(v4.WithContext(&v4.ZeroBackOff{}, context.Background()), ctx)
			},
			ends(errFail), context.Canceled, 1,
		},
		{
			"an inner context ends",
			func(ctx context.Context, _ func()) v4.BackOff {
				inner := v4.WithMaxRetries(v4.WithContext(&v4.ZeroBackOff{}, ctx), 5)
				return v4.WithContext(inner, context.Background())
			},
			ends(errFail), errFail, 1,
		},
		{
			"the context ends while the policy is asked",
			func(ctx context.Context, cancel func()) v4.BackOff { return v4.WithContext(&canceler{cancel, 5}, ctx) },
			fails(errFail), context.Canceled, 1,
		},
		{
			"the context ends while the policy stops",
			func(ctx context.Context, cancel func()) v4.BackOff { return v4.WithContext(&canceler{cancel, 0}, ctx) },
			fails(errFail), context.Canceled, 1,
		},
		{
			"the context has ended before",
			func(ctx context.Context, cancel func()) v4.BackOff {
				cancel()
				return v4.WithContext(&v4.ZeroBackOff{}, ctx)
			},
			fails(errFail), context.Canceled, 1,
		},
	} {
		for _, loop := range loops {
			ctx, cancelCause := context.WithCancelCause(context.Background())
			cancel := func() { cancelCause(errCause) }
			calls := 0
			data, err := loop.run(func() (int, error) {
				calls++
				return calls, row.op(cancel)
			}, row.policy(ctx, cancel), nil, nil)
			cancel()
			require.True(t, row.want == err, "%s, %s: %v", row.name, loop.name, err)
			require.Equal(t, row.calls, calls, "%s, %s", row.name, loop.name)
			if loop.hasData {
				require.Equal(t, calls, data, "%s, %s", row.name, loop.name)
			}
		}
	}
}

// silent is a Timer without a channel.
type silent struct{ record }

func (*silent) C() <-chan time.Time { return nil }

// A Timer without a channel would let the loop wait forever in v4. A context that has ended is the reason all the
// same.
func TestTimerWithoutChannel(t *testing.T) {
	for _, loop := range loops {
		if !loop.takesTimer {
			continue
		}
		timer := &silent{*newRecord()}
		_, err := loop.run(func() (int, error) { return 0, errFail }, &v4.ZeroBackOff{}, nil, timer)
		require.True(t, err == errFail, "%s: %v", loop.name, err)
		require.Equal(t, 1, timer.stops, loop.name)

		ctx, cancel := context.WithCancel(context.Background())
		_, err = loop.run(func() (int, error) { return 0, errFail }, v4.WithContext(&v4.ZeroBackOff{}, ctx),
			func(error, time.Duration) { cancel() }, &silent{*newRecord()})
		require.True(t, err == context.Canceled, "%s: %v", loop.name, err)
	}
}

// A Timer is stopped once, whatever ends the loop.
func TestTimerStop(t *testing.T) {
	for _, loop := range loops {
		if !loop.takesTimer {
			continue
		}
		for _, op := range []func() (int, error){
			func() (int, error) { return 0, nil },
			func() (int, error) { return 0, errFail },
			func() (int, error) { return 0, v4.Permanent(errGone) },
			func() (int, error) { panic("panic") },
		} {
			timer := newRecord()
			func() {
				defer func() { _ = recover() }()
				_, _ = loop.run(op, v4.WithMaxRetries(&v4.ZeroBackOff{}, 2), nil, timer)
			}()
			require.Equal(t, 1, timer.stops, loop.name)
		}
	}
}

func TestNilPolicy(t *testing.T) {
	for _, loop := range loops {
		timer := newRecord()
		calls := 0
		_, err := loop.run(func() (int, error) {
			if calls++; calls < 3 && loop.takesTimer {
				return 0, errFail
			}
			return 0, v4.Permanent(errGone)
		}, nil, nil, timer)
		require.True(t, err == errGone, "%s: %v", loop.name, err)
		if loop.takesTimer {
			require.Equal(t, 3, calls, loop.name)
			require.InDelta(t, v4.DefaultInitialInterval, timer.waits[0], float64(v4.DefaultInitialInterval)/2, loop.name)
		}
	}
}

// No attempt comes after the context has ended, and no notification, also where nothing is waited for. In v4 it is
// left to chance.
func TestNoCallAfterContext(t *testing.T) {
	for _, loop := range loops {
		for range 100 {
			ctx, cancel := context.WithCancel(context.Background())
			calls, notified := 0, 0
			_, err := loop.run(func() (int, error) {
				if calls++; calls == 3 {
					cancel()
				}
				return 0, errFail
			}, v4.WithContext(&v4.ZeroBackOff{}, ctx), func(error, time.Duration) {
				if notified++; notified == 2 {
					cancel()
				}
			}, nil)
			require.True(t, err == context.Canceled, "%s: %v", loop.name, err)
			require.LessOrEqual(t, calls, 3, loop.name)
			require.LessOrEqual(t, notified, 2, loop.name)
		}
	}
}

// A loop takes one mark off, so that an error that was marked twice ends two loops, one around the other.
func TestPermanentTwice(t *testing.T) {
	require.NoError(t, v4.Permanent(nil))

	calls := 0
	err := v4.Retry(func() error {
		return v4.Retry(func() error {
			calls++
			return v4.Permanent(v4.Permanent(errGone))
		}, &v4.ZeroBackOff{})
	}, v4.WithMaxRetries(&v4.ZeroBackOff{}, 2))
	require.True(t, err == errGone, "%v", err)
	require.Equal(t, 1, calls)
}

// The call as programs make it allocates once more than under example.com/backoff, for the timer.
func TestAllocations(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	op := func() (int, error) { return 1, nil }
	notify := func(error, time.Duration) {}
	timer := newRecord()

	for _, loop := range loops {
		most := 3.0
		if loop.takesTimer {
			most = 2
		}
		allocations := testing.AllocsPerRun(100, func() {
			_, err := loop.run(op, v4.WithContext(v4.WithMaxRetries(v4.NewExponentialBackOff(), 3), ctx), notify, timer)
			require.NoError(t, err)
		})
		require.LessOrEqual(t, allocations, most, loop.name)
	}
}
