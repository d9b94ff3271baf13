package retries

import (
	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

const none = 0

var (
	users   = backoff.Retrier{MaxRetries: 0}      // want `a MaxRetries of zero means 3: a negative one means no retries \[retries\]`
	pages   = &httpretry.Transport{MaxRetries: 0} // want `MaxRetries of zero means 3`
	options = grpcretry.Options{MaxRetries: none} // want `MaxRetries of zero means 3`
	orders  = sqlretry.Options{MaxRetries: 0}     // want `MaxRetries of zero means 20`
)

func once() backoff.Retrier {
	r := users
	r.MaxRetries = 0 // want `MaxRetries of zero means 3`
	return r
}
