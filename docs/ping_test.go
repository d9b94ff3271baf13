package docs_test

import (
	"context"
	"database/sql"
	"example.com/backoff"
)

func ping(ctx context.Context, db *sql.DB) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 5)
	return backoff.Retry(func() error { return db.PingContext(ctx) }, backoff.WithContext(policy, ctx))
}
