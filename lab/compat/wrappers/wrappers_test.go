package wrappers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// A wrapper is what a program has around v4's loops.
type wrapper struct {
	name string
	run  func(ctx context.Context, w *world) error
}

// exponential returns a policy whose waits are not random, so that two runs can be compared.
func exponential(options ...backoff.ExponentialBackOffOpts) *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(append(options, backoff.WithRandomizationFactor(0))...)
}

// wrappers are in the manner of those that real programs have, one for each way to use the loops.
var wrappers = []wrapper{
	{"the default policy", func(ctx context.Context, w *world) error {
		return backoff.Retry(func() error { return w.op(ctx) }, exponential())
	}},
	{"retries, inside a context", func(ctx context.Context, w *world) error {
		return backoff.Retry(func() error { return w.op(ctx) }, backoff.WithContext(backoff.WithMaxRetries(exponential(), 4), ctx))
	}},
	{"retries, around a context", func(ctx context.Context, w *world) error {
		return backoff.RetryNotify(func() error { return w.op(ctx) }, backoff.WithMaxRetries(backoff.WithContext(exponential(), ctx), 4), w.notify)
	}},
	{"a value", func(ctx context.Context, w *world) error {
		n, err := backoff.RetryWithData(func() (int, error) { return w.calls + 1, w.op(ctx) },
			backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 3), ctx))
		w.log("value %d", n)
		return err
	}},
	{"a value, notified", func(ctx context.Context, w *world) error {
		n, err := backoff.RetryNotifyWithData(func() (*world, error) { return w, w.op(ctx) }, backoff.WithContext(exponential(), ctx), w.notify)
		w.log("value %v", n == w)
		return err
	}},
	{"a limit of time", func(ctx context.Context, w *world) error {
		b := exponential(backoff.WithInitialInterval(100*time.Millisecond), backoff.WithMultiplier(2), backoff.WithMaxInterval(3*time.Second), backoff.WithMaxElapsedTime(10*time.Second))
		return backoff.RetryNotify(func() error { return w.op(ctx) }, backoff.WithContext(b, ctx), w.notify)
	}},
	{"a literal", func(ctx context.Context, w *world) error {
		b := &backoff.ExponentialBackOff{
			InitialInterval: 200 * time.Millisecond,
			Multiplier:      3,
			MaxInterval:     2 * time.Second,
			MaxElapsedTime:  8 * time.Second,
			Stop:            backoff.Stop,
			Clock:           backoff.SystemClock,
		}
		b.Reset()
		return backoff.Retry(func() error { return w.op(ctx) }, backoff.WithContext(b, ctx))
	}},
	{"one policy for loops in a row", func(ctx context.Context, w *world) error {
		b := backoff.WithMaxRetries(exponential(), 2)
		for range 2 {
			err := backoff.RetryNotify(func() error { return w.op(ctx) }, backoff.WithContext(b, ctx), w.notify)
			w.log("%s", describe(ctx, err))
		}
		return nil
	}},
	{"a wrapped final error", func(ctx context.Context, w *world) error {
		return backoff.Retry(func() error {
			err := w.op(ctx)
			if errors.Is(err, errGone) {
				return fmt.Errorf("get: %w", backoff.Permanent(err))
			}
			return err
		}, backoff.WithContext(exponential(), ctx))
	}},

	{"a BackOffContext of its own", func(ctx context.Context, w *world) error {
		return backoff.RetryNotify(func() error { return w.op(ctx) }, bound{exponential(), ctx}, w.notify)
	}},

	{"loops in a loop", func(ctx context.Context, w *world) error {
		return backoff.Retry(func() error {
			return retryIf(ctx, w, func(err error) bool { return !errors.Is(err, errGone) })
		}, backoff.WithContext(backoff.WithMaxRetries(exponential(), 2), ctx))
	}},
	{"a mark that ends loops in a loop", func(ctx context.Context, w *world) error {
		return backoff.Retry(func() error {
			return backoff.Retry(func() error {
				err := w.op(ctx)
				if errors.Is(err, errGone) {
					return backoff.Permanent(backoff.Permanent(err))
				}
				return err
			}, backoff.WithMaxRetries(exponential(), 1))
		}, backoff.WithContext(backoff.WithMaxRetries(exponential(), 2), ctx))
	}},
	{"an error type that says that it is final", func(ctx context.Context, w *world) error {
		return backoff.RetryNotify(func() error {
			err := w.op(ctx)
			if errors.Is(err, errGone) {
				return status{404, err}
			}
			return err
		}, backoff.WithContext(exponential(), ctx), w.notify)
	}},

	{"a timer that does not wait", func(ctx context.Context, w *world) error {
		return backoff.RetryNotifyWithTimer(func() error { return w.op(ctx) }, backoff.WithContext(backoff.WithMaxRetries(exponential(), 6), ctx), w.notify, &instant{w: w, c: make(chan time.Time, 1)})
	}},
	{"a timer of its own", func(ctx context.Context, w *world) error {
		_, err := backoff.RetryNotifyWithTimerAndData(func() (int, error) { return 0, w.op(ctx) }, backoff.WithContext(exponential(), ctx), w.notify, &ownTimer{w: w})
		return err
	}},

	{"a policy of listed waits, and steps by hand", func(ctx context.Context, w *world) error {
		b := &listed{waits: []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}}
		b.Reset()
		for {
			err := w.op(ctx)
			if err == nil || errors.Is(err, errGone) {
				return err
			}
			wait := b.NextBackOff()
			if wait == backoff.Stop {
				return fmt.Errorf("gave up: %w", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(wait):
			}
		}
	}},
	{"a policy that counts", func(ctx context.Context, w *world) error {
		b := &counting{ExponentialBackOff: exponential(), most: 5}
		err := backoff.Retry(func() error { return w.op(ctx) }, backoff.WithContext(b, ctx))
		w.log("%d waits", b.n)
		return err
	}},
	{"a ticker", func(ctx context.Context, w *world) error {
		ticker := backoff.NewTicker(backoff.WithContext(backoff.WithMaxRetries(exponential(), 5), ctx))
		defer ticker.Stop()
		var err error
		for range ticker.C {
			err = w.op(ctx)
			if err == nil || errors.Is(err, errGone) {
				break
			}
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}},
}

