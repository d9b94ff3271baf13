package sqlretry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// Place an order once, also where nobody knows whether a COMMIT took effect. The id was made before, by whoever orders,
// and is the only unique column of its table. So the same order can be placed again, and a duplicate of the id means that
// it is there.
func ExampleErrOutcomeUnknown() {
	// Elsewhere sql.Open returns db, here for PostgreSQL. In this one COMMITs take effect, but their answer is lost.
	db := sql.OpenDB(&database{unique: true, commit: driver.ErrBadConn})
	ctx := context.Background()
	id := "2026-11-25/17"

	errPlaced := errors.New("the order is there")
	place := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", id)
		var state interface{ SQLState() string }
		if errors.As(err, &state) && state.SQLState() == "23505" {
			return errPlaced
		}
		if err != nil {
			return err
		}

		// From here on a duplicate is an error like any other.
		_, err = tx.ExecContext(ctx, "INSERT INTO items (order_id, item) VALUES ($1, 'tea')", id)
		return err
	}

	orders := backoff.Retrier{
		AttemptTimeout: 10 * time.Second, // of one call of sqlretry.Do, with all its attempts and their COMMITs
		Retryable:      func(err error) bool { return errors.Is(err, sqlretry.ErrOutcomeUnknown) },
		Notify:         func(_ context.Context, _ int, err error, _ time.Duration) { fmt.Println("again:", err) },
	}
	err := orders.Do(ctx, func(ctx context.Context) error { return sqlretry.Do(ctx, db, sqlretry.Options{}, place) })
	if errors.Is(err, errPlaced) {
		fmt.Println("done:", err)
		err = nil
	}
	fmt.Println(err) // if it is not nil, the order may be there: place it again later, with the same id
	// Output:
	// again: outcome of the COMMIT is unknown: driver: bad connection
	// done: the order is there
	// <nil>
}

// A database remembers the statements of the transactions that were committed.
type database struct {
	mu      sync.Mutex
	done    []string
	options driver.TxOptions // of the last transaction
	begun   int
	undone  int

	// What happens in a BEGIN, a COMMIT and a ROLLBACK. Nil means nothing.
	beginning, during, undoing func()

	// What they return.
	begin, commit, undo error

	rollback bool // instead of the COMMIT
	heeds    bool // BEGIN and COMMIT end with the context that the transaction begins with
	unique   bool // a statement is refused if it is committed already
}

func (d *database) Driver() driver.Driver                        { return nil }
func (d *database) Connect(context.Context) (driver.Conn, error) { return &conn{database: d}, nil }

// committed returns the statements that took effect.
func (d *database) committed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// ended returns how many transactions have begun, and how many were rolled back.
func (d *database) ended() (begun, undone int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun, d.undone
}

func open(t *testing.T, d driver.Connector) *sql.DB {
	db := sql.OpenDB(d)
	t.Cleanup(func() {
		// If its context has ended, database/sql ends a transaction in a goroutine of its own.
		ended := func() bool { return db.Stats().InUse == 0 }
		require.Eventually(t, ended, 10*time.Second, time.Millisecond, "a transaction has not ended")
		require.NoError(t, db.Close())
	})
	return db
}

type conn struct {
	*database
	pending []string
	ctx     context.Context // of the transaction
}

func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not needed") }
func (c *conn) Begin() (driver.Tx, error)           { return nil, errors.New("not needed") }
func (c *conn) Close() error                        { return nil }

// step is what happens in a step, before it is done.
func (c *conn) step(happens func()) {
	if happens != nil {
		happens()
	}
}

func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	c.step(c.beginning)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options = options
	c.ctx = ctx
	if c.heeds && ctx.Err() != nil {
		return nil, fmt.Errorf("BEGIN: %w", ctx.Err())
	}
	if c.begin != nil {
		return nil, c.begin
	}
	c.begun++
	return c, nil
}

func (c *conn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if c.unique && slices.Contains(c.committed(), query) {
		return nil, stateError("23505")
	}
	c.pending = append(c.pending, query)
	return driver.RowsAffected(1), nil
}

