// Package retrier makes calls by Retriers.
package retrier

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"example.com/backoff"
)

// Slots and a Budget for one call.

func literal(ctx context.Context) error {
	r := backoff.Retrier{AttemptTimeout: time.Second, Slots: backoff.NewSlots(20)} // want `this Slots is made for one call, and protects nothing: share one between all calls \[slots\]`
	return r.Do(ctx, get)
}

func pointer(ctx context.Context) (int, error) {
	r := &backoff.Retrier{
		AttemptTimeout: time.Second,
		Slots:          backoff.NewSlots(20), // want `this Slots is made for one call`
		Budget:         &backoff.Budget{},    // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
	}
	return backoff.DoWithData(ctx, r, count)
}

func variables(w http.ResponseWriter, req *http.Request) {
	slots := backoff.NewSlots(20)
	var budget backoff.Budget
	var r backoff.Retrier
	r.Slots = slots    // want `this Slots is made for one call`
	r.Budget = &budget // want `this Budget is made for one call`
	_ = r.Do(req.Context(), get)

	_ = (&backoff.Retrier{Slots: backoff.NewSlots(1)}).Do(req.Context(), get)                           // want `this Slots is made for one call`
	_, _ = backoff.DoWithData(req.Context(), &backoff.Retrier{Budget: new(backoff.Budget)}, count)      // want `this Budget is made for one call`
	_, _ = backoff.DoWithData[int](req.Context(), &backoff.Retrier{Slots: backoff.NewSlots(20)}, count) // want `this Slots is made for one call`
}

func eachPass(ctx context.Context, ids []string) {
	for range ids {
		r := backoff.Retrier{Slots: backoff.NewSlots(20)} // want `this Slots is made for one call`
		_ = r.Do(ctx, get)
	}
}

// A Retrier may be made for a call. What it shares with others is what counts.

var users = backoff.Retrier{AttemptTimeout: time.Second, Slots: backoff.NewSlots(20), Budget: &backoff.Budget{}}

var slots, budget = backoff.NewSlots(20), backoff.Budget{}

type options struct {
	Slots  *backoff.Slots
	Budget *backoff.Budget
}

type client struct {
	options options
	users   backoff.Retrier
	orders  *backoff.Retrier
}

func newClient(o options) *client {
	if o.Slots == nil {
		o.Slots = backoff.NewSlots(20)
	}
	if o.Budget == nil {
		o.Budget = &backoff.Budget{}
	}
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	return &client{options: o, users: r, orders: &backoff.Retrier{Slots: o.Slots, Budget: &backoff.Budget{}}}
}

func (c *client) get(ctx context.Context) error {
	r := backoff.Retrier{Slots: c.options.Slots, Budget: c.options.Budget}
	_ = r.Do(ctx, get)
	_ = c.users.Do(ctx, get)
	_ = c.orders.Do(ctx, get)
	_ = users.Do(ctx, get)

	once := users
	once.MaxRetries = -1
	_ = once.Do(ctx, get)

	plain := backoff.Retrier{MaxRetries: 1}
	_ = plain.Do(ctx, get)
	own := backoff.Retrier{Slots: slots, Budget: &budget}
	return own.Do(ctx, get)
}

func given(ctx context.Context, r *backoff.Retrier, slots *backoff.Slots) error {
	_ = r.Do(ctx, get)
	other := backoff.Retrier{Slots: slots}
	return other.Do(ctx, get)
}

func either(ctx context.Context, slots *backoff.Slots) error {
	if slots == nil {
		slots = backoff.NewSlots(1)
	}
	r := backoff.Retrier{Slots: slots}
	return r.Do(ctx, get)
}

func batch(ctx context.Context, ids []string, g group) {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	for range ids {
		_ = r.Do(ctx, get)
	}
	many := backoff.Retrier{Slots: backoff.NewSlots(20)}
	for range ids {
		g.Go(func() { _ = many.Do(ctx, get) })
	}
	twice := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = twice.Do(ctx, get)
	_ = twice.Do(ctx, get)
}

func passedOn(ctx context.Context) {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	given(ctx, &r, nil)
	_ = r.Do(ctx, get)
}

func main() {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = r.Do(context.Background(), get)
}

// A call inside a call.

