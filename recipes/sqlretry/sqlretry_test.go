package sqlretry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"example.com/backoff"
	"example.com/backoff/recipes/sqlretry"
)

func Example() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own

	ctx := context.Background()
	err = sqlretry.Do(ctx, db, sqlretry.Options{}, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE account (name TEXT, amount INT)"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO account VALUES ('Alice', 100), ('Bob', 0)")
		return err
	})
	fmt.Println(err)

	var alice int
	err = sqlretry.Do(ctx, db, sqlretry.Options{}, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE account SET amount = amount + 30 WHERE name = 'Bob'"); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx,
			"UPDATE account SET amount = amount - 30 WHERE name = 'Alice' RETURNING amount").Scan(&alice)
	})
	fmt.Println(alice, err)
	// Output:
	// <nil>
	// 70 <nil>
}

// newFile returns the DSN of a new SQLite database that never waits for a lock by itself, with a
// counter that is zero and an empty ledger.
func newFile(t *testing.T, journal string) string {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=busy_timeout(0)&_pragma=synchronous(OFF)"
	db := open(t, dsn)
	execute(t, db, "PRAGMA journal_mode = "+journal)
	execute(t, db, emptyLedger...)
	return dsn
}

// emptyLedger creates a counter that is zero and an empty ledger.
var emptyLedger = []string{
	"CREATE TABLE counter (n INT)",
	"INSERT INTO counter VALUES (0)",
	"CREATE TABLE ledger (writer INT, turn INT, n INT)",
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// enter adds one to the counter, by reading and writing it, and notes that in the ledger.
func enter(tx *sql.Tx, writer, turn int) error {
	var n int
	if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec(fmt.Sprintf("INSERT INTO ledger VALUES (%d, %d, %d)", writer, turn, n+1)); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	_, err := tx.Exec(fmt.Sprintf("UPDATE counter SET n = %d", n+1))
	return err
}

// requireEntries requires that the database holds want entries, each of which counted once.
func requireEntries(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var counter, entries, turns, counts int
	require.NoError(t, db.QueryRow("SELECT n FROM counter").Scan(&counter))
	require.NoError(t, db.QueryRow(`SELECT count(*), count(DISTINCT writer || '/' || turn), count(DISTINCT n)
		FROM ledger`).Scan(&entries, &turns, &counts))
	require.Equal(t, [4]int{want, want, want, want}, [4]int{counter, entries, turns, counts},
		"counter, entries, different turns, different counts")
}

// shortWaits is a policy for tests with many retries.
func shortWaits() backoff.BackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Millisecond),
		backoff.WithMaxInterval(20*time.Millisecond),
		backoff.WithJitter(backoff.FullJitter))
}

// zeroWaits is a policy for tests with few.
func zeroWaits() backoff.BackOff { return backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 3) }

// Many writers share a file, each with connections of its own, and none loses an update or makes one twice.
func TestWriters(t *testing.T) {
	const writers, turns = 10, 20
	for _, journal := range []string{"delete", "wal"} {
		for _, lock := range []string{"deferred", "immediate"} {
			t.Run(journal+" "+lock, func(t *testing.T) {
				db := open(t, newFile(t, journal)+"&_txlock="+lock)
				var retries atomic.Int64
				var held atomic.Bool
				met := make(chan struct{})
				o := sqlretry.Options{Policy: shortWaits, Notify: func(error, time.Duration) {
					if retries.Add(1) == 1 {
						close(met)
					}
				}}
				errs := make([]error, writers)
				var group sync.WaitGroup
				for writer := range writers {
					group.Go(func() {
						for turn := range turns {
							errs[writer] = errors.Join(errs[writer], sqlretry.Do(t.Context(), db, o, func(tx *sql.Tx) error {
								err := enter(tx, writer, turn)
								if err == nil && held.CompareAndSwap(false, true) {
									<-met // once, keep the lock until another writer has run into it
								}
								return err
							}))
						}
					})
				}
				group.Wait()
				require.NoError(t, errors.Join(errs...))
				t.Log(writers*turns, "transactions,", retries.Load(), "retries")
				requireEntries(t, db, writers*turns)
			})
		}
	}
}