// retryIf is the helper that most programs have.
func retryIf(ctx context.Context, w *world, again func(error) bool) error {
	b := backoff.WithContext(backoff.WithMaxRetries(exponential(), 4), ctx)
	return backoff.RetryNotify(func() error {
		err := w.op(ctx)
		if err != nil && !again(err) {
			return backoff.Permanent(err)
		}
		return err
	}, b, w.notify)
}

// bound is a policy with a context, written without WithContext.
type bound struct {
	backoff.BackOff
	ctx context.Context
}

func (b bound) Context() context.Context { return b.ctx }

// status is an error of a protocol that passes for a mark.
type status struct {
	code int
	err  error
}

func (s status) Error() string { return fmt.Sprintf("%d %s", s.code, strings.ToLower(s.err.Error())) }

func (s status) As(target any) bool {
	mark, ok := target.(**backoff.PermanentError)
	if ok {
		*mark = &backoff.PermanentError{Err: s.err}
	}
	return ok
}

// listed is a policy of given waits.
type listed struct {
	waits []time.Duration
	next  int
}

func (l *listed) Reset() { l.next = 0 }

func (l *listed) NextBackOff() time.Duration {
	if l.next >= len(l.waits) {
		return backoff.Stop
	}
	l.next++
	return l.waits[l.next-1]
}

// counting is a policy with a limit of its own.
type counting struct {
	*backoff.ExponentialBackOff
	most, n int
}

func (c *counting) NextBackOff() time.Duration {
	if c.n++; c.n > c.most {
		return backoff.Stop
	}
	return c.ExponentialBackOff.NextBackOff()
}

// instant is a Timer for tests.
type instant struct {
	w *world
	c chan time.Time
}

func (t *instant) Start(d time.Duration) {
	t.w.log("start %v", d)
	t.c <- time.Now()
}
func (t *instant) Stop()               { t.w.log("stop") }
func (t *instant) C() <-chan time.Time { return t.c }

// ownTimer is a Timer of real time.
type ownTimer struct {
	w     *world
	timer *time.Timer
}

func (t *ownTimer) Start(d time.Duration) {
	t.w.log("start %v", d)
	t.timer = time.NewTimer(d)
}

func (t *ownTimer) Stop() {
	t.w.log("stop")
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *ownTimer) C() <-chan time.Time { return t.timer.C }
