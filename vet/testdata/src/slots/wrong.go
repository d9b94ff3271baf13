package slots

import (
	"context"

	"example.com/backoff"
)

func load(ctx context.Context) error {
	users := backoff.Retrier{Slots: backoff.NewSlots(20), Budget: &backoff.Budget{}} // want `this Slots is made for one call, and protects nothing: share one between all calls \[slots\]`
	return users.Do(ctx, get)
}

func save(ctx context.Context) error {
	users := &backoff.Retrier{Budget: new(backoff.Budget)} // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
	return users.Do(ctx, get)
}

func variables(ctx context.Context, ids []string) {
	for range ids {
		slots := backoff.NewSlots(20)
		var users backoff.Retrier
		users.Slots = slots // want `this Slots is made for one call`
		_ = users.Do(ctx, get)
	}

	var budget backoff.Budget
	_, _ = backoff.DoWithData(ctx, &backoff.Retrier{Budget: &budget}, count) // want `this Budget is made for one call`
}

func get(ctx context.Context) error { return nil }

func count(ctx context.Context) (int, error) { return 0, nil }
