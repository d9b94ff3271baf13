package wait

import (
	"context"
	"log"
	"time"

	"github.com/cenkalti/backoff/v4"
)

func sleeps() {
	b := backoff.NewExponentialBackOff()
	b.MaxInterval = time.Minute
	for !ready() {
		time.Sleep(b.NextBackOff()) // want `NextBackOff can return Stop, -1, and Sleep takes that for a wait: compare it with Stop, or set MaxElapsedTime to 0 \[wait\]`
	}
}

func counted() {
	b := backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 5)
	for !ready() {
		time.Sleep(b.NextBackOff()) // want `Sleep takes that for a wait`
	}
}

type client struct{ policy *backoff.ExponentialBackOff }

func newClient() *client {
	return &client{policy: backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute))}
}

func (c *client) run(ctx context.Context, timer *time.Timer) error {
	log.Print("begins at ", time.Now(), time.Since(time.Time{}))
	for !ready() {
		d := c.policy.NextBackOff() // want `After takes that for a wait`
		log.Print("again in ", d)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
		timer.Reset(c.policy.NextBackOff())       // want `Reset takes that for a wait`
		<-time.NewTimer(c.policy.NextBackOff()).C // want `NewTimer takes that for a wait`
	}
	return nil
}

func ready() bool { return true }
