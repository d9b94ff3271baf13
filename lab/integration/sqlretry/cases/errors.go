// Package cases has the cases that the databases and drivers of the tests share.
package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// An Outcome is what comes of a transaction.
type Outcome int

// Outcomes of a [Case].
const (
	Repeated   Outcome = iota // once, and then it is done
	Persistent                // repeated until it is done
	Returned                  // immediately
	Unknown                   // immediately, and nobody knows whether it took effect
	Exhausted                 // after all retries
)

// A Case is a transaction that fails the first time, or always.
type Case struct {
	Name string

	// F is called with the number of the attempt, which counts from 1.
	F func(ctx context.Context, tx *sql.Tx, attempt int) error

	Says    string // in the first error; it may be several parts, with … between them
	Between func() // is called before each retry; nil means nothing
	Tx      *sql.TxOptions
	Outcome Outcome
}

// Run runs the case.
func (c Case) Run(t *testing.T, db *sql.DB) {
	t.Helper()
	var said error
	attempts := 0
	retries := 0
	o := sqlretry.Options{
		Tx:          c.Tx,
		Policy:      func() backoff.BackOff { return backoff.NewConstantBackOff(10 * time.Millisecond) },
		MaxAttempts: 101,
		Notify: func(_ context.Context, attempt int, err error, _ time.Duration) {
			retries = attempt
			if attempt == 1 {
				said = err
			}
			if c.Between != nil {
				c.Between()
			}
		},
	}
	if c.Outcome == Unknown { // which no Retryable is asked about
		o.Retryable = func(error) bool { return true }
	}
	err := sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error {
		attempts++
		return c.F(ctx, tx, attempts)
	})

	switch c.Outcome {
	case Repeated:
		require.NoError(t, err, c.Name)
		require.Equal(t, 1, retries, c.Name)
	case Persistent:
		require.NoError(t, err, c.Name)
		require.Positive(t, retries, c.Name)
	case Exhausted:
		require.ErrorIs(t, err, backoff.ErrRetriesExhausted, c.Name)
	default:
		require.Error(t, err, c.Name)
		require.NoError(t, said, "%s: it was repeated", c.Name)
		said = err
	}
	for part := range strings.SplitSeq(c.Says, "…") {
		require.ErrorContains(t, said, part, c.Name)
	}
	require.Equal(t, c.Outcome == Unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown), "%s: %v", c.Name, err)
}

// Statements returns a transaction that executes statements.
func Statements(statements ...string) func(context.Context, *sql.Tx, int) error {
	return func(ctx context.Context, tx *sql.Tx, _ int) error { return Run(ctx, tx, statements...) }
}

// Run executes statements in tx.
func Run(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, statement := range statements {
		_, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return fmt.Errorf("%.6s: %w", statement, err)
		}
	}
	return nil
}

// Execute executes statements on db.
func Execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
}

// NewPair creates a table of two rows.
var NewPair = []string{
	"DROP TABLE IF EXISTS pair",
	"CREATE TABLE pair (id INT PRIMARY KEY, n INT)",
	"INSERT INTO pair VALUES (1, 1), (2, 1)",
}

// Set returns the statement that changes a row of the table.
func Set(id, n int) string { return fmt.Sprintf("UPDATE pair SET n = %d WHERE id = %d", n, id) }

// Number returns the number that a query returns.
func Number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(query).Scan(&n), query)
	return n
}

// Open opens a database.
func Open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() }) // its error may be that of a connection that was killed
	return db
}
