package nested

import "context"

func after(ctx context.Context) error {
	if err := users.Do(ctx, get); err != nil {
		return err
	}
	return users.Do(ctx, get)
}

// These take a slot of another Retrier, or after the call.
func (c *client) others(ctx context.Context, other *client) error {
	return c.users.Do(ctx, func(ctx context.Context) error {
		go func() { _ = c.users.Do(context.WithoutCancel(ctx), get) }()
		_ = other.users.Do(ctx, get)
		_ = other.address(ctx)
		return c.order(ctx)
	})
}

func (c *client) order(ctx context.Context) error { return c.orders.Do(ctx, get) }
