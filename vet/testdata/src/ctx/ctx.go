package ctx

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"testing"
	"time"

	own "example.com/backoff"
	"github.com/cenkalti/backoff/v4"
)

func plain(ctx context.Context) error {
	return backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `this loop goes on when ctx is done: give its policy WithContext \[context\]`
}

func variable(id string, parent context.Context) error {
	op := func() error { return call(parent) }
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = time.Minute
	return backoff.RetryNotify(op, backoff.WithMaxRetries(b, 5), nil) // want `goes on when parent is done`
}

func nested(ctx context.Context) func() error {
	return func() error {
		return own.Retry(func() error { return call(ctx) }, own.NewLinearBackOff(time.Second)) // want `goes on when ctx is done`
	}
}

type client struct{ attempts int }

func (c *client) dial() error { c.attempts++; return nil }

func (c *client) refused() error { return backoff.Permanent(c.dial()) }

func (c *client) detached() error { return call(context.WithoutCancel(context.Background())) }

func (c *client) methods(ctx context.Context) {
	_ = backoff.Retry(c.dial, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
	_ = backoff.Retry(c.refused, backoff.NewExponentialBackOff())
	_ = backoff.Retry(c.detached, backoff.NewExponentialBackOff())
	_ = backoff.Retry(c.dial, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	dial := c.dial
	_ = backoff.Retry(dial, backoff.NewExponentialBackOff())  // want `goes on when ctx is done`
	_ = backoff.Retry(never, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
}

func never() error { return errors.New("never") }

type dialer interface{ dial() error }

func (c *client) try() error {
	if err := c.dial(); err != nil {
		return c.refused()
	}
	return nil
}

// What the operation calls may end the loop.
func calls(ctx context.Context, c *client) {
	_ = backoff.Retry(func() error { return c.refused() }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(c.try, backoff.NewExponentialBackOff())
}

// Which method it is is not shown.
func dynamic(ctx context.Context, d dialer) {
	_ = backoff.Retry(d.dial, backoff.NewExponentialBackOff())
}

func attempts(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) { // want `goes on when ctx is done`
		err = call(ctx)
	}
	if err != nil {
		return err
	}
	for {
		b := own.WithBudget(own.NewExponentialBackOff(), &own.Budget{}) // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
		for range own.Attempts(b, &err) {                               // want `goes on when ctx is done`
			if err = call(ctx); err == nil {
				return nil
			}
		}
	}
}

func attemptsEnd(ctx context.Context) (err error) {
	for range own.Attempts(own.WithContext(own.NewExponentialBackOff(), ctx), &err) {
		err = call(ctx)
	}
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		if err = call(ctx); !retryable(err) {
			break
		}
	}
	return err
}

func attemptsSwitch(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		switch err = call(ctx); {
		case err == nil:
		case errors.Is(err, http.ErrNoCookie):
			return err
		}
	}
loop:
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		switch err = call(ctx); err {
		case nil:
			continue
		default:
			break loop
		}
	}
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		switch err = call(ctx); err {
		case nil:
			return nil
		case http.ErrNoCookie:
			break
		}
	}
	return err
}

func attemptsLook(ctx context.Context) (err error) {
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		if err = call(ctx); ctx.Err() != nil {
			break
		}
	}
	return err
}

func ticks(ctx context.Context) error {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
	defer ticker.Stop()
	var err error
	for range ticker.C {
		if err = call(ctx); err != nil {
			continue
		}
		break
	}
	return err
}