func (c *conn) Rollback() error {
	c.step(c.undoing)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
	c.undone++
	return c.undo
}

func (c *conn) Commit() error {
	c.step(c.during)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heeds && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if !c.rollback {
		c.done = append(c.done, c.pending...)
	}
	c.pending = nil
	return c.commit
}

func enter(_ context.Context, tx *sql.Tx) error {
	_, err := tx.Exec("entry")
	return err
}

func threeRetries() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }

// stateError is an error as the PostgreSQL drivers have them.
type stateError string

func (e stateError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateError) SQLState() string { return string(e) }

// closedError is an error as pgx has it for a connection that it finds closed.
type closedError bool

func (e closedError) Error() string     { return "conn closed" }
func (e closedError) SafeToRetry() bool { return bool(e) }

// busyError is an error as pgx has it for a connection whose rows are still read.
type busyError struct{}

func (busyError) Error() string     { return "conn busy" }
func (busyError) SafeToRetry() bool { return true }

// codeError is an error as the SQLite driver has them, or an application's, with codes of its own.
type codeError struct {
	code int
	text string
	errs []error
}

func (e *codeError) Error() string    { return e.text }
func (e *codeError) Code() int        { return e.code }
func (e *codeError) SQLState() string { return fmt.Sprint(e.code) }
func (e *codeError) Unwrap() []error  { return e.errs }

func TestRetryable(t *testing.T) {
	busy := &codeError{5, "database is locked (5) (SQLITE_BUSY)", nil}
	locked := &codeError{6, "database table is locked (6)", nil}
	fromLoop := func(err error) error { // the error of a loop within a transaction, which does not unwrap
		return backoff.Retry(func() error { return fmt.Errorf("order: %w", backoff.Permanent(err)) }, nil)
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{stateError("40001"), true},
		{stateError("40P01"), true},
		{fmt.Errorf("pay: %w", stateError("40001")), true},
		{&codeError{500, "pay", []error{stateError("40001")}}, true},
		{errors.Join(&codeError{500, "pay", nil}, fmt.Errorf("b: %w", stateError("40P01"))), true},
		{stateError("40003"), false}, // statement completion unknown
		{stateError("08006"), true},  // connection failure
		{stateError("57P01"), true},  // administrator's shutdown
		{fmt.Errorf("pay: %w", stateError("57P03")), true},
		{stateError("57014"), false}, // statement cancelled
		{stateError("08"), false},
		{stateError("23505"), false}, // unique violation
		{stateError(""), false},

		{busy, true},
		{locked, true},
		{fmt.Errorf("pay: %w", busy), true},
		{&codeError{500, "pay", []error{busy}}, true},
		{&codeError{5, "no such user", []error{io.EOF, locked}}, true},
		{errors.Join(&codeError{500, "pay", nil}, busy), true},
		{errors.Join(busy, &codeError{500, "pay", nil}), true},
		{&codeError{5, "no such user", nil}, false},
		{&codeError{5, "database is locked", nil}, false}, // without SQLite's code in the text
		{&codeError{6, "account is locked (6)", nil}, false},
		{&codeError{2053, "in doubt", nil}, false}, // Oracle: committed, some remote databases may be in doubt
		{&codeError{2054, "in doubt", nil}, false}, // Oracle: transaction in doubt
		{&codeError{0, "", []error{nil}}, false},

		{fromLoop(stateError("40001")), true},
		{fromLoop(busy), true},
		{fromLoop(stateError("23505")), false},

		{fmt.Errorf("pay: %w", driver.ErrBadConn), true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false},
		{closedError(true), true},
		{closedError(false), false},
		{io.ErrUnexpectedEOF, false}, // it may be the application's
		{context.DeadlineExceeded, false},
		{nil, false},
	} {
		require.Equal(t, test.want, sqlretry.Retryable(test.err), "%#v", test.err)
	}
}

