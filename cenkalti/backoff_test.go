package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/backoff"
	v4 "github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"
)

// The types of both names are the same: each of these functions is assigned to a variable of the
// other name's type.
var (
	_ func(backoff.BackOff)                = func(v4.BackOff) {}
	_ func(backoff.BackOffContext)         = func(v4.BackOffContext) {}
	_ func(backoff.Clock)                  = func(v4.Clock) {}
	_ func(backoff.ConstantBackOff)        = func(v4.ConstantBackOff) {}
	_ func(backoff.ExponentialBackOff)     = func(v4.ExponentialBackOff) {}
	_ func(backoff.ExponentialBackOffOpts) = func(v4.ExponentialBackOffOpts) {}
	_ func(backoff.Notify)                 = func(v4.Notify) {}
	_ func(backoff.Operation)              = func(v4.Operation) {}
	_ func(backoff.PermanentError)         = func(v4.PermanentError) {}
	_ func(backoff.StopBackOff)            = func(v4.StopBackOff) {}
	_ func(*backoff.Ticker)                = func(*v4.Ticker) {}
	_ func(backoff.Timer)                  = func(v4.Timer) {}
	_ func(backoff.ZeroBackOff)            = func(v4.ZeroBackOff) {}
)

func TestConstants(t *testing.T) {
	require.Equal(t, time.Duration(-1), v4.Stop)
	require.Equal(t, 500*time.Millisecond, v4.DefaultInitialInterval)
	require.Equal(t, 0.5, v4.DefaultRandomizationFactor)
	require.Equal(t, 1.5, v4.DefaultMultiplier)
	require.Equal(t, 60*time.Second, v4.DefaultMaxInterval)
	require.Equal(t, 15*time.Minute, v4.DefaultMaxElapsedTime)
}

type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Time{} }

func TestNewExponentialBackOff(t *testing.T) {
	b := v4.NewExponentialBackOff()
	require.Equal(t, v4.DefaultInitialInterval, b.InitialInterval)
	require.Equal(t, v4.DefaultRandomizationFactor, b.RandomizationFactor)
	require.Equal(t, v4.DefaultMultiplier, b.Multiplier)
	require.Equal(t, v4.DefaultMaxInterval, b.MaxInterval)
	require.Equal(t, v4.DefaultMaxElapsedTime, b.MaxElapsedTime)
	require.Equal(t, v4.Stop, b.Stop)
	require.Equal(t, v4.SystemClock, b.Clock)

	b = v4.NewExponentialBackOff(
		v4.WithInitialInterval(1),
		v4.WithRandomizationFactor(0.25),
		v4.WithMultiplier(2),
		v4.WithMaxInterval(3),
		v4.WithMaxElapsedTime(4),
		v4.WithRetryStopDuration(5),
		v4.WithClockProvider(stoppedClock{}),
	)
	require.Equal(t, time.Duration(1), b.InitialInterval)
	require.Equal(t, 0.25, b.RandomizationFactor)
	require.Equal(t, 2.0, b.Multiplier)
	require.Equal(t, time.Duration(3), b.MaxInterval)
	require.Equal(t, time.Duration(4), b.MaxElapsedTime)
	require.Equal(t, time.Duration(5), b.Stop)
	require.Equal(t, stoppedClock{}, b.Clock)
}

// record is a Timer whose waits are over at once, and that remembers them.
type record struct {
	waits []time.Duration
	stops int
	c     chan time.Time
}

func newRecord() *record { return &record{c: make(chan time.Time, 1)} }

func (r *record) Start(d time.Duration) {
	r.waits = append(r.waits, d)
	r.c <- time.Time{}
}
func (r *record) Stop()               { r.stops++ }
func (r *record) C() <-chan time.Time { return r.c }

