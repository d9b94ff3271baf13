// Package retrier has the Retrier's own traps.
package retrier

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/backoff"
	"example.com/backoff/httpretry"
	"example.com/backoff/sqlretry"
)

var (
	calls     = backoff.Retrier{AttemptTimeout: 2 * time.Second}
	orders    backoff.Retrier
	unlimited = backoff.Retrier{AttemptTimeout: -1}
	client    = &http.Client{Transport: &httpretry.Transport{}}
	single    = &http.Client{Transport: &httpretry.Transport{MaxAttempts: 1}}
)

type shop struct{ db *sql.DB }

type queries struct{}

func newQueries(db *sql.DB) *queries          { return nil }
func (q *queries) withTx(tx *sql.Tx) *queries { return q }
func (q *queries) put() error                 { return nil }

func (s *shop) wrong(ctx context.Context, req *http.Request) {
	_ = orders.Do(ctx, func(context.Context) error { return get(ctx) }) // want `ctx does not end with the attempt: use the context that the operation is given \[attempt\]`
	_ = calls.Do(ctx, func(ctx context.Context) error {
		_, _ = client.Do(req)              // want `this makes several attempts itself, and they multiply: use either \[nested\]`
		_ = calls.Do(ctx, get)             // want `this call is part of another one by calls: it takes a second slot, and the attempts multiply \[nested\]`
		if err := again(ctx); err != nil { // want `part of another one by calls`
			return err
		}
		return backoff.Permanent(ctx.Err()) // want `ctx also ends after AttemptTimeout, and then this attempt is the last: return the error without Permanent \[final\]`
	})
	_, _ = backoff.DoWithData(ctx, &calls, func(ctx context.Context) (*sql.Rows, error) { // want `the attempt's context ends when the operation returns, and what it returns cannot be read any more: read it inside \[leaving\]`
		return s.db.QueryContext(ctx, "SELECT 1")
	})
	_ = calls.Do(ctx, func(ctx context.Context) error { return sqlretry.Do(ctx, s.db, sqlretry.Options{}, nil) }) // want `this makes`
	_ = sqlretry.Do(ctx, s.db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.db.ExecContext(ctx, "UPDATE")       // want `what s.db does is no part of the transaction, and can wait for it forever: use tx \[tx\]`
		return errors.Join(err, newQueries(s.db).put()) // want `what s.db does`
	})
	defer calls.Do(ctx, get) // want `if ctx has ended by then, this does nothing: use context.WithoutCancel \[defer\]`
}

func again(ctx context.Context) error { return calls.Do(ctx, get) }

// What these Retriers limit is not shown, or they limit nothing.
func (s *shop) right(ctx context.Context, r *backoff.Retrier, o backoff.Retrier) {
	made := newRetrier()
	query := func(ctx context.Context) (*sql.Rows, error) { return s.db.QueryContext(ctx, "SELECT 1") }
	for _, r := range []*backoff.Retrier{r, &o, made, &unlimited} {
		_, _ = backoff.DoWithData(ctx, r, query)
	}
	_ = made.Do(ctx, func(context.Context) error { return get(ctx) })
	_ = unlimited.Do(ctx, func(attempt context.Context) error {
		if err := get(ctx); attempt.Err() == nil {
			return err
		}
		return backoff.Permanent(attempt.Err())
	})
}

func newRetrier() *backoff.Retrier {
	r := &backoff.Retrier{}
	r.AttemptTimeout = -1
	return r
}

func (s *shop) rightCalls(ctx context.Context, other *backoff.Retrier, req *http.Request) {
	var conn net.Conn
	once := backoff.Retrier{MaxAttempts: 1}
	_ = once.Do(ctx, func(context.Context) error { _, err := client.Do(req); return err })
	_ = calls.Do(ctx, func(attempt context.Context) (err error) {
		_, _ = single.Do(req)
		go get(ctx)
		_ = other.Do(attempt, get)
		conn, err = dial(ctx) // it is kept
		return err
	})
	some := backoff.Retrier{Retryable: func(err error) bool { return err == io.EOF }}
	_ = other.Do(ctx, func(ctx context.Context) error { return sqlretry.Do(ctx, s.db, sqlretry.Options{}, nil) })
	_ = some.Do(ctx, func(ctx context.Context) error { return sqlretry.Do(ctx, s.db, sqlretry.Options{}, nil) })
	_ = calls.Do(ctx, func(ctx context.Context) error {
		return backoff.Permanent(sqlretry.Do(ctx, s.db, sqlretry.Options{}, nil))
	})
	_, _ = backoff.DoWithData(ctx, &calls, func(ctx context.Context) (*http.Response, error) {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		return resp, err
	})
	_ = sqlretry.Do(ctx, s.db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		_ = s.db.Stats()
		_ = sqlretry.Do(ctx, nil, sqlretry.Options{}, nil) // in another database
		return newQueries(s.db).withTx(tx).put()
	})
	defer conn.Close()
}

type node struct {
	backoff.Retrier
	next *node
}

func newNode() *node { return &node{Retrier: backoff.Retrier{MaxAttempts: 3}} }

func (n *node) right(ctx context.Context) error {
	n.AttemptTimeout = -1
	return n.Retrier.Do(ctx, func(context.Context) error {
		n := n.next
		return errors.Join(n.Retrier.Do(ctx, get), n.right(ctx))
	})
}

func cleaned(ctx context.Context) {
	defer calls.Do(context.WithoutCancel(ctx), get)
	ctx = context.WithoutCancel(ctx)
	defer calls.Do(ctx, get)
}

func dial(ctx context.Context) (net.Conn, error) { return nil, nil }
func get(ctx context.Context) error              { return nil }