// The codes of SQLite that ask for a repetition, in the words of the driver. Most of them are hard
// to come by.
func TestSQLiteCodes(t *testing.T) {
	for code := range 1000 {
		text := fmt.Sprintf("database is locked (%d)", code)
		if code&0xff == 6 {
			text = fmt.Sprintf("database table is locked: database schema is locked: main (%d)", code)
		}
		want := slices.Contains([]int{5, 261, 517, 773, 6, 262, 518}, code)
		require.Equal(t, want, sqlretry.Retryable(&codeError{code, text, nil}), text)
		require.False(t, sqlretry.Retryable(&codeError{code, "code " + fmt.Sprint(code), nil}))
	}
}

// Without Options.Retryable any other error is returned immediately, that of BeginTx too.
func TestZeroOptions(t *testing.T) {
	db := open(t, new(database))
	errRule := errors.New("a rule of the business")
	f := func(context.Context, *sql.Tx) error { return errRule }
	require.Equal(t, errRule, sqlretry.Do(context.Background(), db, sqlretry.Options{}, f))
	require.NoError(t, db.Close())
	require.EqualError(t, sqlretry.Do(context.Background(), db, sqlretry.Options{}, f), "sql: database is closed")
}

// Whatever an attempt did before it failed is undone, and done again by the next one.
func TestErrors(t *testing.T) {
	errRule, errNamed := errors.New("a rule of the business"), errors.New("deadlock, says another driver")
	for _, test := range []struct {
		name     string
		err      error // of the first attempts
		undo     error
		failures int
		want     error
		calls    int
	}{
		{"deadlock", stateError("40P01"), nil, 9, stateError("40P01"), 4},
		{"deadlock, twice", stateError("40P01"), nil, 2, nil, 3},
		{"named", errNamed, nil, 9, errNamed, 4},
		{"other", errRule, nil, 9, errRule, 1},
		{"unique violation", stateError("23505"), nil, 9, stateError("23505"), 1},
		{"CR000, of old CockroachDB alone", stateError("CR000"), nil, 9, stateError("CR000"), 1}, // cockroach-go repeats it
		{"permanent", backoff.Permanent(stateError("40001")), nil, 9, stateError("40001"), 1},
		{"connection lost", driver.ErrBadConn, driver.ErrBadConn, 2, nil, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &database{undo: test.undo}
			var calls, retries int
			err := sqlretry.Do(context.Background(), open(t, d), sqlretry.Options{
				Tx:     &sql.TxOptions{Isolation: sql.LevelSerializable},
				Policy: threeRetries,
				Retryable: func(err error) bool {
					require.NotErrorIs(t, err, &backoff.PermanentError{}, "asked")
					return err == errNamed || sqlretry.Retryable(err)
				},
				Notify: func(context.Context, int, error, time.Duration) { retries++ },
			}, func(ctx context.Context, tx *sql.Tx) error {
				calls++
				require.NoError(t, enter(ctx, tx))
				if calls <= test.failures {
					return test.err
				}
				return nil
			})
			require.ErrorIs(t, err, test.want)
			require.Equal(t, test.calls, calls)
			require.Equal(t, calls-1, retries)
			require.Equal(t, driver.IsolationLevel(sql.LevelSerializable), d.options.Isolation)
			require.Equal(t, err == nil, len(d.committed()) == 1)
		})
	}
}

// The transaction has ended before the panic goes on, and it goes on if the ROLLBACK fails.
func TestPanic(t *testing.T) {
	for _, undo := range []error{nil, driver.ErrBadConn} {
		d := &database{undo: undo}
		db := open(t, d)
		require.PanicsWithValue(t, "bug", func() {
			sqlretry.Do(context.Background(), db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(t, enter(ctx, tx))
				panic("bug")
			})
		})
		require.Zero(t, db.Stats().InUse)
		require.NoError(t, sqlretry.Do(context.Background(), db, sqlretry.Options{}, enter))
		require.Len(t, d.done, 1)
	}
}

