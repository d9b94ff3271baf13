package retrier

import (
	"context"
	"database/sql"
	"io"
	"net/http"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// With it the operation receives the caller's context.
var unlimited = backoff.Retrier{AttemptTimeout: -1}

func whole(ctx context.Context, db *sql.DB) (*sql.Rows, error) {
	return backoff.DoWithData(ctx, &unlimited, func(ctx context.Context) (*sql.Rows, error) {
		if ctx.Err() != nil {
			return nil, backoff.Permanent(ctx.Err())
		}
		return db.QueryContext(ctx, "SELECT 1")
	})
}

// What these Retriers limit is not shown.
func given(ctx context.Context, db *sql.DB, r *backoff.Retrier, o backoff.Retrier) {
	query := func(ctx context.Context) (*sql.Rows, error) { return db.QueryContext(ctx, "SELECT 1") }
	_, _ = backoff.DoWithData(ctx, r, query)
	_, _ = backoff.DoWithData(ctx, &o, query)
}

func buffered(ctx context.Context) (*http.Response, error) {
	return backoff.DoWithData(ctx, &calls, func(ctx context.Context) (*http.Response, error) {
		resp, err := http.Get("/")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		return resp, err
	})
}

func cleaned(ctx context.Context) {
	defer calls.Do(context.WithoutCancel(ctx), get)
	defer func() {
		ctx := context.Background()
		_ = calls.Do(ctx, get)
	}()
}

func (s *shop) orders(ctx context.Context) error {
	return sqlretry.Do(ctx, s.db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE")
		return err
	})
}

func other(ctx context.Context, req *http.Request) error {
	return calls.Do(ctx, func(ctx context.Context) error {
		_, err := http.DefaultClient.Do(req.WithContext(ctx))
		return err
	})
}
