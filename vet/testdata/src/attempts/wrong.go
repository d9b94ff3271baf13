package attempts

import (
	"context"
	"iter"

	"example.com/backoff"
)

type client struct {
	attempts iter.Seq[int]
	err      error
}

func newClient(b backoff.BackOff) *client {
	c := new(client)
	c.attempts = backoff.Attempts(b, &c.err) // want `all loops over attempts share its policy and its error: call Attempts in the range statement \[attempts\]`
	return c
}

func shadowed(ctx context.Context, b backoff.BackOff) (n int, err error) {
	for range backoff.Attempts(b, &err) { // want `the body of this loop never sets err, and Attempts panics after it: assign to err, and declare no other \[attempts\]`
		n, err := fetch(ctx)
		if err == nil {
			return n, nil
		}
	}
	return n, err
}

func fetch(ctx context.Context) (int, error) { return 0, nil }