func TestContext(t *testing.T) {
	d := new(database)
	db := open(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := sqlretry.Do(ctx, db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		calls++
		require.NoError(t, enter(ctx, tx))
		cancel()
		return stateError("40001")
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, stateError("40001"))
	require.Equal(t, 1, calls)

	ctx, cancel = context.WithCancel(context.Background())
	errRule := errors.New("a rule of the business")
	err = sqlretry.Do(ctx, db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		cancel()
		return fmt.Errorf("%w: %w", errRule, ctx.Err())
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errRule)

	ctx, cancel = context.WithCancel(context.Background())
	err = sqlretry.Do(ctx, db, sqlretry.Options{}, func(ctx context.Context, tx *sql.Tx) error {
		require.NoError(t, enter(ctx, tx))
		cancel()
		return nil // and Commit finds that the context has ended
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, d.committed())

	begun, _ := d.ended()
	require.ErrorIs(t, sqlretry.Do(ctx, db, sqlretry.Options{}, enter), context.Canceled)
	again, _ := d.ended()
	require.Equal(t, begun, again, "a transaction whose context has ended does not begin")
}

// Nobody knows whether a Commit that failed took effect. It is repeated only if the database says that
// it did not.
func TestUnknownCommit(t *testing.T) {
	for _, test := range []struct {
		name     string
		err      error
		rollback bool
		calls    int
	}{
		{"bad connection", driver.ErrBadConn, false, 1},
		{"end of file", io.ErrUnexpectedEOF, false, 1},
		{"completion unknown", stateError("40003"), false, 1},
		{"bad connection, rolled back", driver.ErrBadConn, true, 1},
		{"shutdown", stateError("57P01"), true, 1},
		{"connection failure", stateError("08006"), false, 1},
		{"serialization failure", stateError("40001"), true, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &database{commit: test.err, rollback: test.rollback}
			calls := 0
			err := sqlretry.Do(context.Background(), open(t, d), sqlretry.Options{
				Policy:    threeRetries,
				Retryable: func(error) bool { return true },
			}, func(ctx context.Context, tx *sql.Tx) error {
				calls++
				return enter(ctx, tx)
			})
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.calls, calls)
			require.Equal(t, test.rollback, len(d.committed()) == 0)
		})
	}
}

var errShutDown = errors.New("shutting down")

// Nor does anybody know it of a Commit during which the context ended.
func TestCommitContext(t *testing.T) {
	for _, rollback := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(context.Background())
		shutDown := func() { cancel(errShutDown) }
		d := &database{during: shutDown, commit: context.Canceled, rollback: rollback} // as pgx returns it
		db := open(t, d)
		db.SetMaxOpenConns(1)
		calls := 0
		err := sqlretry.Do(ctx, db, sqlretry.Options{
			Policy:    threeRetries,
			Retryable: func(error) bool { return true },
		}, func(ctx context.Context, tx *sql.Tx) error {
			calls++
			return enter(ctx, tx)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errShutDown)
		require.ErrorIs(t, err, sqlretry.ErrOutcomeUnknown)
		require.Equal(t, 1, calls)

		conn, err := db.Conn(context.Background()) // when the COMMIT has returned, which Do has not waited for
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.Equal(t, rollback, len(d.committed()) == 0)
	}
}

