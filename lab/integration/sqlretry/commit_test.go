//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

var errRefused = errors.New("not enough money")

// swallows has a proxy swallow the packets of each step. Do returns when the attempt's time ends, and in a COMMIT when
// its context does. When the proxy lets go, nothing is left.
func (s server) swallows(t *testing.T) {
	for step, word := range map[string]string{
		"BEGIN": s.begin, "statement": "update", "COMMIT": "commit", "ROLLBACK": "rollback",
	} {
		for _, deliver := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, delivered late: %t", step, deliver), func(t *testing.T) { s.swallow(t, step, word, deliver) })
		}
	}
}

func (s server) swallow(t *testing.T, step, word string, deliver bool) {
	const timeout, deadline, late = 300 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second
	admin := s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS t", "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (0)")
	before, err := s.connections(t.Context(), admin)
	require.NoError(t, err)
	p := newProxy(t, s.socket)
	goroutines := runtime.NumGoroutine()
	db := s.via(t, p)
	require.NoError(t, db.Ping())

	p.at(word, swallow)
	time.AfterFunc(late, func() { p.release(deliver) })
	slots := backoff.NewSlots(1)
	o := sqlretry.Options{AttemptTimeout: timeout, MaxAttempts: 1, Slots: slots}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	err = sqlretry.Do(ctx, db, o, func(ctx context.Context, tx *sql.Tx) error {
		err := cases.Run(ctx, tx, "UPDATE t SET n = n + 1")
		if step == "ROLLBACK" {
			return errors.Join(errRefused, err)
		}
		return err
	})
	returned := time.Since(begun)

	require.Error(t, err)
	require.Equal(t, step == "COMMIT", errors.Is(err, sqlretry.ErrOutcomeUnknown), "%v", err)
	require.Equal(t, step == "ROLLBACK", errors.Is(err, errRefused), "%v", err)
	require.GreaterOrEqual(t, returned, timeout)
	if step == "COMMIT" {
		require.GreaterOrEqual(t, returned, deadline)
	}
	if step != "statement" || s.driver != "postgres" { // whose statements may not heed their context
		require.Less(t, returned, late)
	}
	require.Zero(t, slots.InUse())

	p.release(deliver)
	eventually(t, func() bool { return db.Stats().InUse == 0 })
	require.NoError(t, db.Close())
	eventually(t, func() bool { return p.open() == 0 && runtime.NumGoroutine() <= goroutines })
	eventually(t, func() bool {
		now, err := s.connections(t.Context(), admin)
		return err == nil && len(now) <= len(before)
	})
	if n := cases.Number(t, admin, "SELECT n FROM t"); step != "COMMIT" {
		require.Zero(t, n)
	}
}

// eventually waits until a condition holds. Unlike require.Eventually it starts no goroutine, which would count.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.NoError(t, backoff.Retry(func() error {
		if !holds() {
			return errors.New("it does not hold")
		}
		return nil
	}, backoff.WithMaxRetries(backoff.NewConstantBackOff(5*time.Millisecond), 4000)))
}

// slowCommit has a proxy hold a COMMIT back for longer than an attempt may take. It is waited for.
func (s server) slowCommit(t *testing.T) {
	const timeout = 300 * time.Millisecond
	admin := s.open(t)
	cases.Execute(t, admin, "DROP TABLE IF EXISTS t", "CREATE TABLE t (n INT)")
	p := newProxy(t, s.socket)
	db := s.via(t, p)

	p.at("commit", hold)
	time.AfterFunc(3*timeout, func() { p.release(true) })
	begun := time.Now()
	err := sqlretry.Do(t.Context(), db, sqlretry.Options{AttemptTimeout: timeout}, func(ctx context.Context, tx *sql.Tx) error {
		return cases.Run(ctx, tx, "INSERT INTO t VALUES (1)")
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), 3*timeout)
	require.Equal(t, 1, cases.Number(t, admin, "SELECT count(*) FROM t"))
}

// orders goes on after a COMMIT whose outcome is unknown, and which takes effect later. To look whether the order is
// there, and then to place it again, is the mistake: it is placed twice. With the same key it is not.
func (s server) orders(t *testing.T) {
	for second, want := range map[string]int{"order 1": 1, "order 2": 2} {
		t.Run(second, func(t *testing.T) {
			admin := s.open(t)
			cases.Execute(t, admin, "DROP TABLE IF EXISTS orders", "CREATE TABLE orders (id VARCHAR(40) PRIMARY KEY)")
			p := newProxy(t, s.socket)
			db := s.via(t, p)
			place := func(ctx context.Context, id string) error {
				return sqlretry.Do(ctx, db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
					return cases.Run(ctx, tx, "INSERT INTO orders VALUES ('"+id+"')")
				})
			}

			p.at("commit", hold)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, place(ctx, "order 1"), sqlretry.ErrOutcomeUnknown)
			require.Zero(t, cases.Number(t, db, "SELECT count(*) FROM orders"))

			time.AfterFunc(100*time.Millisecond, func() { p.release(true) })
			err := place(t.Context(), second)
			if second == "order 1" {
				require.Regexp(t, "(?i)duplicate", err)
			} else {
				require.NoError(t, err)
			}
			eventually(t, func() bool { return cases.Number(t, admin, "SELECT count(*) FROM orders") == want })
		})
	}
}
