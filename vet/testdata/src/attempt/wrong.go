package attempt

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

var (
	users  = backoff.Retrier{AttemptTimeout: 0}
	orders backoff.Retrier
)

func load(ctx context.Context, db *sql.DB, r *http.Request) {
	_ = users.Do(ctx, func(context.Context) error { return get(ctx) }) // want `ctx does not end with the attempt: use the context that the operation is given \[attempt\]`
	_, _ = backoff.DoWithData(ctx, &users, func(_ context.Context) (int, error) {
		return 0, get(r.Context()) // want `r.Context\(\) does not end with the attempt`
	})
	_ = sqlretry.Do(ctx, db, sqlretry.Options{}, func(attempt context.Context, tx *sql.Tx) error {
		var name string
		return tx.QueryRowContext(ctx, "SELECT name FROM users").Scan(&name) // want `ctx does not end with the attempt`
	})

	_ = users.Do(ctx, func(attempt context.Context) error {
		return orders.Do(attempt, func(context.Context) error { return get(ctx) }) // want `ctx does not end with the attempt`
	})

	op := func(context.Context) error {
		short, cancel := context.WithTimeout(ctx, time.Second) // want `ctx does not end with the attempt`
		defer cancel()
		return get(short)
	}
	_ = users.Do(ctx, op)
}

func get(ctx context.Context) error { return nil }