// What f returns may or may not mean that the connection is lost. The ROLLBACK tells.
func TestRollbackTells(t *testing.T) {
	closed := errors.New("conn closed")
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} // of another service, if the connection is there
	for _, test := range []struct {
		name      string
		err, undo error
		want      int
	}{
		{"lost in a statement", driver.ErrBadConn, closed, 4},
		{"lost in a query", fmt.Errorf("query: %w", io.ErrUnexpectedEOF), closed, 4},
		{"lost in a query, lib/pq", io.EOF, driver.ErrBadConn, 4},
		{"in use", driver.ErrBadConn, nil, 1},
		{"in use, rows too", driver.ErrBadConn, errors.New("failed to deallocate: conn busy"), 1},
		{"end of another file", io.ErrUnexpectedEOF, nil, 1},
		{"end of another file, rows too", io.ErrUnexpectedEOF, errors.New("failed to deallocate: conn busy"), 1},
		{"another service", dial, nil, 1},
		{"not enough money, and lost", errors.New("not enough money"), closed, 1},
		{"not enough money, and lost, MySQL", errors.New("not enough money"), errors.New("invalid connection"), 1},
		{"the same error twice", closed, closed, 1},
		{"permanent, and lost", backoff.Permanent(io.ErrUnexpectedEOF), closed, 1},
		{"serialization failure", stateError("40001"), nil, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			err := sqlretry.Do(context.Background(), open(t, &database{undo: test.undo}), sqlretry.Options{Policy: threeRetries},
				func(context.Context, *sql.Tx) error {
					calls++
					return test.err
				})
			require.Error(t, err)
			require.Equal(t, test.want, calls)
		})
	}

	calls := 0
	err := sqlretry.Do(context.Background(), open(t, &database{}), sqlretry.Options{Policy: threeRetries},
		func(_ context.Context, tx *sql.Tx) error { // that has ended the transaction
			calls++
			require.NoError(t, tx.Rollback())
			return io.ErrUnexpectedEOF
		})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, 1, calls)
}

// Rows that are left open when another statement begins are a mistake of f. What the drivers say of it is returned
// immediately, also by a Retryable that asks the function Retryable, and the error says what it means.
func TestRowsOpen(t *testing.T) {
	gone := errors.New("the connection is gone")
	for _, test := range []struct {
		name      string
		err, undo error
		says      string
		calls     int
	}{
		{"pgx", driver.ErrBadConn, nil, "the connection is there; rows of an earlier query may be open: ", 1},
		{"pgx, rows still open", driver.ErrBadConn, errors.New("rollback: conn busy"), "the connection is there; rows of an earlier query may be open: ", 1},
		{"pgx, Prepare", busyError{}, nil, "rows of an earlier query are open: ", 1},
		{"lib/pq", errors.New("pq: there is already a query being processed on this connection"), nil, "rows of an earlier query are open: ", 1},
		{"lib/pq, simple", errors.New("pq: unexpected DataRow in simple query execution"), driver.ErrBadConn, "rows of an earlier query are open: ", 1},
		{"lib/pq, extended", errors.New(`pq: unexpected Parse response "(D) DataRow"`), driver.ErrBadConn, "rows of an earlier query are open: ", 1},
		{"mysql", errors.New("busy buffer"), errInvalidConn, "rows of an earlier query are open: ", 1},
		{"mysql, its rows", errors.New("commands out of sync. You can't run this command now"), errInvalidConn, "rows of an earlier query are open: ", 1},
		{"mysql, both", errors.Join(driver.ErrBadConn, errors.New("commands out of sync. Did you run multiple statements at once?")), errInvalidConn, "rows of an earlier query are open: ", 1},
		{"wrapped", fmt.Errorf("insert: %w", errors.New("busy buffer")), errInvalidConn, "rows of an earlier query are open: ", 1},

		// go-sql-driver/mysql closes the connection first, if the statements have a context.
		{"mysql, or lost", driver.ErrBadConn, errInvalidConn, "connection lost, or rows of an earlier query are open: ", 4},
		{"another lost connection", driver.ErrBadConn, gone, "", 4},
		{"a conflict too", fmt.Errorf("%w (%w)", stateError("40001"), errors.New("busy buffer")), nil, "", 4},
		{"another's text", errors.New("the line is busy buffer"), errInvalidConn, "", 1},
		{"another's text, pgx", errors.New("telephone: conn busy"), nil, "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, retryable := range []func(error) bool{nil, sqlretry.Retryable} {
				calls := 0
				err := sqlretry.Do(context.Background(), open(t, &database{undo: test.undo}), sqlretry.Options{
					Policy:    threeRetries,
					Retryable: retryable,
				}, func(context.Context, *sql.Tx) error {
					calls++
					return test.err
				})
				require.Error(t, err)
				require.Contains(t, err.Error(), test.says+test.err.Error())
				require.Equal(t, test.says != "", strings.Contains(err.Error(), "rows of an earlier query"))
				require.Equal(t, test.calls, calls)
			}
		})
	}
}
