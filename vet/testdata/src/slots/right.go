package slots

import (
	"context"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"google.golang.org/grpc"

	"policies"
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
	once.MaxAttempts = -1
	_ = once.Do(ctx, get)

	var slots *backoff.Slots
	slots = given
	other := backoff.Retrier{Slots: slots}
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

func configure(ctx context.Context, n int) {
	policies.Users.Slots = backoff.NewSlots(n)
	_ = policies.Users.Do(ctx, get)
}

func later(ctx context.Context) func() error {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	return func() error { return r.Do(ctx, get) }
}

// Clients may be made for a call with Slots or settings from outside, and for more than one call.
func clients(ctx context.Context, url string, base http.RoundTripper) {
	client := &http.Client{Transport: &httpretry.Transport{Slots: shared}}
	_, _ = client.Get(url)

	t := new(httpretry.Transport)
	t.Slots = shared
	_, _ = (&http.Client{Transport: t}).Get(url)

	given := httpretry.Transport{Base: base}
	given.MaxAttempts = 5
	_, _ = (&http.Client{Transport: &given}).Get(url)

	several := &http.Client{Transport: &httpretry.Transport{}}
	_, _ = several.Get(url)
	_, _ = several.Get(url)

	conn, _ := grpc.NewClient(url, grpc.WithUnaryInterceptor(grpcretry.UnaryClientInterceptor(grpcretry.Options{Slots: shared})))
	_ = conn.Invoke(ctx, "/users/Get", nil, nil)
}

func newClient() *http.Client { return &http.Client{Transport: &httpretry.Transport{}} }

// This gives each tenant its own.
func newTenant(r backoff.Retrier) backoff.Retrier {
	own := r
	own.Slots = new(backoff.Slots)
	return own
}

// It runs once in a program.
func init() {
	r := backoff.Retrier{Slots: backoff.NewSlots(20)}
	_ = r.Do(context.Background(), get)
}
