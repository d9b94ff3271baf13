//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// testSlowCommit has a proxy hold a COMMIT back for longer than an attempt may take. It is waited for.
func testSlowCommit(t *testing.T, s server) {
	const timeout = 300 * time.Millisecond
	admin := s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS t", "CREATE TABLE t (n INT)")
	p := newProxy(t, s.network, s.target)
	db := s.via(t, p.address())
	defer db.Close()

	deliver := p.hold("commit")
	time.AfterFunc(3*timeout, deliver)
	begun := time.Now()
	err := sqlretry.Do(t.Context(), db, sqlretry.Options{AttemptTimeout: timeout}, func(ctx context.Context, tx *sql.Tx) error {
		return cases.Run(ctx, tx, "INSERT INTO t VALUES (1)")
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 3*timeout)

	var n int
	require.NoError(t, admin.QueryRow("SELECT count(*) FROM t").Scan(&n))
	require.Equal(t, 1, n)
}

// An orders is a program that places orders. Its first COMMIT is held back until the program has begun its next
// transaction.
type orders struct {
	server
	db      *sql.DB
	deliver func()
	calls   int // of sqlretry.Do
}

// testOrders has two programs go on after a COMMIT whose outcome is unknown.
func testOrders(t *testing.T, s server) {
	for _, test := range []struct {
		name  string
		place func(o *orders, ctx context.Context) error
		want  int
	}{
		{"look, then do it again", (*orders).placeByLook, 2},
		{"do it again with the same key", (*orders).placeByKey, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			admin := s.open(t)
			cases.Execute(t, admin, "DROP TABLE IF EXISTS orders", "CREATE TABLE orders (id VARCHAR(40) PRIMARY KEY, item VARCHAR(40))")
			p := newProxy(t, s.network, s.target)
			o := &orders{server: s, db: s.via(t, p.address()), deliver: p.hold("commit")}
			defer o.db.Close()

			require.NoError(t, test.place(o, t.Context()))

			o.deliver()
			eventually(t, func() bool { return o.db.Stats().InUse == 0 })
			require.NoError(t, o.db.Close())
			eventually(t, func() bool { return p.open() == 0 })
			var n int
			require.NoError(t, admin.QueryRow("SELECT count(*) FROM orders").Scan(&n))
			t.Logf("%s | %s | orders: %d | calls of Do: %d", s.name(), test.name, n, o.calls)
			require.Equal(t, test.want, n)
			require.Greater(t, o.calls, 1)
		})
	}
}

var errPlaced = errors.New("the order is placed")

// insertOrder inserts an order. The second call lets the first COMMIT go, before it or while it waits for it.
func (o *orders) insertOrder(ctx context.Context, id string) error {
	o.calls++
	if o.calls > 1 {
		time.AfterFunc(100*time.Millisecond, o.deliver)
	}
	return sqlretry.Do(ctx, o.db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, o.insert, id, "tea")
		if o.duplicate(err) {
			return errPlaced
		}
		return err
	})
}

// placeByKey calls Do again with the key that the database holds unique, and takes a duplicate key for done.
func (o *orders) placeByKey(ctx context.Context) error {
	r := backoff.Retrier{
		AttemptTimeout: time.Second,
		Retryable:      func(err error) bool { return errors.Is(err, sqlretry.ErrOutcomeUnknown) },
	}
	err := r.Do(ctx, func(ctx context.Context) error { return o.insertOrder(ctx, "order 1") })
	if errors.Is(err, errPlaced) {
		return nil
	}
	return err
}

// placeByLook looks whether the order is there, and if not calls Do again. This is the mistake: the COMMIT has not
// reached the database yet.
func (o *orders) placeByLook(ctx context.Context) error {
	first, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := o.insertOrder(first, "order 1")
	if !errors.Is(err, sqlretry.ErrOutcomeUnknown) {
		return err
	}

	var n int
	err = o.db.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE item = 'tea'").Scan(&n)
	if err != nil || n > 0 {
		return err
	}
	return o.insertOrder(ctx, "order 2")
}