func twice(ctx context.Context) error {
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

func (c *client) twice(ctx context.Context, other *client) error {
	op := func(ctx context.Context) error {
		_ = c.address(ctx) // want `part of another one by c.users`
		_ = other.address(ctx)
		_ = c.order(ctx)
		_ = c.renamed(ctx)
		return c.users.Do(ctx, get) // want `part of another one by c.users`
	}
	_ = c.users.Do(ctx, func(ctx context.Context) error { return other.users.Do(ctx, get) })
	return c.users.Do(ctx, op)
}

func (c *client) address(ctx context.Context) error { return c.users.Do(ctx, get) }

func (c *client) order(ctx context.Context) error { return c.orders.Do(ctx, get) }

func (client *client) renamed(ctx context.Context) error { return client.users.Do(ctx, get) }

func threeTimes(ctx context.Context, r *backoff.Retrier) {
	_ = r.Do(ctx, func(ctx context.Context) error {
		return r.Do(ctx, func(ctx context.Context) error { // want `part of another one by r`
			return r.Do(ctx, get) // want `part of another one by r`
		})
	})
}

func beside(ctx context.Context, c *client) error {
	_ = users.Do(ctx, get)
	return users.Do(ctx, func(ctx context.Context) error {
		go func() { _ = users.Do(context.WithoutCancel(ctx), get) }()
		go address(ctx)
		return c.orders.Do(ctx, get)
	})
}

// An operation that uses the context of the call.

func outer(ctx context.Context, req *http.Request, db *sql.DB) {
	_ = users.Do(ctx, func(context.Context) error { return get(ctx) })   // want `ctx does not end with the attempt's timeout: use the context that the operation is given \[timeout\]`
	_ = users.Do(ctx, func(_ context.Context) error { return get(ctx) }) // want `ctx does not end with the attempt's timeout`
	_, _ = backoff.DoWithData(ctx, &users, func(attempt context.Context) (int, error) {
		return count(ctx) // want `ctx does not end with the attempt's timeout`
	})
	_ = users.Do(req.Context(), func(context.Context) error {
		_, err := db.ExecContext(req.Context(), "") // want `req.Context\(\) does not end with the attempt's timeout`
		return err
	})

	made, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	op := func(_ context.Context) error { return get(made) } // want `made does not end with the attempt's timeout`
	_ = users.Do(made, op)
}

func inner(ctx context.Context, log func(ctx context.Context)) {
	_ = users.Do(ctx, func(ctx context.Context) error { return get(ctx) })
	_ = users.Do(ctx, func(attempt context.Context) error {
		if err := get(attempt); err != nil {
			return get(ctx)
		}
		return nil
	})
	_ = users.Do(ctx, func(context.Context) error { log(ctx); return nil })
	_ = users.Do(ctx, func(context.Context) error {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return get(short)
	})
	_ = users.Do(ctx, func(context.Context) error { return nil })
	_ = users.Do(ctx, get)
}

// These go on on purpose.
func detached(ctx context.Context) {
	free := context.WithoutCancel(ctx)
	_ = users.Do(ctx, func(context.Context) error { return get(free) })
	_ = users.Do(ctx, func(context.Context) error { return get(context.WithoutCancel(ctx)) })
}

// A Policy that does not make what it returns.

var (
	policy  = backoff.NewExponentialBackOff()
	steady  = backoff.NewConstantBackOff(time.Second)
	shared  = backoff.Retrier{Policy: func() backoff.BackOff { return policy }}                             // want `loops that can run at the same time share policy, which holds the state of one: build a policy for each \[shared\]`
	limited = &backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithMaxRetries(policy, 3) }} // want `share policy, which`
	counted = backoff.Retrier{Policy: one}
	fresh   = backoff.Retrier{Policy: func() backoff.BackOff { return backoff.NewExponentialBackOff() }}
	common  = backoff.Retrier{Policy: func() backoff.BackOff { return backoff.WithMaxRetries(steady, 3) }}
	simple  = backoff.Retrier{Policy: func() backoff.BackOff { return steady }}
	none    = backoff.Retrier{Policy: func() backoff.BackOff { return nil }}
)

func one() backoff.BackOff { return policy } // want `share policy, which`

func NewClient(exact *backoff.ExponentialBackOff, unknown backoff.BackOff) *client {
	outside := backoff.NewExponentialBackOff()
	template := backoff.ExponentialBackOff{InitialInterval: time.Second}
	c := &client{users: backoff.Retrier{Policy: func() backoff.BackOff { return outside }}} // want `share outside, which`
	c.users.Policy = func() backoff.BackOff { return exact }                                // want `share exact, which`
	c.users.Policy = func() backoff.BackOff { return unknown }
	c.users.Policy = func() backoff.BackOff {
		b := template
		return &b
	}
	c.users.Policy = func() backoff.BackOff {
		inside := backoff.NewExponentialBackOff()
		inside.InitialInterval = time.Second
		return inside
	}
	return c
}

// The policy of the one call that a Retrier makes.
func single(ctx context.Context) {
	b := backoff.NewExponentialBackOff()
	r := backoff.Retrier{Policy: func() backoff.BackOff { return b }}
	_ = r.Do(ctx, get)

	var p backoff.Retrier
	p.Policy = func() backoff.BackOff { return b }
	_ = p.Do(ctx, get)

	var spec = &backoff.Retrier{Policy: func() backoff.BackOff { return b }}
	_ = spec.Do(ctx, get)
}

// A Retrier that leaves the function makes more calls.
func newUsers() *backoff.Retrier {
	b := backoff.NewExponentialBackOff()
	r := backoff.Retrier{Policy: func() backoff.BackOff { return b }} // want `share b, which`
	return &r
}

func newOrders(ctx context.Context) *client {
	b := backoff.NewExponentialBackOff()
	var r backoff.Retrier
	r.Policy = func() backoff.BackOff { return b } // want `share b, which`
	c := &client{users: r}
	_ = c.users.Do(ctx, get)
	return c
}

type group struct{}

func (group) Go(f func()) { go f() }

func get(ctx context.Context) error { return nil }

func count(ctx context.Context) (int, error) { return 0, nil }
