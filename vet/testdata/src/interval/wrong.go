package interval

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

type client struct{ policy *backoff.ExponentialBackOff }

func newClient() *client {
	c := &client{policy: backoff.NewExponentialBackOff()}
	c.policy.InitialInterval = time.Second // want `InitialInterval has no effect before the next Reset, and there is none \[interval\]`
	return c
}

func (c *client) next() time.Duration { return c.policy.NextBackOff() + c.policy.NextBackOff() }
