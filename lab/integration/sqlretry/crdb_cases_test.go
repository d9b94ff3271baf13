//go:build unix

package sqlretry_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/lab/integration/sqlretry/cases"
	"example.com/backoff/sqlretry"
)

// TestCockroach has the tests of github.com/cockroachdb/cockroach-go/v2/crdb, v2.4.2, that need a database,
// and two of what its documentation says. The others are in lab/compat. Commits whose outcome is unknown are in
// TestPostgres/connection_lost.
//
// 7 cases: all pass.
func TestCockroach(t *testing.T) {
	config := startPostgres(t)
	t.Run("TestExecuteCtx", func(t *testing.T) { testExecuteCtx(t, config) })
	t.Run("TestExecuteTx", func(t *testing.T) { testExecuteTx(t, config) })
	t.Run("ExecuteTx, a swallowed 40001", func(t *testing.T) { testSwallowed(t, config) })
	t.Run("ExecuteInTx, a panic", func(t *testing.T) { testPanic(t, config) })
}

// testExecuteCtx inserts a row for each case, which must be there afterwards, once.
func testExecuteCtx(t *testing.T, config *pgx.ConnConfig) {
	db := openDB(t, config)
	cases.Execute(t, db, "CREATE TABLE test_retry (id INT PRIMARY KEY)")

	for id, test := range []struct {
		name     string
		retries  uint64
		canceled bool
		args     []any
		want     error
	}{
		{"no retries", 0, false, []any{0}, nil},
		{"single retry", 1, false, []any{1}, nil},
		{"cancelled context", 1, true, []any{2}, context.Canceled},
		{"no args", 1, false, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.canceled {
				cancel()
			}
			statement := "INSERT INTO test_retry VALUES ($1)"
			if test.args == nil {
				statement = fmt.Sprintf("INSERT INTO test_retry VALUES (%d)", id)
			}

			o := sqlretry.Options{Policy: retries(test.retries)}
			err := sqlretry.Do(ctx, db, o, func(_ context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, statement, test.args...)
				return err
			})

			require.ErrorIs(t, err, test.want)
			var found int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM test_retry WHERE id = $1", id).Scan(&found))
			require.Equal(t, test.want == nil, found == 1)
		})
	}
}

// retries returns a policy of at most n retries without waits.
func retries(n uint64) func() backoff.BackOff {
	return func() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, n) }
}

// newAccounts creates two accounts with 100 each.
func newAccounts(t *testing.T, db *sql.DB) {
	cases.Execute(t, db,
		"DROP TABLE IF EXISTS account",
		"CREATE TABLE account (id INT PRIMARY KEY, balance INT)",
		"INSERT INTO account VALUES (1, 100), (2, 100)")
}

// balances reads both accounts.
func balances(tx *sql.Tx) (first, second int, err error) {
	err = tx.QueryRow("SELECT a.balance, b.balance FROM account a, account b WHERE a.id = 1 AND b.id = 2").Scan(&first, &second)
	return first, second, err
}

// testExecuteTx lets two transactions read both balances before either of them writes. Each moves 100 from the
// larger account to the other, so that one after the other they undo each other.
func testExecuteTx(t *testing.T, config *pgx.ConnConfig) {
	db := openDB(t, config)
	newAccounts(t, db)
	both := cases.Meet()
	var errs [2]error
	var calls [2]int
	var s states

	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			errs[i] = sqlretry.Do(t.Context(), db, serializable(&s), func(_ context.Context, tx *sql.Tx) error {
				calls[i]++
				first, second, err := balances(tx)
				if err != nil {
					return fmt.Errorf("read: %w", err)
				}
				both(i)
				amount := 100
				if first > second {
					amount = -100
				}
				if err := move(tx, amount); err != nil {
					return fmt.Errorf("move: %w", err)
				}
				return nil
			})
		})
	}
	group.Wait()

	require.NoError(t, errors.Join(errs[:]...))
	require.Greater(t, calls[0]+calls[1], 2, "one of them is repeated")
	require.Positive(t, s.seen["40001"])
	requireBalances(t, db, 100, 100)
}

func serializable(s *states) sqlretry.Options {
	return sqlretry.Options{
		Tx:         &sql.TxOptions{Isolation: sql.LevelSerializable},
		MaxRetries: math.MaxInt,
		Policy:     cases.ShortWaits,
		Notify:     s.notify,
	}
}

// move moves an amount from the second account to the first.
func move(tx *sql.Tx, amount int) error {
	if _, err := tx.Exec("UPDATE account SET balance = balance + $1 WHERE id = 1", amount); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE account SET balance = balance - $1 WHERE id = 2", amount)
	return err
}

func requireBalances(t *testing.T, db *sql.DB, first, second int) {
	t.Helper()
	var got [2]int
	require.NoError(t, db.QueryRow("SELECT a.balance, b.balance FROM account a, account b WHERE a.id = 1 AND b.id = 2").Scan(&got[0], &got[1]))
	require.Equal(t, [2]int{first, second}, got, "balances")
}

// testSwallowed has a function that returns nil after a statement that failed with 40001. Its transaction is
// lost: Do must say so, and must not repeat what it was not asked to repeat.
func testSwallowed(t *testing.T, config *pgx.ConnConfig) {
	db := openDB(t, config)
	newAccounts(t, db)
	var s states
	var swallowed error
	calls := 0

	err := sqlretry.Do(t.Context(), db, serializable(&s), func(_ context.Context, tx *sql.Tx) error {
		calls++
		if _, _, err := balances(tx); err != nil {
			return err
		}
		cases.Execute(t, db, "UPDATE account SET balance = balance + 1 WHERE id = 1") // another transaction
		swallowed = move(tx, 50)
		return nil
	})

	require.True(t, sqlretry.Retryable(swallowed), "%v", swallowed)
	require.Error(t, err)
	t.Log(err)
	require.Equal(t, 1, calls)
	requireBalances(t, db, 101, 100)
}

// testPanic has a function that panics after a statement, which is undone. Its connection can be used again.
func testPanic(t *testing.T, config *pgx.ConnConfig) {
	db := openDB(t, config)
	db.SetMaxOpenConns(1)
	newAccounts(t, db)
	var s states
	calls := 0

	require.PanicsWithValue(t, "bug", func() {
		sqlretry.Do(t.Context(), db, serializable(&s), func(_ context.Context, tx *sql.Tx) error {
			calls++
			require.NoError(t, move(tx, 50))
			panic("bug")
		})
	})

	require.Equal(t, 1, calls)
	requireBalances(t, db, 100, 100)
}
