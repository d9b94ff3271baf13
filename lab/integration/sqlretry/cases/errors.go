// Package cases has the cases that the databases and drivers of the tests share.
package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// An ErrorCase is a transaction that fails the first time, or always.
type ErrorCase struct {
	Name string

	// F is called with the number of the attempt, which counts from 1.
	F func(ctx context.Context, tx *sql.Tx, attempt int) error

	Says     func(err error) bool // whether it is the error that the database should say first; nil means any
	Between  func()               // is called after each attempt that is repeated; nil means nothing
	Tx       *sql.TxOptions
	Attempts int // zero means two or more
	Fails    bool
	Unknown  bool // it fails, and nobody knows whether it took effect; then no Options.Retryable has it repeated
}

// Run runs the case, and logs a line of the table: driver, what was done, what the database said, attempts, result.
func (c ErrorCase) Run(t *testing.T, driver string, db *sql.DB) {
	t.Helper()
	var said error
	attempts := 0
	o := sqlretry.Options{
		Tx: c.Tx,
		Policy: func() backoff.BackOff {
			return backoff.WithMaxRetries(backoff.NewConstantBackOff(10*time.Millisecond), 100)
		},
		MaxRetries: 100,
		Notify: func(_ context.Context, _ int, err error, _ time.Duration) {
			if said == nil {
				said = err
			}
			if c.Between != nil {
				c.Between()
			}
		},
		Done: func(_ context.Context, n int, _ error) { attempts = n },
	}
	if c.Unknown {
		o.Retryable = func(error) bool { return true }
	}
	calls := 0
	err := sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error {
		calls++
		return c.F(ctx, tx, calls)
	})

	result := "repeated, done"
	switch {
	case c.Unknown:
		result = "returned, outcome unknown"
	case c.Fails:
		result = "returned"
	}
	if said == nil {
		said = err
	}
	t.Logf("| %s | %s | %.100v | %d | %s |", driver, c.Name, said, attempts, result)
	require.Equal(t, c.Fails, err != nil, "%v", err)
	require.Equal(t, c.Unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown), "%v", err)
	if c.Says != nil {
		require.True(t, c.Says(said), "%v", said)
	}
	if c.Attempts > 0 {
		require.Equal(t, c.Attempts, attempts)
	} else {
		require.Greater(t, attempts, 1)
	}
}

// A PairCase is two transactions at once, each of which waits for the other after its first half. One of them, at
// least, is repeated.
type PairCase struct {
	Name string

	// First and Second are called with the index of the transaction, 0 or 1.
	First, Second func(ctx context.Context, tx *sql.Tx, i int) error

	Says string // a part of each error that a transaction is repeated for
	Tx   *sql.TxOptions
}

// Run runs the case, and logs its line of the table.
func (c PairCase) Run(t *testing.T, driver string, db *sql.DB) {
	t.Helper()
	var mu sync.Mutex
	var said []error
	o := sqlretry.Options{
		Tx:         c.Tx,
		MaxRetries: math.MaxInt,
		Policy:     shortWaits,
		Notify: func(_ context.Context, _ int, err error, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, err)
		},
	}
	both := Meet()
	var errs [2]error
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			errs[i] = sqlretry.Do(t.Context(), db, o, func(ctx context.Context, tx *sql.Tx) error {
				err := c.First(ctx, tx, i)
				both(i)
				if err != nil {
					return err
				}
				return c.Second(ctx, tx, i)
			})
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.NotEmpty(t, said)
	t.Logf("| %s | %s | %.100v | %d | %s |", driver, c.Name, said[0], 1+len(said), "repeated, done")
	for _, err := range said {
		require.ErrorContains(t, err, c.Says)
	}
}

// Set returns the statement that changes a row.
func Set(id, n int) string { return fmt.Sprintf("UPDATE pair SET n = %d WHERE id = %d", n, id) }

// Run executes statements in tx.
func Run(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.6s: %w", statement, err)
		}
	}
	return nil
}

// NewPair creates a table of two rows.
var NewPair = []string{
	"DROP TABLE IF EXISTS pair",
	"CREATE TABLE pair (id INT PRIMARY KEY, n INT)",
	"INSERT INTO pair VALUES (1, 1), (2, 1)",
}

// Execute executes statements on db.
func Execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
}

// Meet returns a function that waits, the first time that each of two callers calls it, for the other one.
func Meet() func(caller int) {
	var both sync.WaitGroup
	both.Add(2)
	var once [2]sync.Once
	return func(caller int) {
		once[caller].Do(func() {
			both.Done()
			both.Wait()
		})
	}
}

// shortWaits is a policy for tests with many retries.
func shortWaits() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMaxInterval(20*time.Millisecond),
		backoff.WithJitter(backoff.FullJitter))
}
