// Package sqlretry has the names that the tests use.
package sqlretry

import (
	"context"
	"database/sql"
)

type Options struct{ MaxAttempts int }

func Do(ctx context.Context, db *sql.DB, o Options, f func(ctx context.Context, tx *sql.Tx) error) error {
	return nil
}
