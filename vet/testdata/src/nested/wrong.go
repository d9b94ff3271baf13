package nested

import (
	"context"

	"example.com/backoff"
)

var users backoff.Retrier

func load(ctx context.Context) error {
	return users.Do(ctx, func(ctx context.Context) error {
		_ = users.Do(ctx, get)                           // want `this call is part of another one by users: it takes a second slot, and the attempts multiply \[nested\]`
		_, err := backoff.DoWithData(ctx, &users, count) // want `part of another one by users`
		if err != nil {
			return err
		}
		return address(ctx) // want `part of another one by users`
	})
}

func address(ctx context.Context) error { return users.Do(ctx, get) }

type client struct{ users, orders backoff.Retrier }

func (c *client) load(ctx context.Context) error {
	op := func(ctx context.Context) error { return c.address(ctx) } // want `part of another one by c.users`
	return c.users.Do(ctx, op)
}

func (c *client) address(ctx context.Context) error { return c.users.Do(ctx, get) }

func three(ctx context.Context, r *backoff.Retrier) error {
	return r.Do(ctx, func(ctx context.Context) error {
		return r.Do(ctx, func(ctx context.Context) error { // want `part of another one by r`
			return r.Do(ctx, get) // want `part of another one by r`
		})
	})
}

func get(ctx context.Context) error { return nil }

func count(ctx context.Context) (int, error) { return 0, nil }
