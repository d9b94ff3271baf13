package pages_test

import "context"
import "database/sql"
import "example.com/backoff"

func ping(ctx context.Context, db *sql.DB) error {
	policy := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 5)
	policy = backoff.WithContext(policy, ctx)
	return backoff.Retry(func() error { return db.PingContext(ctx) }, policy)
}
