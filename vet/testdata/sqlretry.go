// Package sqlretry has the names that the tests use.
package sqlretry

import (
	"context"
	"database/sql"

	"example.com/backoff"
)

type Options struct {
	Slots       *backoff.Slots
	MaxAttempts int
	Policy      func() backoff.BackOff
	Budget      *backoff.Budget
}

func Do(ctx context.Context, db *sql.DB, o Options, f func(ctx context.Context, tx *sql.Tx) error) error {
	return nil
}
