package slots

import (
	"context"

	"example.com/backoff"
)

var (
	users  = backoff.Retrier{Slots: backoff.NewSlots(20)}
	shared = backoff.NewSlots(20)
	budget backoff.Budget
)

// A Retrier may be made for a call. What it shares with others is what counts.
func assembled(ctx context.Context, given *backoff.Slots) {
	r := backoff.Retrier{Slots: shared, Budget: &budget}
	_ = r.Do(ctx, get)

	once := users
	once.MaxRetries = -1
	_ = once.Do(ctx, get)

	other := backoff.Retrier{Slots: given}
	_ = other.Do(ctx, get)
}

// These make more than one call.
func batch(ctx context.Context, ids []string) {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	for range ids {
		_ = r.Do(ctx, get)
	}

	twice := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = twice.Do(ctx, get)
	_ = twice.Do(ctx, get)

	kept := backoff.Retrier{Slots: backoff.NewSlots(20)}
	keep(&kept)
	_ = kept.Do(ctx, get)
}

func keep(r *backoff.Retrier) {}

// It runs once in a program.
func init() {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = r.Do(context.Background(), get)
}