// Each function calls the operation, and hands on the policy, the notify and the timer.
func TestRetry(t *testing.T) {
	const wait = time.Nanosecond
	policy := v4.WithMaxRetries(v4.NewConstantBackOff(wait), 5)
	fail := errors.New("fail")

	var calls int
	operation := func() error {
		if calls++; calls < 3 {
			return fail
		}
		return nil
	}
	withData := func() (int, error) { return 7, operation() }

	var notified int
	notify := func(err error, d time.Duration) {
		require.Equal(t, fail, err)
		require.Equal(t, wait, d)
		notified++
	}

	timer := newRecord()
	for _, row := range []struct {
		name                        string
		retry                       func() (int, error)
		data, notifications, timers int
	}{
		{"Retry", func() (int, error) { return 0, v4.Retry(operation, policy) }, 0, 0, 0},
		{"RetryNotify", func() (int, error) { return 0, v4.RetryNotify(operation, policy, notify) }, 0, 2, 0},
		{"RetryNotifyWithTimer", func() (int, error) { return 0, v4.RetryNotifyWithTimer(operation, policy, notify, timer) }, 0, 2, 2},
		{"RetryWithData", func() (int, error) { return v4.RetryWithData(withData, policy) }, 7, 0, 0},
		{"RetryNotifyWithData", func() (int, error) { return v4.RetryNotifyWithData(withData, policy, notify) }, 7, 2, 0},
		{"RetryNotifyWithTimerAndData", func() (int, error) { return v4.RetryNotifyWithTimerAndData(withData, policy, notify, timer) }, 7, 2, 2},
	} {
		calls, notified, timer.waits = 0, 0, nil
		data, err := row.retry()
		require.NoError(t, err, row.name)
		require.Equal(t, row.data, data, row.name)
		require.Equal(t, 3, calls, row.name)
		require.Equal(t, row.notifications, notified, row.name)
		require.Len(t, timer.waits, row.timers, row.name)
	}
}

func TestPermanent(t *testing.T) {
	gone := errors.New("gone")
	for _, row := range []struct {
		name  string
		mark  func(error) error
		retry func(v4.Operation, v4.BackOff) error
	}{
		{"v4 under backoff", v4.Permanent, backoff.Retry},
		{"backoff under v4", backoff.Permanent, v4.Retry},
	} {
		calls := 0
		err := row.retry(func() error {
			calls++
			return row.mark(gone)
		}, v4.WithMaxRetries(&v4.ZeroBackOff{}, 3))
		require.Same(t, gone, err, row.name)
		require.Equal(t, 1, calls, row.name)
	}

	var asV4 *v4.PermanentError
	require.ErrorAs(t, backoff.Permanent(gone), &asV4)
	require.Same(t, gone, asV4.Err)
	var asOurs *backoff.PermanentError
	require.ErrorAs(t, v4.Permanent(gone), &asOurs)
	require.ErrorIs(t, v4.Permanent(gone), &backoff.PermanentError{})
	require.ErrorIs(t, backoff.Permanent(gone), &v4.PermanentError{})
}

func TestWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := v4.WithContext(&v4.ZeroBackOff{}, ctx)
	require.Equal(t, ctx, b.Context())

	fail := errors.New("fail")
	err := backoff.Retry(func() error {
		cancel()
		return fail
	}, b)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fail)
}

func TestTicker(t *testing.T) {
	ticker := v4.NewTicker(v4.WithMaxRetries(&v4.ZeroBackOff{}, 2))
	ticks := 0
	for range ticker.C {
		ticks++
	}
	require.Equal(t, 3, ticks)

	timer := newRecord()
	ticker = v4.NewTickerWithTimer(v4.WithMaxRetries(v4.NewConstantBackOff(time.Second), 1), timer)
	ticks = 0
	for range ticker.C {
		ticks++
	}
	require.Equal(t, 2, ticks)
	require.Equal(t, []time.Duration{time.Second}, timer.waits)
}

// An operation of v4's generic type is converted, as the two are different types.
func TestOperationWithData(t *testing.T) {
	var answer v4.OperationWithData[int] = func() (int, error) { return 42, nil }
	n, err := backoff.RetryWithData(backoff.OperationWithData[int](answer), nil)
	require.NoError(t, err)
	require.Equal(t, 42, n)
}

// A library marks its error under v4's name, and the loop of a program that imports
// example.com/backoff stops for it.
func Example() {
	fetch := func() error { return v4.Permanent(errors.New("no such user")) }

	calls := 0
	err := backoff.Retry(func() error {
		calls++
		return fetch()
	}, backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3))
	fmt.Println(err, "after", calls, "call")
	// Output: no such user after 1 call
}
