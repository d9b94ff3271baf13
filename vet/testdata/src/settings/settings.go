package settings

import (
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var shared = backoff.NewExponentialBackOff()

var (
	wrong      = backoff.Retrier{Policy: limited}                                  // want `MaxAttempts is zero, which means 4, whatever the limit of this policy is: set it, to -1 if that limit is to count \[limit\]`
	wrongCount = httpretry.Transport{Policy: counted}                              // want `MaxAttempts is zero, which means 4`
	wrongState = backoff.Retrier{Policy: func() backoff.BackOff { return shared }} // want `share shared, which holds the state of one: build a policy for each \[shared\]`
)

var (
	right    = backoff.Retrier{Policy: func() backoff.BackOff { return limited() }, MaxAttempts: -1}
	template = backoff.Retrier{Policy: limited}
	three    = backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3) }}
)

type server struct{ users, orders backoff.Retrier }

func newServer(attempts int) *server {
	s := &server{users: backoff.Retrier{Policy: limited}, orders: template}
	s.users.MaxAttempts = attempts
	s.orders.MaxAttempts = -1
	return s
}

func limited() backoff.BackOff {
	b := backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute))
	return b
}

func counted() backoff.BackOff { return backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 10) }
