package wait

import (
	"context"
	"log"
	"time"

	"github.com/cenkalti/backoff/v4"
)

type client struct {
	policy *backoff.ExponentialBackOff
	byKey  map[string]backoff.BackOff
	again  func(key string, after time.Duration)
}

func newClient() *client { return &client{policy: backoff.NewExponentialBackOff()} }

func (c *client) wrong(ctx context.Context) {
	for !ready() {
		d := c.policy.NextBackOff() // want `NextBackOff can return Stop, -1, and After takes that for a wait: compare it with Stop, or set MaxElapsedTime to 0 \[wait\]`
		log.Print("again in ", d, d.String())
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		pause(c.policy.NextBackOff()) // want `Sleep takes that for a wait`
	}
}

func (c *client) wrongCallback(key string) *time.Timer {
	b := c.byKey[key]
	if b == nil {
		b = newPolicy()
		c.byKey[key] = b
	}
	c.again(key, b.NextBackOff())                            // want `again takes that for a wait`
	return time.AfterFunc(c.policy.NextBackOff(), func() {}) // want `AfterFunc takes that for a wait`
}

func newPolicy() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	return b
}

func pause(d time.Duration) { time.Sleep(d) }

func right(given backoff.BackOff, jobs []int, limit time.Duration) {
	b := backoff.NewExponentialBackOff()
	endless := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	limited := backoff.NewExponentialBackOff()
	limited.MaxElapsedTime = limit
	for !ready() {
		d := b.NextBackOff()
		if d == backoff.Stop {
			return
		}
		time.Sleep(d)
		time.Sleep(max(b.NextBackOff(), time.Second))
		sleep(b.NextBackOff())
		record(b.NextBackOff())

		time.Sleep(given.NextBackOff())
		time.Sleep(endless.NextBackOff())
		time.Sleep(limited.NextBackOff())
		time.Sleep(newPolicy().NextBackOff())
	}
	for len(jobs) > 0 {
		time.Sleep(b.NextBackOff())
	}
	for i := 0; ; i++ {
		time.Sleep(b.NextBackOff())
	}
}

func sleep(d time.Duration) {
	if d != backoff.Stop {
		time.Sleep(d)
	}
}

func deadline(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		time.Sleep(b.NextBackOff())
	}
}

var record func(d time.Duration)

func ready() bool { return true }
