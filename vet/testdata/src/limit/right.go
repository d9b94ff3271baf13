package limit

import (
	"math"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var startup = backoff.Retrier{MaxAttempts: math.MaxInt, Policy: newPolicy}

// Neither of these allows more than three.
var (
	three   = backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithMaxRetries(steady, 3) }}
	endless = backoff.Retrier{Policy: func() backoff.BackOff {
		return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
	}}
	steady = backoff.NewConstantBackOff(time.Second)
)

// These set it elsewhere, or may do so.
type server struct{ users backoff.Retrier }

func newServer(retries int) *server {
	s := &server{users: backoff.Retrier{Policy: newPolicy}}
	s.users.MaxAttempts = retries
	return s
}

func handed() {
	r := &backoff.Retrier{Policy: newPolicy}
	configure(r)
}

func configure(r *backoff.Retrier) { r.MaxAttempts = 5 }

var clients = map[string]*httpretry.Transport{"users": {Policy: ten, MaxAttempts: 10}}