// What a reader that holds on to the file does to a writer's Commit: it can be repeated, and is.
func TestBusyCommit(t *testing.T) {
	db := open(t, newFile(t, "delete"))
	reader, err := db.Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow("SELECT n FROM counter").Scan(&n))
	calls := 0
	err = sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: zeroWaits, Notify: func(err error, _ time.Duration) {
		require.ErrorContains(t, err, "SQLITE_BUSY")
		require.Equal(t, 1, calls)
		require.NoError(t, reader.Rollback())
	}}, func(tx *sql.Tx) error {
		calls++
		return enter(tx, 1, 1) // succeeds beside the reader; Commit does not
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	requireEntries(t, db, 1)
}

// In WAL mode a transaction that has read cannot write once another has written.
func TestBusySnapshot(t *testing.T) {
	dsn := newFile(t, "wal")
	db, other := open(t, dsn), open(t, dsn)
	var codes []int
	err := sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: zeroWaits, Notify: func(err error, _ time.Duration) {
		var e *sqlite.Error
		require.ErrorAs(t, err, &e)
		codes = append(codes, e.Code())
	}}, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
			return err
		}
		if codes == nil {
			require.NoError(t, sqlretry.Do(t.Context(), other, sqlretry.Options{}, func(tx *sql.Tx) error {
				return enter(tx, 2, 1)
			}))
		}
		return enter(tx, 1, 1)
	})
	require.NoError(t, err)
	require.Equal(t, []int{517}, codes, "SQLITE_BUSY_SNAPSHOT")
	requireEntries(t, db, 2)
}

// stateError is an error as the PostgreSQL drivers have them.
type stateError string

func (e stateError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateError) SQLState() string { return string(e) }

// appError is an application's error, with codes of its own.
type appError struct {
	code int
	text string
	errs []error
}

func (e *appError) Error() string    { return e.text }
func (e *appError) Code() int        { return e.code }
func (e *appError) SQLState() string { return fmt.Sprint(e.code) }
func (e *appError) Unwrap() []error  { return e.errs }

// sqliteErrors returns a real SQLITE_BUSY and a real SQLITE_LOCKED.
func sqliteErrors(t *testing.T) (busy, locked error) {
	dsn := newFile(t, "delete")
	writer, err := open(t, dsn+"&_txlock=exclusive").Begin()
	require.NoError(t, err)
	_, busy = open(t, dsn).Exec("UPDATE counter SET n = 1")
	require.NoError(t, writer.Rollback())

	tx, err := open(t, dsn).Begin()
	require.NoError(t, err)
	rows, err := tx.Query("SELECT n FROM counter")
	require.NoError(t, err)
	require.True(t, rows.Next())
	_, locked = tx.Exec("DROP TABLE counter")
	require.NoError(t, rows.Close())
	require.NoError(t, tx.Rollback())
	return busy, locked
}

func TestRepeatable(t *testing.T) {
	busy, locked := sqliteErrors(t)
	require.ErrorContains(t, busy, "(5)")
	require.ErrorContains(t, locked, "(6)")
	for _, test := range []struct {
		err  error
		want bool
	}{
		{stateError("40001"), true},
		{stateError("40P01"), true},
		{fmt.Errorf("pay: %w", stateError("40001")), true},
		{&appError{500, "pay", []error{stateError("40001")}}, true},
		{errors.Join(&appError{500, "pay", nil}, fmt.Errorf("b: %w", stateError("40P01"))), true},
		{stateError("40003"), false}, // statement completion unknown
		{stateError("08006"), false}, // connection failure
		{stateError("23505"), false}, // unique violation
		{stateError(""), false},

		{busy, true},
		{locked, true},
		{fmt.Errorf("pay: %w", busy), true},
		{&appError{500, "pay", []error{busy}}, true},
		{&appError{5, "no such user", []error{io.EOF, locked}}, true},
		{errors.Join(&appError{500, "pay", nil}, busy), true},
		{&appError{5, "no such user", nil}, false},
		{&appError{6, "account is locked (6)", nil}, false},
		{&appError{2053, "in doubt", nil}, false}, // Oracle: committed, some remote databases may be in doubt
		{&appError{2054, "in doubt", nil}, false}, // Oracle: transaction in doubt
		{&appError{0, "", []error{nil}}, false},

		{driver.ErrBadConn, false},
		{context.DeadlineExceeded, false},
		{nil, false},
	} {
		require.Equal(t, test.want, sqlretry.Repeatable(test.err), "%#v", test.err)
	}
}

