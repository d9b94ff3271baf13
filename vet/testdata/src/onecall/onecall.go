package onecall

import (
	"context"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/httpretry"
)

var (
	users  = backoff.Retrier{Slots: backoff.NewSlots(20)}
	shared = backoff.NewSlots(20)
)

func wrong(ctx context.Context) error {
	var budget backoff.Budget // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
	r := backoff.Retrier{
		Slots:  new(backoff.Slots), // want `this Slots is made for one call, and protects nothing: share one between all calls \[slots\]`
		Budget: &budget,
	}
	_ = r.Do(ctx, get)

	own := users
	own.Slots = backoff.NewSlots(2) // want `this Slots is made for one call`
	return own.Do(ctx, get)
}

func wrongClient(req *http.Request) {
	client := &http.Client{Transport: &httpretry.Transport{
		Slots:  new(backoff.Slots),  // want `this Slots is made for one call`
		Budget: new(backoff.Budget), // want `this Budget is made for one call`
	}}
	defer client.CloseIdleConnections()
	_, _ = client.Do(req)
}

// These share what counts, make more than one call, or are kept.
func right(ctx context.Context, ids []string) func() error {
	r := backoff.Retrier{Slots: shared}
	_ = r.Do(ctx, get)
	_, _ = (&http.Client{Transport: &httpretry.Transport{}}).Get("/") // it limits nothing
	_, _ = (&http.Client{Transport: &httpretry.Transport{Slots: shared}}).Get("/")

	batch := backoff.Retrier{Slots: backoff.NewSlots(20)}
	for range ids {
		_ = batch.Do(ctx, get)
	}
	later := backoff.Retrier{Slots: backoff.NewSlots(20)}
	return func() error { return later.Do(ctx, get) }
}

func init() {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = r.Do(context.Background(), get)
}

func get(ctx context.Context) error { return nil }
