package limit

import (
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var database = backoff.Retrier{
	Policy: func() backoff.BackOff { // want `MaxAttempts is zero, which means 4, whatever the limit of this policy is: set it, to -1 if that limit is to count \[limit\]`
		return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(2 * time.Minute))
	},
}

type client struct{ users, orders *backoff.Retrier }

func newClient(retries uint64) *client {
	c := &client{users: &backoff.Retrier{Policy: newPolicy}} // want `MaxAttempts is zero, which means 4`
	c.orders = &backoff.Retrier{}
	c.orders.Policy = func() backoff.BackOff { // want `MaxAttempts is zero, which means 4`
		return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), retries)
	}
	return c
}

func newPolicy() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = time.Minute
	return b
}

func transports() map[string]*httpretry.Transport {
	return map[string]*httpretry.Transport{
		"users": {Policy: ten}, // want `MaxAttempts is zero, which means 4`
	}
}

func ten() backoff.BackOff { return backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 10) }
