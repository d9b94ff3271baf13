package compat_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// A sqlCase is a transaction of one statement, run by sqlretry.Do on a database that fails as it says. What
// needs a real database is in lab/integration/sqlretry.
type sqlCase struct {
	name    string
	differs string // why, in a few words; empty if sqlretry does what the peer does

	retries   int // at most, without waits; 0 means the defaults
	failing   int // how many transactions fail, at the steps below; the others succeed
	begin     error
	statement error
	commit    error
	done      bool // the Commit that fails takes effect
	rollback  error
	swallowed bool // by the function, which returns nil
	panics    bool // the function, after its statement
	canceled  bool // the context, before the call
	retryable func(error) bool

	calls     int // of the function
	committed int // transactions that took effect
	err       error
	exhausted bool          // the error says that no retries are left
	unknown   bool          // the error says that nobody knows whether the transaction took effect
	elapsed   time.Duration // at most
}

// TestCockroach has the tests of github.com/cockroachdb/cockroach-go/v2/crdb, v2.4.2, and what its
// documentation says of commits whose outcome is unknown, of panics and of rollbacks that fail.
//
// 20 rows: 17 pass, 3 differ on purpose. 7 more, which need a database, are in lab/integration/sqlretry.
//
// Not asked: crdbgorm, crdbpgx and crdbsqlx run TestExecuteTx again, each with its own kind of transaction;
// testserver starts a CockroachDB.
func TestCockroach(t *testing.T) {
	var got tally
	for _, c := range sqlCases {
		got.add(c.differs)
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, c.run)
		})
	}
	require.Equal(t, tally{same: 17, differs: 3}, got, "the counts in the comment above this table, and here")
}

// stateError is an error with an SQLSTATE, as pgx and lib/pq have them.
type stateError string

func (e stateError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateError) SQLState() string { return string(e) }

const (
	errSerialization = stateError("40001")
	errUnique        = stateError("23505")
	errAborted       = stateError("25P02") // a statement in a transaction that has failed
)

var (
	errBegin     = errors.New("unknown driver")
	errLost      = io.ErrUnexpectedEOF
	errWrapped   = fmt.Errorf("update: %w", errSerialization)
	errUnwrapped = fmt.Errorf("update: %s", errSerialization.Error())
)

var sqlCases = []sqlCase{
	{
		name:    "TestMaxRetriesExceededError",
		retries: 10, failing: 99, statement: errSerialization,
		calls: 11, err: errSerialization, exhausted: true,
	},
	{
		name:    "TestConfigureRetries, a number",
		retries: 123, failing: 99_999, statement: errSerialization,
		calls: 124, err: errSerialization, exhausted: true,
	},
	{
		name: "TestConfigureRetries, the default", differs: "the default is 20 retries, with waits, not 50",
		failing: 99, statement: errSerialization,
		calls: 21, err: errSerialization, exhausted: true, elapsed: 20 * time.Second,
	},
	{
		name:    "TestExecuteTxFailsOnTransactionError",
		retries: 3, failing: 99, begin: errBegin, err: errBegin,
	},

	{name: "ExecuteTx, no failure", retries: 3, calls: 1, committed: 1},
	{
		name:    "ExecuteTx, a statement's 40001",
		retries: 3, failing: 2, statement: errSerialization, calls: 3, committed: 1,
	},
	{
		name:    "ExecuteTx, a statement's 40001, wrapped",
		retries: 3, failing: 2, statement: errWrapped, calls: 3, committed: 1,
	},
	{
		name:    "ExecuteTx, a statement's 40001, its text alone",
		retries: 3, failing: 2, statement: errUnwrapped, calls: 1, err: errUnwrapped,
	},
	{
		name:    "ExecuteTx, a 40001 of the commit",
		retries: 3, failing: 2, commit: errSerialization, calls: 3, committed: 1,
	},
	{
		name:    "ExecuteTx, another error is rolled back and returned",
		retries: 3, failing: 2, statement: errUnique, calls: 1, err: errUnique,
	},
	{
		name: "ExecuteTx, CR000", differs: "no server sends it today; Options.Retryable can name it",
		retries: 3, failing: 2, statement: stateError("CR000"), calls: 1, err: stateError("CR000"),
	},
	{
		name:    "ExecuteTx, CR000 named by Options.Retryable",
		retries: 3, failing: 2, statement: stateError("CR000"), calls: 3, committed: 1,
		retryable: func(err error) bool { return errors.Is(err, stateError("CR000")) },
	},
	{
		name:    "ExecuteTx, a swallowed 40001",
		retries: 3, failing: 2, statement: errSerialization, swallowed: true, commit: errAborted,
		calls: 1, err: errAborted,
	},
	{
		name:    "ExecuteTx, canceled before it begins",
		retries: 3, canceled: true, err: context.Canceled,
	},

	{
		name:    "AmbiguousCommitError, not done",
		retries: 3, failing: 1, commit: errLost, calls: 1, err: errLost, unknown: true,
	},
	{
		name:    "AmbiguousCommitError, done",
		retries: 3, failing: 1, commit: errLost, done: true, calls: 1, committed: 1, err: errLost, unknown: true,
	},
	{
		name:    "AmbiguousCommitError, done, and Retryable says yes",
		retries: 3, failing: 1, commit: driver.ErrBadConn, done: true, calls: 1, committed: 1, err: driver.ErrBadConn, unknown: true,
		retryable: func(error) bool { return true },
	},
	{
		name: "TxnRestartError", differs: "the next transaction begins afresh, whatever became of the rollback",
		retries: 3, failing: 1, statement: errSerialization, rollback: driver.ErrBadConn, calls: 2, committed: 1,
	},
	{name: "ExecuteInTx, a panic is rolled back and goes on", retries: 3, panics: true, calls: 1},
	{
		name:    "ExecuteInTx, a panic whose rollback fails goes on, too",
		retries: 3, failing: 1, panics: true, rollback: driver.ErrBadConn, calls: 1,
	},
}