// The codes of SQLite that ask for a repetition, in the words of the driver. Most of them are hard
// to come by.
func TestSQLiteCodes(t *testing.T) {
	for code := range 1000 {
		text := fmt.Sprintf("database is locked (%d)", code)
		switch code & 0xff {
		case 6:
			text = fmt.Sprintf("database table is locked: database schema is locked: main (%d)", code)
		}
		want := slices.Contains([]int{5, 261, 517, 773, 6, 262, 518}, code)
		require.Equal(t, want, sqlretry.Repeatable(&appError{code, text, nil}), text)
		require.False(t, sqlretry.Repeatable(&appError{code, "code " + fmt.Sprint(code), nil}))
	}
}

// Whatever an attempt did before it failed is undone, and done again by the next one.
func TestWholeTransaction(t *testing.T) {
	db := open(t, newFile(t, "wal"))
	calls := 0
	err := sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: zeroWaits}, func(tx *sql.Tx) error {
		if err := enter(tx, 1, 1); err != nil {
			return err
		}
		if calls++; calls < 3 {
			return stateError("40001")
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, calls)
	requireEntries(t, db, 1)
}

func TestErrors(t *testing.T) {
	errRule, errNamed := errors.New("a rule of the business"), errors.New("deadlock, says another driver")
	db := open(t, newFile(t, "wal"))
	for _, test := range []struct {
		name  string
		err   error
		want  error
		calls int
	}{
		{"deadlock", stateError("40P01"), stateError("40P01"), 4},
		{"named", errNamed, errNamed, 4},
		{"other", errRule, errRule, 1},
		{"unique violation", stateError("23505"), stateError("23505"), 1},
		{"permanent", backoff.Permanent(stateError("40001")), stateError("40001"), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			err := sqlretry.Do(t.Context(), db, sqlretry.Options{
				Policy:     zeroWaits,
				Repeatable: func(err error) bool { return err == errNamed },
			}, func(tx *sql.Tx) error {
				calls++
				require.NoError(t, enter(tx, 1, 1))
				return test.err
			})
			require.Equal(t, test.want, err)
			require.Equal(t, test.calls, calls)
			requireEntries(t, db, 0)
		})
	}
}

func TestPanic(t *testing.T) {
	db := open(t, newFile(t, "delete"))
	db.SetMaxOpenConns(1) // so that one that is not given back is missed
	require.PanicsWithValue(t, "bug", func() {
		sqlretry.Do(t.Context(), db, sqlretry.Options{}, func(tx *sql.Tx) error {
			require.NoError(t, enter(tx, 1, 1))
			panic("bug")
		})
	})
	requireEntries(t, db, 0)
}

func TestContext(t *testing.T) {
	db := open(t, newFile(t, "wal"))
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := sqlretry.Do(ctx, db, sqlretry.Options{}, func(tx *sql.Tx) error {
		calls++
		require.NoError(t, enter(tx, 1, 1))
		cancel()
		return stateError("40001")
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, stateError("40001"))
	require.Equal(t, 1, calls)

	ctx, cancel = context.WithCancel(t.Context())
	err = sqlretry.Do(ctx, db, sqlretry.Options{}, func(tx *sql.Tx) error {
		cancel()
		return nil // and Commit finds that the context has ended
	})
	require.ErrorIs(t, err, context.Canceled)
	requireEntries(t, db, 0)
}

// commits is a connector to a SQLite file on whose connections a Commit does what it should, or
// rolls back, and returns err.
type commits struct {
	dsn      string
	rollback bool
	err      error
}

func (c *commits) Driver() driver.Driver { return &sqlite.Driver{} }

func (c *commits) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	return commitConn{conn, c}, err
}

type commitConn struct {
	driver.Conn
	*commits
}

func (c commitConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
	return commitTx{tx, c.commits}, err
}

type commitTx struct {
	driver.Tx
	*commits
}

func (c commitTx) Commit() error {
	end := c.Tx.Commit
	if c.rollback {
		end = c.Tx.Rollback
	}
	return errors.Join(c.err, end())
}

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
		{"serialization failure", stateError("40001"), true, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			connector := &commits{dsn: newFile(t, "wal"), rollback: test.rollback, err: test.err}
			db := sql.OpenDB(connector)
			defer db.Close()
			calls := 0
			err := sqlretry.Do(t.Context(), db, sqlretry.Options{
				Policy:     zeroWaits,
				Repeatable: func(error) bool { return true },
			}, func(tx *sql.Tx) error {
				calls++
				return enter(tx, 1, 1)
			})
			require.ErrorIs(t, err, test.err)
			require.Equal(t, test.calls, calls)
			want := 1
			if test.rollback {
				want = 0
			}
			requireEntries(t, db, want)
		})
	}
}
