// Package retrier has the Retrier's own traps.
package retrier

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

var calls = backoff.Retrier{AttemptTimeout: 2 * time.Second}

func final(ctx context.Context) error {
	return calls.Do(ctx, func(ctx context.Context) error {
		if err := get(ctx); ctx.Err() == nil {
			return err
		}
		return backoff.Permanent(ctx.Err()) // want `ctx also ends after AttemptTimeout, and then this attempt is the last: return the error without Permanent \[final\]`
	})
}

func leaving(ctx context.Context, db *sql.DB) (*sql.Rows, error) {
	return backoff.DoWithData(ctx, &calls, func(ctx context.Context) (*sql.Rows, error) { // want `the attempt's context ends when the operation returns, and what it returns cannot be read any more: read it inside \[leaving\]`
		return db.QueryContext(ctx, "SELECT 1")
	})
}

func unlocked(ctx context.Context) {
	defer calls.Do(ctx, get)                  // want `if ctx has ended by then, this does nothing: use context.WithoutCancel \[defer\]`
	defer func() { _ = calls.Do(ctx, get) }() // want `if ctx has ended by then`
}

type shop struct{ db *sql.DB }

func (s *shop) order(ctx context.Context) error {
	return sqlretry.Do(ctx, s.db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.db.ExecContext(ctx, "UPDATE") // want `what s.db does is no part of the transaction, and can wait for it forever: use tx \[tx\]`
		return err
	})
}

var client = &http.Client{Transport: &httpretry.Transport{}}

func multiplied(ctx context.Context, req *http.Request) error {
	return calls.Do(ctx, func(ctx context.Context) error {
		_, err := client.Do(req.WithContext(ctx)) // want `this client makes several attempts itself, and they multiply: use either \[nested\]`
		return err
	})
}

func get(ctx context.Context) error { return nil }