func ticksEnd(ctx context.Context) error {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := call(ctx); err == nil {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func ticksLeave(ctx context.Context) (err error) {
	for range backoff.NewTicker(backoff.NewExponentialBackOff()).C {
		if err = call(ctx); !retryable(err) {
			return err
		}
	}
	return err
}

// Who reads these is not shown.
func ticker(ctx context.Context) *backoff.Ticker {
	return backoff.NewTicker(backoff.NewExponentialBackOff())
}

// These loops go on on purpose.
func detached(ctx context.Context) {
	_ = backoff.Retry(func() error { return call(context.WithoutCancel(ctx)) }, backoff.NewExponentialBackOff())
}

func detachedBefore(ctx context.Context) {
	free := context.WithoutCancel(ctx)
	_ = backoff.Retry(func() error { return call(free) }, backoff.NewExponentialBackOff())
}

func retryable(err error) bool { return err != nil }

func decorated(ctx context.Context) {
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3), ctx))
	var b backoff.BackOff = backoff.NewExponentialBackOff()
	b = backoff.WithMaxRetries(b, 3)
	b = backoff.WithContext(b, ctx)
	_ = backoff.Retry(func() error { return call(ctx) }, b)
}

func stops(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	_ = backoff.Retry(func() error {
		if err := ctx.Err(); err != nil {
			return nil
		}
		return call(ctx)
	}, b)
	_ = backoff.Retry(func() error {
		select {
		case <-ctx.Done():
			return nil
		default:
			return call(ctx)
		}
	}, b)
	_ = backoff.Retry(func() error { return backoff.Permanent(call(ctx)) }, b)
	_ = backoff.Retry(func() error {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, b)
}

type schedule map[string]time.Duration

func (s schedule) NextBackOff() time.Duration { return s["a"] }
func (s schedule) Reset()                     {}

func byPolicy(ctx context.Context) {
	_ = own.Retry(func() error { return call(ctx) }, own.WithRetryIf(own.NewExponentialBackOff(), func(error) bool { return ctx.Err() == nil }))
	_ = backoff.Retry(func() error { return call(ctx) }, schedule{"a": time.Second})
}

// What the operation does is not shown, or which policy it is.
func retry(ctx context.Context, op func() error, b backoff.BackOff) {
	_ = backoff.Retry(op, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return call(ctx) }, b)
	_ = backoff.Retry(func() error { return call(ctx) }, policy(ctx))
}

func policy(ctx context.Context) backoff.BackOff {
	return backoff.WithContext(backoff.NewExponentialBackOff(), ctx)
}

type custom struct {
	backoff.ZeroBackOff
	ctx context.Context
}

func ownPolicy(ctx context.Context) {
	_ = backoff.Retry(func() error { return call(ctx) }, &custom{ctx: ctx})
}

func asserted(ctx context.Context, source any) {
	var b backoff.BackOff = backoff.NewExponentialBackOff()
	if source != nil {
		b = source.(backoff.BackOff)
	}
	_ = backoff.Retry(func() error { return call(ctx) }, b)
}

var chosen backoff.BackOff // by another package

func elsewhere(ctx context.Context) {
	_ = backoff.Retry(func() error { return call(ctx) }, chosen)
}

func background(ctx context.Context) {
	go func() {
		_ = backoff.Retry(func() error { return nil }, backoff.NewExponentialBackOff())
	}()
}

func cleanUp(ctx context.Context) {
	defer func() {
		_ = backoff.Retry(func() error { return nil }, backoff.NewExponentialBackOff())
	}()
	_ = backoff.Retry(func() error { return call(ctx) }, &backoff.StopBackOff{})
}

func blank(_ context.Context) error {
	return backoff.Retry(func() error { return nil }, backoff.NewExponentialBackOff())
}

func none(r *http.Request) error {
	return backoff.Retry(func() error { return nil }, backoff.NewExponentialBackOff())
}

func eventually(ctx context.Context, t *testing.T) {
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff())
}

func call(ctx context.Context) error { return nil }

// A helper that looks at the context may end the loop.
func looks(ctx context.Context, c *session) {
	_ = backoff.Retry(func() error {
		if over(ctx) {
			return nil
		}
		return call(ctx)
	}, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error {
		if check(ctx) != nil {
			return nil
		}
		return call(ctx)
	}, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error {
		if err := call(ctx); !canceled(err) {
			return err
		}
		return nil
	}, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return unless(ctx, call(ctx)) }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error {
		if c.over() {
			return nil
		}
		return call(ctx)
	}, backoff.NewExponentialBackOff())
	_ = backoff.Retry(c.try, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return callUnless(ctx) }, backoff.NewExponentialBackOff())
}

