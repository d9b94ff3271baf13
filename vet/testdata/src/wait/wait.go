package wait

import (
	"context"
	"encoding/json"
	"log"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
)

func sleeps() {
	b := backoff.NewExponentialBackOff()
	b.MaxInterval = time.Minute
	for {
		if try() {
			b.Reset()
			continue
		}
		time.Sleep(b.NextBackOff()) // want `NextBackOff can return Stop, -1, and Sleep does not wait then.* \[wait\]`
	}
}

func others(stop chan bool) {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 3 * time.Minute
	timer := time.NewTimer(0)
	for !try() {
		d := b.NextBackOff()
		log.Print("again in ", d)
		select {
		case <-time.After(d): // want `After does not wait then`
		case <-stop:
			return
		}
		timer.Reset(b.NextBackOff())       // want `Reset does not wait then`
		<-time.NewTimer(b.NextBackOff()).C // want `NewTimer does not wait then`
	}
}

type client struct {
	policy *backoff.ExponentialBackOff
	tries  int
}

func newClient() *client { return &client{policy: backoff.NewExponentialBackOff()} }

func (c *client) run() {
	for !try() {
		time.Sleep(c.policy.NextBackOff()) // want `Sleep does not wait then`
	}
}

func compared() {
	b := backoff.NewExponentialBackOff()
	for {
		d := b.NextBackOff()
		if d == backoff.Stop {
			return
		}
		time.Sleep(d)
	}
}

func switched() {
	b := backoff.NewExponentialBackOff()
	for {
		switch d := b.NextBackOff(); d {
		case backoff.Stop:
			return
		default:
			time.Sleep(d)
		}
	}
}

func atLeast() {
	b := backoff.NewExponentialBackOff()
	for !try() {
		time.Sleep(max(b.NextBackOff(), time.Second))
	}
}

func endless(limit time.Duration, opts ...backoff.ExponentialBackOffOpts) {
	never := backoff.NewExponentialBackOff()
	never.MaxElapsedTime = 0
	option := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	literal := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	constant := backoff.NewConstantBackOff(time.Second)
	stopped := &backoff.ExponentialBackOff{MaxElapsedTime: time.Minute, Stop: time.Hour}
	configured := backoff.NewExponentialBackOff()
	configured.MaxElapsedTime = limit
	elsewhere := backoff.NewExponentialBackOff()
	configure(elsewhere)
	decoded := backoff.NewExponentialBackOff()
	_ = json.Unmarshal(nil, decoded)
	unknown := backoff.NewExponentialBackOff(opts...)
	for !try() {
		time.Sleep(never.NextBackOff())
		time.Sleep(option.NextBackOff())
		time.Sleep(literal.NextBackOff())
		time.Sleep(constant.NextBackOff())
		time.Sleep(stopped.NextBackOff())
		time.Sleep(configured.NextBackOff())
		time.Sleep(elsewhere.NextBackOff())
		time.Sleep(decoded.NextBackOff())
		time.Sleep(unknown.NextBackOff())
	}
}

func bounded(names []string) {
	b := backoff.NewExponentialBackOff()
	for i := 0; i < 5; i++ {
		time.Sleep(b.NextBackOff())
	}
	for range names {
		time.Sleep(b.NextBackOff())
	}
	for n := 0; !try(); {
		if n++; n > 5 {
			return
		}
		time.Sleep(b.NextBackOff())
	}
	time.Sleep(b.NextBackOff())
	for {
		each := backoff.NewExponentialBackOff()
		time.Sleep(each.NextBackOff())
	}
}

// What ends these loops is in their condition, in their body or before them.
func ended(ctx context.Context, limit time.Duration, jobs []int) {
	b := backoff.NewExponentialBackOff()
	start := time.Now()
	for time.Since(start) < limit {
		time.Sleep(b.NextBackOff())
	}
	for time.Now().Before(start.Add(limit)) {
		time.Sleep(b.NextBackOff())
	}
	for ctx.Err() == nil {
		time.Sleep(b.NextBackOff())
	}
	for context.Cause(ctx) == nil {
		time.Sleep(b.NextBackOff())
	}
	for len(jobs) > 0 {
		if try() {
			jobs = jobs[1:]
		}
		time.Sleep(b.NextBackOff())
	}
	for {
		if time.Now().After(start.Add(limit)) {
			return
		}
		time.Sleep(b.NextBackOff())
	}
	for {
		if elapsed := time.Since(start); elapsed > limit {
			return
		}
		time.Sleep(b.NextBackOff())
	}
}

