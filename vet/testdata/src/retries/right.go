package retries

import "example.com/backoff"

var few = backoff.Retrier{MaxRetries: 2}

func configured(retries int) backoff.Retrier {
	r := backoff.Retrier{MaxRetries: retries}
	if r.MaxRetries == 0 {
		r.MaxRetries = -1
	}
	return r
}

// The zero of another type means what that says.
type client struct{ MaxRetries int }

var other = client{MaxRetries: 0}