func callUnless(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return call(ctx)
}

func over(ctx context.Context) bool { return ctx.Err() != nil }

func check(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

func canceled(err error) bool { return errors.Is(err, context.Canceled) }

func unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

type session struct{ ctx context.Context }

func (c *session) over() bool {
	select {
	case <-c.ctx.Done():
		return true
	default:
		return false
	}
}

func (c *session) try() error {
	if c.over() {
		return nil
	}
	return call(c.ctx)
}

// An attempt that the context cuts off fails, and the loop goes on.
func cutOff(ctx context.Context, answers chan error) {
	_ = backoff.Retry(func() error { return answer(ctx, answers) }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error { return timed(ctx) }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
}

func timed(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		timed, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return call(timed)
	}
	return call(ctx)
}

func answer(ctx context.Context, answers chan error) error {
	go call(ctx)
	select {
	case err := <-answers:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) after(ctx context.Context) {
	context.AfterFunc(ctx, func() { _ = backoff.Retry(c.dial, backoff.NewExponentialBackOff()) })
}

// Contexts of a request, and those that the function makes.
func served(w http.ResponseWriter, r *http.Request) {
	_ = backoff.Retry(func() error { return call(r.Context()) }, backoff.NewExponentialBackOff()) // want `goes on when r.Context\(\) is done`
	_ = backoff.Retry(func() error { return call(r.Context()) }, backoff.WithContext(backoff.NewExponentialBackOff(), r.Context()))
	from := r.Context()
	_ = backoff.Retry(func() error { return call(from) }, backoff.NewExponentialBackOff()) // want `goes on when from is done`
	_ = backoff.Retry(func() error { log(r.Context()); return nil }, backoff.NewExponentialBackOff())
}

func made() (err error) {
	short, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = backoff.Retry(func() error { return call(short) }, backoff.NewExponentialBackOff()) // want `goes on when short is done`
	go func() {
		_ = backoff.Retry(func() error { return call(short) }, backoff.NewExponentialBackOff()) // want `goes on when short is done`
	}()
	for range own.Attempts(own.NewExponentialBackOff(), &err) { // want `goes on when short is done`
		err = call(short)
	}
	return err
}

func interrupted() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	_ = backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
}

// These contexts do not end, or end with the attempt, or the loop does not use them.
func unended() {
	endless := context.Background()
	_ = backoff.Retry(func() error { return call(endless) }, backoff.NewExponentialBackOff())
	valued := context.WithValue(endless, "key", 1)
	_ = backoff.Retry(func() error { return call(valued) }, backoff.NewExponentialBackOff())
	_ = backoff.Retry(func() error {
		attempt, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return call(attempt)
	}, backoff.NewExponentialBackOff())
}

func earlier() (err error) {
	short, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = call(short)
	for range own.Attempts(own.NewExponentialBackOff(), &err) {
		err = never()
	}
	return err
}

func beside(ctx context.Context) {
	go func() {
		_ = backoff.Retry(func() error { return call(ctx) }, backoff.NewExponentialBackOff()) // want `goes on when ctx is done`
	}()
}

func several() {
	endless := context.Background()
	short, cancel := context.WithTimeout(endless, time.Minute)
	defer cancel()
	_ = backoff.Retry(func() error { // the first one does not end
		if err := call(endless); err != nil {
			return err
		}
		return call(short)
	}, backoff.NewExponentialBackOff()) // want `goes on when short is done`
}

func (c *session) field() {
	_ = backoff.Retry(func() error { return call(c.ctx) }, backoff.NewExponentialBackOff())
}

func laterMade() (err error) {
	ticker := backoff.NewTicker(backoff.NewExponentialBackOff())
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range ticker.C {
		if err = call(ctx); err == nil {
			return nil
		}
	}
	return err
}

func log(ctx context.Context) {}