func deadline(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		select {
		case <-time.After(b.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

func parameter(b backoff.BackOff) {
	for !try() {
		time.Sleep(b.NextBackOff())
	}
}

func cause(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, context.Canceled)
	defer cancel()
	for {
		select {
		case <-time.After(b.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

func timeout() {
	b := backoff.NewExponentialBackOff()
	over := time.After(time.Minute)
	for {
		select {
		case <-time.After(b.NextBackOff()):
		case <-over:
			return
		}
	}
}

// These end an attempt, or the loop in a case that need not come.
func attempts(ctx context.Context, lines []string, start time.Time, err error) {
	b := backoff.NewExponentialBackOff()
	log.Print("begins after ", time.Since(start))
	for err != nil && !try() {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		<-attempt.Done()
		cancel()
		if len(lines) > 0 {
			lines = lines[1:]
		}
		select {
		case <-time.After(b.NextBackOff()): // want `After does not wait then`
		case <-ctx.Done():
			return
		}
	}
}

// A function may have set what its policy needs.
func made() {
	b := newPolicy()
	for !try() {
		time.Sleep(b.NextBackOff())
	}
}

func newPolicy() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	return b
}

func given(b backoff.BackOff) {
	if b == nil {
		b = backoff.NewExponentialBackOff()
	}
	for !try() {
		time.Sleep(b.NextBackOff())
	}
}

func either(quick bool) {
	b := &backoff.ExponentialBackOff{InitialInterval: time.Second}
	if quick {
		b = backoff.NewExponentialBackOff()
	}
	for !try() {
		time.Sleep(b.NextBackOff())
	}
}

func configure(b *backoff.ExponentialBackOff) { b.MaxElapsedTime = 0 }

func try() bool { return true }

// Options are settings.
func options(limit time.Duration, other backoff.ExponentialBackOffOpts) {
	b := backoff.NewExponentialBackOff(backoff.WithMaxInterval(time.Minute))
	minute := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute), backoff.WithMaxInterval(time.Second))
	endless := backoff.NewExponentialBackOff(backoff.WithMaxInterval(time.Minute), backoff.WithMaxElapsedTime(0))
	given := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(limit))
	stopped := backoff.NewExponentialBackOff(backoff.WithRetryStopDuration(time.Hour))
	unknown := backoff.NewExponentialBackOff(other)
	for !try() {
		time.Sleep(b.NextBackOff())      // want `Sleep does not wait then`
		time.Sleep(minute.NextBackOff()) // want `Sleep does not wait then`
		time.Sleep(endless.NextBackOff())
		time.Sleep(given.NextBackOff())
		time.Sleep(stopped.NextBackOff())
		time.Sleep(unknown.NextBackOff())
	}
}

func (c *client) next() time.Duration {
	d := c.policy.NextBackOff()
	log.Print("next ", d)
	return d
}

// A helper may look at the wait, or end the loop.
func helped(ctx context.Context, start time.Time, c *client) {
	b := backoff.NewExponentialBackOff()
	over := func(d time.Duration) bool { return d == backoff.Stop }
	for !try() {
		d := b.NextBackOff()
		if stopped(d) {
			return
		}
		time.Sleep(d)
		e := b.NextBackOff()
		if over(e) {
			return
		}
		time.Sleep(e)
		f := b.NextBackOff()
		if err := verify("f", f); err != nil {
			return
		}
		time.Sleep(f)
		time.Sleep(atMost(b.NextBackOff()))
		if !sleepUnless(b.NextBackOff()) {
			return
		}
		if !c.again(b) {
			return
		}
		time.Sleep(c.checked())
		if wait, ok := either2(b); ok {
			time.Sleep(wait)
		}
		if !sleepUntil(start, b.NextBackOff()) {
			return
		}
		if !c.count(b.NextBackOff()) {
			return
		}
		if !c.twoTimes() {
			return
		}
		time.Sleep(c.counted())
		atLeastASecond(b.NextBackOff())
		g := b.NextBackOff()
		if slices.Contains([]time.Duration{backoff.Stop}, g) {
			return
		}
		time.Sleep(g)
	}
}

func stopped(d time.Duration) bool { return isStop(d) }

func isStop(d time.Duration) bool { return d == backoff.Stop }

func verify(name string, d time.Duration) error {
	if d < 0 {
		return context.Canceled
	}
	return nil
}

func atMost(d time.Duration) time.Duration {
	if d == backoff.Stop {
		return time.Minute
	}
	return d
}

func sleepUnless(d time.Duration) bool {
	if d == backoff.Stop {
		return false
	}
	time.Sleep(d)
	return true
}

func (c *client) again(b backoff.BackOff) bool {
	d := b.NextBackOff()
	if d == backoff.Stop {
		return false
	}
	time.Sleep(d)
	return true
}

func (c *client) checked() time.Duration {
	d := c.policy.NextBackOff()
	if d == backoff.Stop {
		return time.Minute
	}
	return d
}

func either2(b backoff.BackOff) (time.Duration, bool) {
	d := b.NextBackOff()
	return d, d != backoff.Stop
}

func sleepUntil(start time.Time, d time.Duration) bool {
	time.Sleep(d)
	return time.Since(start) < time.Minute
}

func (c *client) count(d time.Duration) bool {
	time.Sleep(d)
	c.tries++
	return c.tries < 5
}

func (c *client) twoTimes() bool {
	c.tries++
	time.Sleep(c.policy.NextBackOff())
	return c.tries != 2
}

func (c *client) counted() time.Duration {
	c.tries++
	return c.policy.NextBackOff()
}

func atLeastASecond(d time.Duration) {
	d = max(d, time.Second)
	time.Sleep(d)
}

func cancelled(ctx context.Context) error {
	b := backoff.NewExponentialBackOff()
	for !try() {
		select {
		case <-time.After(b.NextBackOff()): // want `After does not wait then`
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
