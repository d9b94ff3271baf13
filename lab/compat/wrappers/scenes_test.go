package wrappers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
)

var (
	errBusy  = errors.New("busy")
	errGone  = errors.New("gone")
	errCause = errors.New("shutting down")
)

// A scene is what the world does to a wrapper.
type scene struct {
	name string

	// call is what the n-th call does, counted from 1.
	call func(w *world, ctx context.Context, n int) error

	timeout  time.Duration // of the context; 0 for none
	canceled time.Duration // when it is cancelled, with errCause; 0 for never
}

// A world is one run of a wrapper in a scene.
type world struct {
	scene  scene
	began  time.Time
	cancel context.CancelCauseFunc
	calls  int
	trace  strings.Builder
}

// most is how many calls there are at most. Then they succeed, so that loops without a limit end.
const most = 25

// op is the operation. It ends with its context if the scene says so, as requests do.
func (w *world) op(ctx context.Context) error {
	w.calls++
	w.log("call %d", w.calls)
	if w.calls > most {
		return nil
	}
	return w.scene.call(w, ctx, w.calls)
}

// notify is a backoff.Notify.
func (w *world) notify(err error, wait time.Duration) { w.log("%v, wait %v", err, wait) }

func (w *world) log(format string, args ...any) {
	fmt.Fprintf(&w.trace, "%v: %s; ", time.Since(w.began), fmt.Sprintf(format, args...))
}

// always returns a call that fails with err.
func always(err error) func(*world, context.Context, int) error {
	return func(*world, context.Context, int) error { return err }
}

// once returns a call that fails with errBusy, but the n-th with err.
func once(n int, err error) func(*world, context.Context, int) error {
	return func(_ *world, _ context.Context, call int) error {
		if call == n {
			return err
		}
		return errBusy
	}
}

var scenes = []scene{
	{name: "success", call: always(nil)},
	{name: "success at the third call", call: once(3, nil)},
	{name: "failure", call: always(errBusy)},
	{name: "another failure each time", call: func(_ *world, _ context.Context, n int) error { return fmt.Errorf("call %d: %w", n, errBusy) }},
	{name: "a failure of the network", call: always(&net.OpError{Op: "dial", Net: "tcp", Err: errBusy})},
	{name: "final at once", call: once(1, errGone)},
	{name: "final at the third call", call: once(3, errGone)},
	{name: "marked", call: once(2, backoff.Permanent(errGone))},
	{name: "marked and wrapped", call: once(2, fmt.Errorf("outer: %w", backoff.Permanent(errGone)))},
	{name: "marked and joined", call: once(2, errors.Join(errBusy, backoff.Permanent(errGone)))},
	{name: "marked twice", call: once(2, backoff.Permanent(backoff.Permanent(errGone)))},
	{name: "marked, the context's error", call: once(1, backoff.Permanent(context.Canceled))},
	{name: "another context's error", call: always(context.Canceled)},
	{
		name: "slow",
		call: func(_ *world, _ context.Context, n int) error {
			time.Sleep(time.Duration(n) * 300 * time.Millisecond)
			return errBusy
		},
	},
	{
		name: "cancelled in a call that fails",
		call: func(w *world, _ context.Context, n int) error {
			if n == 2 {
				w.cancel(errCause)
			}
			return errBusy
		},
	},
	{
		name: "cancelled in a call that ends with it",
		call: func(w *world, ctx context.Context, n int) error {
			if n == 2 {
				w.cancel(errCause)
				return ctx.Err()
			}
			return errBusy
		},
	},
	{
		name: "cancelled in a call that succeeds",
		call: func(w *world, _ context.Context, n int) error {
			if n == 2 {
				w.cancel(errCause)
				return nil
			}
			return errBusy
		},
	},
	{name: "cancelled before", call: always(errBusy), canceled: -1},
	{name: "cancelled in a wait", call: always(errBusy), canceled: 1700 * time.Millisecond},
	{name: "a deadline in a later wait", call: always(errBusy), timeout: 1700 * time.Millisecond},
	{name: "a deadline in the first wait", call: always(errBusy), timeout: 70 * time.Millisecond},
	{
		name:    "a deadline in a call",
		timeout: 2 * time.Second,
		call: func(_ *world, ctx context.Context, n int) error {
			if n < 2 {
				return errBusy
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("get: %w", ctx.Err())
			case <-time.After(time.Minute):
				return errBusy
			}
		},
	},
}

// run returns what a wrapper does in a scene: its calls, what it notes, its result, each with its time.
func run(t *testing.T, w wrapper, s scene) (trace string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if s.timeout != 0 {
			limited, release := context.WithTimeout(ctx, s.timeout)
			defer release()
			ctx = limited
		}
		world := &world{scene: s, began: time.Now(), cancel: cancel}
		switch {
		case s.canceled > 0:
			time.AfterFunc(s.canceled, func() { cancel(errCause) })
		case s.canceled < 0:
			cancel(errCause)
		}

		err := recovered(func() error { return w.run(ctx, world) })
		world.log("%s", describe(ctx, err))
		trace = world.trace.String()
	})
	return trace
}

// recovered calls f, and returns an error if it panics.
func recovered(f func() error) (err error) {
	defer func() {
		r := recover()
		if r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// describe returns all that a caller can tell of an error: text, type, what it is and what it matches.
func describe(ctx context.Context, err error) string {
	if err == nil {
		return "nil"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%q %T", err, err)
	for _, known := range []error{errBusy, errGone, errCause, context.Canceled, context.DeadlineExceeded, ctx.Err()} {
		switch {
		case known == nil:
		case err == known:
			fmt.Fprintf(&text, ", is %v", known)
		case errors.Is(err, known):
			fmt.Fprintf(&text, ", matches %v", known)
		}
	}
	var mark *backoff.PermanentError
	if errors.As(err, &mark) {
		text.WriteString(", marked")
	}
	var network net.Error
	if errors.As(err, &network) {
		fmt.Fprintf(&text, ", timeout %v", network.Timeout())
	}
	return text.String()
}
