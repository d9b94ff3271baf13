package slots

import (
	"context"
	"database/sql"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/grpcretry"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
	"google.golang.org/grpc"
)

func load(ctx context.Context) error {
	users := backoff.Retrier{
		Slots:  new(backoff.Slots), // want `this Slots is made for one call, and protects nothing: share one between all calls \[slots\]`
		Budget: &backoff.Budget{},  // want `this Budget is made for one call, and protects nothing: share one between all calls \[budget\]`
	}
	return users.Do(ctx, get)
}

func variables(ctx context.Context, ids []string) {
	for range ids {
		slots := backoff.NewSlots(20) // want `this Slots is made for one call`
		var users backoff.Retrier
		users.Slots = slots
		_ = users.Do(ctx, get)
	}

	var budget backoff.Budget // want `this Budget is made for one call`
	_, _ = backoff.DoWithData(ctx, &backoff.Retrier{Budget: &budget}, count)

	var five = backoff.Budget{Capacity: 5} // want `this Budget is made for one call`
	_, _ = backoff.DoWithData(ctx, &backoff.Retrier{Budget: &five}, count)
}

func copied(ctx context.Context) error {
	own := users
	own.Slots = &backoff.Slots{} // want `this Slots is made for one call`
	return own.Do(ctx, get)
}

func transaction(ctx context.Context, db *sql.DB, f func(context.Context, *sql.Tx) error) error {
	o := sqlretry.Options{Slots: backoff.NewSlots(5)} // want `this Slots is made for one call`
	return sqlretry.Do(ctx, db, o, f)
}

func fetch(req *http.Request) (*http.Response, error) {
	client := &http.Client{Transport: &httpretry.Transport{Base: base}} // want `this Transport is made for one call, and protects nothing: share one between all calls \[slots\]`
	defer client.CloseIdleConnections()
	return client.Do(req)
}

var base http.RoundTripper

func page(url string) (*http.Response, error) {
	var t httpretry.Transport // want `this Transport is made for one call`
	t.Policy = func() backoff.BackOff {
		b := backoff.NewExponentialBackOff()
		return b
	}
	client := http.Client{}
	client.Transport = &t
	return client.Get(url)
}

func call(ctx context.Context, target string) error {
	retry := grpcretry.UnaryClientInterceptor(grpcretry.Options{}) // want `this UnaryClientInterceptor is made for one call`
	conn, err := grpc.NewClient(target, grpc.WithUnaryInterceptor(retry))
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, "/users/Get", nil, nil)
}

func get(ctx context.Context) error { return nil }

func count(ctx context.Context) (int, error) { return 0, nil }