func (c sqlCase) run(t *testing.T) {
	database := &caseDatabase{sqlCase: c}
	db := sql.OpenDB(database)
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.canceled {
		cancel()
	}

	o := sqlretry.Options{Retryable: c.retryable}
	if c.retries > 0 {
		o.MaxRetries = c.retries
		o.Policy = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
	}
	calls := 0
	start := time.Now()
	panicked, err := recovered(func() error {
		return sqlretry.Do(ctx, db, o, func(_ context.Context, tx *sql.Tx) error {
			calls++
			_, err := tx.ExecContext(ctx, "UPDATE account SET amount = amount + 1")
			if c.panics {
				panic("bug")
			}
			if c.swallowed {
				return nil
			}
			return err
		})
	})

	require.LessOrEqual(t, time.Since(start), c.elapsed, "simulated time")
	require.Equal(t, c.panics, panicked != nil, "%v", panicked)
	require.ErrorIs(t, err, c.err)
	require.Equal(t, c.exhausted, errors.Is(err, backoff.ErrRetriesExhausted), "%v", err)
	require.Equal(t, c.unknown, errors.Is(err, sqlretry.ErrOutcomeUnknown), "%v", err)
	require.Equal(t, c.calls, calls, "calls of the function")
	require.Equal(t, c.committed, database.committed, "transactions that took effect")
	require.Zero(t, db.Stats().InUse, "a transaction has not ended")
}

// recovered calls f, and returns the value of a panic.
func recovered(f func() error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, f()
}

// A caseDatabase counts what is committed, and fails as its case says. It has one transaction at a time.
type caseDatabase struct {
	sqlCase
	transactions int
	pending      bool
	committed    int
}

func (d *caseDatabase) Driver() driver.Driver                        { return nil }
func (d *caseDatabase) Connect(context.Context) (driver.Conn, error) { return caseConn{d}, nil }

// or returns err if the transaction is one of those that fail.
func (d *caseDatabase) or(err error) error {
	if d.transactions <= d.failing {
		return err
	}
	return nil
}

type caseConn struct{ *caseDatabase }

func (c caseConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c caseConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (c caseConn) Close() error                        { return nil }

func (c caseConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.transactions++
	return c, c.or(c.begin)
}

func (c caseConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	c.pending = true
	return driver.RowsAffected(1), c.or(c.statement)
}

func (c caseConn) Commit() error {
	err := c.or(c.commit)
	if c.pending && (err == nil || c.done) {
		c.committed++
	}
	c.pending = false
	return err
}

func (c caseConn) Rollback() error {
	c.pending = false
	return c.or(c.rollback)
}
